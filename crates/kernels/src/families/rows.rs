//! What the row kernels share: how rows are cut into tiles, the one-pass softmax sum, and access to operand values.

use std::collections::BTreeMap;

use tilewright_diag::{Diagnostic, Result};
use tilewright_dtype::DType;
use tilewright_ir::{Array, Builder, Tile};

use crate::family::{Inputs, Machine, Space};
use crate::problem::{Config, Key, Kind, Problem};

/// The element types of row kernels and attention; all of them compute in f32.
pub const FLOATS: &[DType] = &[DType::F32, DType::BF16, DType::F16];

/// The keys of a kernel over independent rows.
pub static ROW_KEYS: &[Key] = &[
    Key::dim("rows", "independent rows"),
    Key::dim("cols", "elements of a row"),
    Key { name: "dtype", kind: Kind::DType(FLOATS), about: "element type" },
];

/// How rows are cut: tiles of `br` rows by `bc` columns. A config whose `bc` reaches `cols` holds whole rows, and reads
/// memory once; else each row is `blocks` tiles.
#[derive(Clone, Copy)]
pub struct Cut {
    pub rows: usize,
    pub cols: usize,
    pub br: usize,
    pub bc: usize,
    /// Tiles along a row.
    pub blocks: usize,
}

impl Cut {
    /// The cut of a problem with `rows` and `cols` by a config with `br` and `bc`, which larger sizes do not exceed.
    pub fn of(p: &Problem, c: &Config) -> Result<Cut> {
        let (rows, cols) = (p.dim("rows"), p.dim("cols"));
        let (br, bc) = (c.get("br")?.min(rows), c.get("bc")?.min(cols));
        Ok(Cut { rows, cols, br, bc, blocks: cols.div_ceil(bc) })
    }

    /// Whether a tile holds whole rows.
    pub fn whole(&self) -> bool {
        self.blocks == 1
    }

    /// The dimensions of a tile.
    pub fn tile(&self) -> [usize; 2] {
        [self.br, self.bc]
    }

    /// Declares the grid, a cell for `br` rows, and returns the cell's index.
    pub fn grid<'k>(&self, b: &'k Builder) -> Tile<'k> {
        let [i] = b.grid([("i", self.rows.div_ceil(self.br))]);
        i
    }

    /// A column of f32, one element for each row of a tile.
    pub fn column<'k>(&self, b: &'k Builder, value: f64) -> Tile<'k> {
        b.splat(value, DType::F32, &[self.br, 1])
    }

    /// The mean of a row, given its sum.
    pub fn mean<'k>(&self, sum: Tile<'k>) -> Tile<'k> {
        sum / self.cols as f64
    }

    /// The column number of each element of tile `j` along a row.
    pub fn columns<'k>(&self, b: &'k Builder, j: Tile<'k>) -> Tile<'k> {
        b.iota(1, &self.tile()) + j * self.bc
    }
}

/// The greatest `m` of each row and the sum of `exp(x - m)`, in one pass: each block rescales the sum to the new
/// maximum (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018). `load` gives the f32 tile `j`,
/// minus infinity past the row's end. The sum of a row of only minus infinity is 0.
pub fn max_and_sum<'k>(b: &'k Builder, cut: Cut, load: impl Fn(Tile<'k>) -> Tile<'k>) -> [Tile<'k>; 2] {
    let init = [f64::NEG_INFINITY, 0.0].map(|v| cut.column(b, v));
    b.fold("j", 0, cut.blocks, init, |j, [m, l]| {
        let x = load(j);
        let top = m.max(x.max_along(1));
        let shift = finite(top);
        [top, l * (m - shift).exp() + (x - shift).exp().sum(1)]
    })
}

/// Maxima to subtract before exp: 0 for one of minus infinity, so that `exp(-inf - m)` is 0 and not NaN.
pub fn finite(m: Tile<'_>) -> Tile<'_> {
    m.ne(f64::NEG_INFINITY).select(m, 0.0)
}

/// The configs of a row kernel with `live` f32 tiles in use at once.
pub fn row_space(p: &Problem, machine: &Machine, live: usize) -> Space {
    let (rows, cols) = (p.dim("rows"), p.dim("cols"));
    let first = row_config(p, machine, live);
    let mut space = Space { configs: vec![first.clone()], pruned: Vec::new() };
    for bc in [512, 2048, 8192, 32768, usize::MAX].map(|bc: usize| bc.min(cols)) {
        for br in [1, 2, 4, 8, 16, 32, 64, 128, 256] {
            let c = Config::of(&[("br", br), ("bc", bc)]);
            let bytes = br.saturating_mul(bc).saturating_mul(4 * live);
            let cells = rows.div_ceil(br);
            if br > rows || space.configs.contains(&c) || space.pruned.iter().any(|(known, _)| *known == c) {
                continue;
            }
            if bytes > machine.l2_bytes {
                let why = format!(
                    "{live} f32 tiles of {br} x {bc} take {bytes} bytes, L2 has {}",
                    machine.l2_bytes
                );
                space.pruned.push((c, why));
            } else if cells < machine.cores && cells < rows {
                space.pruned.push((c, format!("{cells} cells leave some of {} cores idle", machine.cores)));
            } else if bc < cols && bc.saturating_mul(4 * live) * 4 < machine.l1_bytes {
                space
                    .pruned
                    .push((c, format!("blocks of {bc} in rows of {cols}: four times as much fits L1")));
            } else {
                space.configs.push(c);
            }
        }
    }
    space
}

/// Whole rows while one row's tiles stay in half of L2, else blocks that do; as many rows as stay in half of L1 and
/// leave each core four cells.
pub fn row_config(p: &Problem, machine: &Machine, live: usize) -> Config {
    let (rows, cols) = (p.dim("rows"), p.dim("cols"));
    let fits = |bytes: usize| (bytes / (2 * 4 * live)).max(1);
    let bc = if cols <= fits(machine.l2_bytes) { cols } else { power_of_two(fits(machine.l1_bytes)) };
    let br = (fits(machine.l1_bytes) / bc).min(rows / (4 * machine.cores.max(1))).clamp(1, 256);
    Config::of(&[("br", power_of_two(br)), ("bc", bc)])
}

/// The greatest power of two up to `n`, at least 1.
pub fn power_of_two(n: usize) -> usize {
    1 << n.max(1).ilog2()
}

/// Bytes of `count` elements of `dtype`, as a real number.
pub fn bytes(dtype: DType, count: f64) -> f64 {
    count * f64::from(dtype.bits()) / 8.0
}

/// The values of the input called `name`.
pub fn values(inputs: &Inputs, name: &str) -> Result<Vec<f64>> {
    match inputs.get(name) {
        Some(tensor) => Ok(tensor.to_f64()),
        None => {
            Err(Diagnostic::unknown("kernel/missing-input", "input", name, inputs.keys().map(String::as_str))
                .note("the reference needs every input of the kernel"))
        }
    }
}

/// The greatest of `x`, NaN if any is NaN, minus infinity of nothing.
pub fn greatest(x: &[f64]) -> f64 {
    x.iter().fold(f64::NEG_INFINITY, |m, &v| if m.is_nan() || v.is_nan() { f64::NAN } else { m.max(v) })
}

/// The value of a norm's key `eps`.
pub fn eps(p: &Problem) -> f64 {
    p.word("eps").parse().unwrap_or(0.0)
}

/// What a norm normalises: the input `x`, or with the flag `residual` the sum of `x` and `r`, which is an output too.
pub struct Summed<'k> {
    x: Array<'k>,
    residual: Option<(Array<'k>, Array<'k>)>,
    dtype: DType,
    cut: Cut,
}

impl<'k> Summed<'k> {
    /// Declares the arrays, all `[rows, cols]`: `x`, with the flag also `r` and the output `sum`.
    pub fn declare(b: &'k Builder, p: &Problem, cut: Cut) -> Summed<'k> {
        let dims = [cut.rows, cut.cols];
        let x = b.input_padded("x", p.dtype(), &dims, 0.0);
        let residual = p
            .flag("residual")
            .then(|| (b.input_padded("r", p.dtype(), &dims, 0.0), b.output("sum", p.dtype(), &dims)));
        Summed { x, residual, dtype: p.dtype(), cut }
    }

    /// Tile `(i, j)` in f32, 0 past the edge.
    pub fn load(&self, i: Tile<'k>, j: Tile<'k>) -> Tile<'k> {
        let f32_tile = |a: Array<'k>| a.load((i, j), &self.cut.tile()).cast(DType::F32);
        match self.residual {
            Some((r, _)) => f32_tile(self.x) + f32_tile(r),
            None => f32_tile(self.x),
        }
    }

    /// Stores a loaded tile as part of the output `sum`, where there is one.
    pub fn keep(&self, i: Tile<'k>, j: Tile<'k>, tile: Tile<'k>) {
        if let Some((_, sum)) = self.residual {
            sum.store((i, j), tile.cast(self.dtype));
        }
    }
}

/// Outputs by name.
type Outputs = BTreeMap<String, Vec<f64>>;

/// The outputs so far (`sum`, with the flag `residual`) and what is normalised, in float64.
pub fn residual_reference(p: &Problem, inputs: &Inputs) -> Result<(Outputs, Vec<f64>)> {
    let x = values(inputs, "x")?;
    if !p.flag("residual") {
        return Ok((BTreeMap::new(), x));
    }
    let sum: Vec<f64> = x.iter().zip(values(inputs, "r")?).map(|(x, r)| x + r).collect();
    Ok((BTreeMap::from([("sum".to_string(), sum.clone())]), sum))
}
