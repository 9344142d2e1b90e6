//! Random programs: any bytes make one, recorded by the builder; most of them are verified.

use std::cell::RefCell;
use std::collections::HashSet;

use tilewright_diag::Result;
use tilewright_ir::rules::{dot_accepts, is_arithmetic};
use tilewright_ir::{Array, Builder, DType, MAX_RANK, Program, ReduceOp, Table, Tile, TileType};

/// Names that might collide with the language, with numbered values or with each other.
const NAMES: [&str; 16] =
    ["x", "k", "i", "v", "v0", "v3", "k_2", "fold", "load", "yield", "if", "in", "_", "nan", "scalar", "a1"];
const NUMBERS: [f64; 14] = [
    0.0,
    -0.0,
    1.0,
    -2.5,
    0.1,
    1e-45,
    5e-324,
    1e300,
    f64::MAX,
    f64::MIN_POSITIVE,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    16777217.0,
];
const MOST_ELEMENTS: usize = 4096;
const DEPTH: usize = 3;

/// One or two kernels that the bytes describe, or the rule that they break.
pub fn program(bytes: &[u8]) -> Result<Program> {
    let mut s = Source { bytes, at: 0 };
    let kernels = 1 + s.pick(2);
    let kernels = (0..kernels).map(|n| kernel(&mut s, n)).collect::<Result<_>>()?;
    Ok(Program { kernels })
}

struct Source<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Source<'_> {
    /// The next byte, 0 after the last.
    fn byte(&mut self) -> usize {
        self.at += 1;
        self.bytes.get(self.at - 1).copied().unwrap_or(0).into()
    }

    fn pick(&mut self, n: usize) -> usize {
        self.byte() % n.max(1)
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.pick(all.len())]
    }

    fn dims(&mut self, rank: usize) -> Vec<usize> {
        (0..rank).map(|_| 1 + self.pick(5)).collect()
    }

    fn number(&mut self, dtype: DType) -> f64 {
        let whole = self.byte() as f64;
        match dtype.int_range() {
            None => self.of(&NUMBERS),
            Some((lo, hi)) => [lo as f64, hi as f64, whole.min(hi as f64)][self.pick(3)],
        }
    }
}

struct Growth<'k> {
    k: &'k Builder,
    arrays: Vec<(Array<'k>, DType, usize)>,
    tables: Vec<Table<'k>>,
    indices: Vec<Tile<'k>>,
    tiles: Vec<Tile<'k>>,
}

fn kernel(s: &mut Source<'_>, number: usize) -> Result<tilewright_ir::Kernel> {
    let mut taken = HashSet::new();
    let mut name = |s: &mut Source<'_>| {
        let wish = s.of(&NAMES);
        let numbered = (0..).map(|i| format!("{wish}_{i}"));
        let name = std::iter::once(wish.to_string()).chain(numbered).find(|n| !taken.contains(n)).unwrap();
        taken.insert(name.clone());
        format!("{}{name}", ["", "second_"][number])
    };
    let k = Builder::new(format!("kernel{number}"));
    let mut g =
        Growth { k: &k, arrays: Vec::new(), tables: Vec::new(), indices: Vec::new(), tiles: Vec::new() };
    for _ in 0..1 + s.pick(3) {
        let (dtype, rank) = (s.of(&DType::ALL), s.pick(MAX_RANK + 1));
        let (name, dims) = (name(s), s.dims(rank));
        let pad = s.number(dtype);
        let padded = s.pick(2) == 0;
        let array =
            if padded { k.input_padded(&name, dtype, &dims, pad) } else { k.input(&name, dtype, &dims) };
        g.arrays.push((array, dtype, rank));
    }
    for _ in 0..s.pick(3) {
        let name = name(s);
        match s.pick(2) {
            0 => g.indices.push(k.scalar(&name, -(s.pick(3) as i32), s.pick(100) as i32)),
            _ => g.tables.push(k.table(&name, 1 + s.pick(4), 0, 3)),
        }
    }
    for _ in 0..s.pick(3) {
        let (name, extent) = (name(s), 1 + s.pick(4));
        let [index] = k.grid([(name.as_str(), extent)]);
        g.indices.push(index);
    }
    grow(s, &mut g, DEPTH);
    for _ in 0..1 + s.pick(2) {
        let Some(tile) = some(s, &g, |_| true) else { continue };
        let dtype = if is_arithmetic(tile.ty().dtype) { tile.ty().dtype } else { DType::F32 };
        let out = k.output_combined(&name(s), dtype, &tile.dims(), s.of(ReduceOp::ALL));
        let zeros: Vec<Tile<'_>> = tile.dims().iter().map(|_| k.int(0)).collect();
        out.store(zeros.as_slice(), tile.cast(dtype));
    }
    k.output_combined(&name(s), DType::I32, &[], ReduceOp::Add).store(&[][..], k.int(3));
    drop(g);
    k.finish()
}

fn grow<'k>(s: &mut Source<'_>, g: &mut Growth<'k>, depth: usize) {
    for _ in 0..s.pick(12) {
        let Some(tile) = step(s, g, depth) else { continue };
        let tile = if s.pick(3) == 0 { tile.named(s.of(&NAMES)) } else { tile };
        if tile.ty().shape.checked_elements().is_some_and(|n| n <= MOST_ELEMENTS) {
            g.tiles.push(tile);
        }
    }
}

fn some<'k>(s: &mut Source<'_>, g: &Growth<'k>, fits: impl Fn(TileType) -> bool) -> Option<Tile<'k>> {
    let fitting: Vec<Tile<'k>> = g.tiles.iter().copied().filter(|t| fits(t.ty())).collect();
    if fitting.is_empty() { None } else { Some(s.of(&fitting)) }
}

fn index<'k>(s: &mut Source<'_>, g: &Growth<'k>) -> Tile<'k> {
    match s.pick(4) {
        0 if !g.tables.is_empty() => s.of(&g.tables).at(g.k.int(0)),
        1 if !g.indices.is_empty() => s.of(&g.indices) / 2,
        2 if !g.indices.is_empty() => s.of(&g.indices),
        _ => g.k.int(0),
    }
}

fn step<'k>(s: &mut Source<'_>, g: &mut Growth<'k>, depth: usize) -> Option<Tile<'k>> {
    let number = |t: TileType| is_arithmetic(t.dtype);
    let float = |t: TileType| number(t) && t.dtype.is_float();
    Some(match s.pick(18) {
        0 | 1 => {
            let (array, _, rank) = s.of(&g.arrays);
            let indices: Vec<Tile<'k>> = (0..rank).map(|_| index(s, g)).collect();
            array.load(indices.as_slice(), &s.dims(rank))
        }
        2 => {
            let (dtype, rank) = (s.of(&DType::ALL), s.pick(MAX_RANK + 1));
            g.k.splat(s.number(dtype), dtype, &s.dims(rank))
        }
        3 => {
            let rank = 1 + s.pick(MAX_RANK);
            g.k.iota(s.pick(rank), &s.dims(rank))
        }
        4 => some(s, g, |_| true)?.cast(s.of(&DType::ALL)),
        5 => match some(s, g, float)? {
            x if s.pick(2) == 0 => x.exp(),
            x => [x.log(), x.tanh(), x.erf(), x.sqrt(), x.rsqrt(), x.floor(), x.round()][s.pick(7)],
        },
        6 => match some(s, g, number)? {
            x if s.pick(2) == 0 => -x,
            x => x.abs(),
        },
        7 | 8 => {
            let x = some(s, g, number)?;
            let y = some(s, g, |t| t == x.ty())?;
            match s.pick(6) {
                0 => x + y,
                1 => x - y,
                2 => x * y,
                3 => x / y,
                4 => x.min(y),
                _ => x.max(s.number(x.ty().dtype)),
            }
        }
        9 => {
            let x = some(s, g, number)?;
            let y = some(s, g, |t| t == x.ty())?;
            let c = [x.eq(y), x.ne(y), x.lt(y), x.le(y), x.gt(y), x.ge(y)][s.pick(6)];
            if s.pick(2) == 0 { c } else { (c & !c).select(x, y) }
        }
        10 => {
            let x = some(s, g, |t| t.shape.rank() > 0)?;
            x.reshape(&[x.ty().shape.elements()])
        }
        11 => {
            let x = some(s, g, |_| true)?;
            let mut perm: Vec<usize> = (0..x.dims().len()).collect();
            let by = s.pick(perm.len());
            perm.rotate_left(by);
            x.transpose(&perm)
        }
        12 => {
            let x = some(s, g, |t| t.shape.rank() > 0)?;
            let start: Vec<usize> = x.dims().iter().map(|&d| s.pick(d)).collect();
            let dims: Vec<usize> = x.dims().iter().zip(&start).map(|(&d, &at)| 1 + s.pick(d - at)).collect();
            x.slice(&start, &dims)
        }
        13 => {
            let x = some(s, g, |t| t.shape.rank() > 0)?;
            x.concat(some(s, g, |t| t == x.ty())?, s.pick(x.dims().len()))
        }
        14 => {
            let x = some(s, g, |t| number(t) && t.shape.rank() > 0)?;
            let dim = s.pick(x.dims().len());
            [x.sum(dim), x.max_along(dim), x.min_along(dim)][s.pick(3)]
        }
        15 => {
            let acc = s.of(&[DType::F32, DType::I32, DType::F64]);
            let x = some(s, g, |t| t.shape.rank() >= 2 && dot_accepts(t.dtype, t.dtype, acc))?;
            let mut dims = x.dims();
            let rank = dims.len();
            dims[rank - 1] = dims[rank - 2];
            x.dot(x.t(), g.k.splat(0.0, acc, &dims))
        }
        16 if depth > 0 => {
            let (x, y) = (some(s, g, |_| true)?, some(s, g, |_| true)?);
            let (lo, hi) = (index(s, g), index(s, g));
            let tiles = g.tiles.len();
            let [x, _] = g.k.fold(s.of(&NAMES), lo, hi, [x, y], |k, [c, d]| {
                g.indices.push(k);
                g.tiles.extend([c, d]);
                grow(s, g, depth - 1);
                let last = some(s, g, |t| t == c.ty()).unwrap_or(c);
                g.indices.pop();
                g.tiles.truncate(tiles);
                [last, d]
            });
            x
        }
        17 if depth > 0 => {
            let (c, x) = (index(s, g).lt(index(s, g)), some(s, g, |_| true)?);
            let tiles = g.tiles.len();
            let body = RefCell::new((s, g));
            let grown = || {
                let (s, g) = &mut *body.borrow_mut();
                grow(s, g, depth - 1);
                let last = some(s, g, |t| t == x.ty()).unwrap_or(x);
                g.tiles.truncate(tiles);
                [last]
            };
            let [y] = c.builder().when(c, grown, grown);
            y
        }
        _ => {
            let x = some(s, g, |t| t.shape.rank() == 0)?;
            let rank = s.pick(MAX_RANK + 1);
            x.broadcast(&s.dims(rank))
        }
    })
}
