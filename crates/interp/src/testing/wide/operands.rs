//! Operands of a kernel under construction: arrays that fit the blocks that are asked of them.

use tilewright_dtype::DType;
use tilewright_ir::{Array, Builder, ReduceOp, Table, Tile, rules::is_arithmetic};

use super::Dice;

/// An i32 scalar and where it lies.
#[derive(Clone, Copy)]
pub(super) struct Index<'k> {
    pub tile: Tile<'k>,
    pub lo: i64,
    pub hi: i64,
}

/// The arrays and tables of one kernel.
pub(super) struct Arrays<'k> {
    prefix: String,
    next: usize,
    poison: bool,
    /// Outputs of kernels before this one, and those that this one reads already.
    made: Vec<(String, DType, Vec<usize>)>,
    inputs: Vec<Input<'k>>,
    tables: Vec<(Table<'k>, usize, i64, i64)>,
    /// Outputs of this kernel.
    pub outputs: Vec<(String, DType, Vec<usize>)>,
}

#[derive(Clone)]
struct Input<'k> {
    array: Array<'k>,
    dtype: DType,
    dims: Vec<usize>,
    padded: bool,
}

impl<'k> Arrays<'k> {
    pub fn new(prefix: String, made: &[(String, DType, Vec<usize>)], poison: bool) -> Arrays<'k> {
        Arrays {
            prefix,
            next: 0,
            poison,
            made: made.to_vec(),
            inputs: Vec::new(),
            tables: Vec::new(),
            outputs: Vec::new(),
        }
    }

    fn name(&mut self, kind: &str) -> String {
        self.next += 1;
        format!("{}{kind}{}", self.prefix, self.next)
    }

    /// A block of `dims` at indices among `indices`, of a known array or a new one.
    pub fn load(
        &mut self,
        k: &'k Builder,
        dice: Dice<'_>,
        dtype: DType,
        dims: &[usize],
        indices: &[Index<'k>],
    ) -> Tile<'k> {
        let at: Vec<Index<'k>> = dims.iter().map(|_| dice.pick(indices)).collect();
        let known: Vec<Input<'k>> =
            self.inputs.iter().filter(|i| i.dtype == dtype && self.takes(i, dims, &at)).cloned().collect();
        let input = if known.is_empty() || dice.one_in(3) {
            self.input(k, dice, dtype, dims, &at)
        } else {
            dice.pick(&known)
        };
        let at: Vec<Tile<'k>> = at.iter().map(|i| i.tile).collect();
        input.array.load(&at[..], dims)
    }

    /// Whether a block of `dims` at `at` may be loaded of a known array.
    fn takes(&self, input: &Input<'k>, dims: &[usize], at: &[Index<'k>]) -> bool {
        let fits = |(&size, (&n, i)): (&usize, (&usize, &Index<'k>))| {
            let inside = i.lo >= 0 && (i.hi + 1) * n as i64 <= size as i64;
            let touches = i.hi >= 0 && i.lo * (n as i64) < size as i64;
            inside || (touches && (input.padded || self.poison))
        };
        input.dims.len() == dims.len() && input.dims.iter().zip(dims.iter().zip(at)).all(fits)
    }

    fn input(
        &mut self,
        k: &'k Builder,
        dice: Dice<'_>,
        dtype: DType,
        dims: &[usize],
        at: &[Index<'k>],
    ) -> Input<'k> {
        let mut padded = dice.one_in(2);
        let mut sizes = Vec::new();
        for (&n, i) in dims.iter().zip(at) {
            let whole = (i.hi.max(0) as usize + 1) * n;
            let least = i.lo.max(0) as usize * n + 1;
            let size = match dice.below(6) {
                0 | 1 if padded => whole - dice.below(n),
                2 if padded => dice.between(least.min(whole), whole),
                3 => whole + dice.below(n + 1),
                _ => whole,
            };
            padded |= i.lo < 0;
            sizes.push(size.max(1));
        }
        // i4 arrays whose rows are whole bytes may be stored and read as they lie; others are tried too.
        if dtype == DType::I4 && !sizes.is_empty() && dice.one_in(2) {
            let last = sizes.len() - 1;
            sizes[last] += sizes[last] % 2;
        }
        let made: Vec<usize> =
            (0..self.made.len()).filter(|&m| self.made[m].1 == dtype && self.made[m].2 == sizes).collect();
        let name = match dice.pick(&[made.first().copied(), None]) {
            Some(m) => self.made.swap_remove(m).0,
            None => self.name("in"),
        };
        let unpadded = padded && self.poison && dice.one_in(2);
        let array = if padded && !unpadded {
            k.input_padded(&name, dtype, &sizes, pad(dice, dtype))
        } else {
            k.input(&name, dtype, &sizes)
        };
        let input = Input { array, dtype, dims: sizes, padded };
        self.inputs.push(input.clone());
        input
    }

    /// An output of an earlier kernel, read by whole blocks: its first block of up to `elements` elements.
    pub fn load_made(&mut self, k: &'k Builder, dice: Dice<'_>, elements: usize) -> Option<Tile<'k>> {
        if self.made.is_empty() {
            return None;
        }
        let (name, dtype, dims) = self.made.swap_remove(dice.below(self.made.len()));
        let array = k.input(&name, dtype, &dims);
        let mut left = elements;
        let block: Vec<usize> = dims
            .iter()
            .map(|&d| {
                let n = d.min(left);
                left = (left / n).max(1);
                n
            })
            .collect();
        let zeros: Vec<Tile<'k>> = dims.iter().map(|_| k.int(0)).collect();
        Some(array.load(&zeros[..], &block))
    }

    /// A scalar out of a table.
    pub fn lookup(&mut self, k: &'k Builder, dice: Dice<'_>, index: Index<'k>) -> Index<'k> {
        let inside = |len: usize| index.lo >= 0 && index.hi < len as i64;
        let known: Vec<_> = self.tables.iter().filter(|t| inside(t.1)).copied().collect();
        let (table, _, lo, hi) = if known.is_empty() || dice.one_in(3) {
            let len = (index.hi.max(0) as usize + 1 + dice.below(2))
                .saturating_sub(usize::from(self.poison))
                .max(1);
            let (lo, hi) = (dice.below(2) as i32, 1 + dice.below(3) as i32);
            let name = self.name("table");
            let table = (k.table(&name, len, lo, hi), len, i64::from(lo), i64::from(hi));
            self.tables.push(table);
            table
        } else {
            dice.pick(&known)
        };
        let bounded = if index.lo < 0 { index.tile.max(0) } else { index.tile };
        Index { tile: table.at(bounded), lo, hi }
    }

    /// Stores `tile` in a new output such that each cell has a block of its own, or in one that combines. `own`: an index
    /// that no two cells share; `grid`: the cell's indices, where they alone tell its blocks apart; `others`: any.
    pub fn store(
        &mut self,
        k: &'k Builder,
        dice: Dice<'_>,
        tile: Tile<'k>,
        own: Index<'k>,
        grid: &[Index<'k>],
        others: &[Index<'k>],
    ) {
        let mut tile = tile;
        if tile.dims().is_empty() && (own.hi > 0 || dice.one_in(2)) {
            tile = tile.reshape(&vec![1; dice.between(1, 3)]);
        }
        let dims = tile.dims();
        // Two i4 of one row share a byte: a row is one cell's, or whole bytes.
        if tile.ty().dtype == DType::I4 && dims.last().is_none_or(|n| n % 2 == 1) {
            tile = tile.cast(DType::I8);
        }
        let dtype = tile.ty().dtype;
        let name = self.name("out");
        let combine = is_arithmetic(dtype) && dice.one_in(6);
        let main = dice.below(dims.len());
        let apart = !grid.is_empty() && grid.len() <= dims.len() && dice.one_in(2);
        let mut at = Vec::new();
        let mut sizes = Vec::new();
        for (d, &n) in dims.iter().enumerate() {
            let i = match () {
                () if combine => dice.pick(others),
                () if apart => grid.get(d).copied().unwrap_or(Index { tile: k.int(0), lo: 0, hi: 0 }),
                () if d == main => own,
                () => Index { tile: k.int(0), lo: 0, hi: 0 },
            };
            let whole = (i.hi.max(0) as usize + 1) * n;
            let ragged = if dice.one_in(2) { whole } else { whole - dice.below(n) };
            let even = dtype == DType::I4 && d + 1 == dims.len() && ragged % 2 == 1;
            let size = if even { ragged + 1 } else { ragged };
            let size = if dice.one_in(8) && i.lo.max(0) as usize * n < size / 2 {
                (size / 2).next_multiple_of(2)
            } else {
                size
            };
            sizes.push(size);
            at.push(i.tile);
        }
        let array = if combine {
            k.output_combined(&name, dtype, &sizes, dice.pick(&[ReduceOp::Add, ReduceOp::Max, ReduceOp::Min]))
        } else {
            k.output(&name, dtype, &sizes)
        };
        array.store(&at[..], tile);
        self.outputs.push((name, dtype, sizes));
    }
}

/// A value past the edge.
fn pad(dice: Dice<'_>, dtype: DType) -> f64 {
    let floats = [0.0, 0.0, 1.0, -2.5, 0.1, f64::NEG_INFINITY, f64::INFINITY, f64::NAN];
    match dtype {
        DType::Bool => dice.below(2) as f64,
        DType::F8E4M3 => dice.pick(&floats[..5]),
        d if d.is_float() => dice.pick(&floats),
        DType::U8 => dice.pick(&[0.0, 0.0, 200.0]),
        _ => dice.pick(&[0.0, 0.0, 1.0, -3.0]),
    }
}
