//! The kernel of matrix products, alone or in a batch: what comes before and after it is fused by composition.

use std::array::from_fn;

use tilewright_diag::{Diagnostic, Result};
use tilewright_dtype::DType;
use tilewright_ir::{Builder, Program, Tile};

use super::block::{self, Axis, Block};
use crate::problem::Config;

/// Which product: sizes, layouts and types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gemm {
    /// Products in the batch; from 2 on, `a`, the weights and the result have rank 3, the batch first.
    pub batch: usize,
    /// Rows of the result.
    pub m: usize,
    /// Columns of the result.
    pub n: usize,
    /// Terms of each sum.
    pub k: usize,
    /// Whether `a` is given as `[k,m]`.
    pub ta: bool,
    /// Whether the weights are given as `[n,k]`.
    pub tb: bool,
    /// Type of `a`.
    pub a: DType,
    /// Type of the weights.
    pub b: DType,
    /// Type of the result.
    pub out: DType,
}

impl Gemm {
    /// One product of `a: dtype[m,k]` and `b: dtype[k,n]` into `dtype`.
    pub fn new(m: usize, n: usize, k: usize, dtype: DType) -> Gemm {
        Gemm { batch: 1, m, n, k, ta: false, tb: false, a: dtype, b: dtype, out: dtype }
    }

    /// The accumulator's type: i32 for integers, in which sums are exact, else f32.
    pub fn acc(&self) -> DType {
        if self.a.is_float() { DType::F32 } else { DType::I32 }
    }
}

/// A prologue: a block of `a`, as rows by terms, to a tile of the same shape that `dot` takes. It must map 0 to a finite
/// value: past the last term `a` reads as 0, and the weights there are 0.
pub type Prologue<'a> = &'a dyn for<'k> Fn(&Block<'k>, Tile<'k>) -> Tile<'k>;

/// An epilogue: the accumulators of a block, one for each weight matrix, to the tile that is converted and stored.
pub type Epilogue<'a, const N: usize> = &'a dyn for<'k> Fn(&Block<'k>, [Tile<'k>; N]) -> Tile<'k>;

/// `o = epilogue(prologue(a) . b)`, with `N` weight matrices `b`, `b2`, … of one shape that share each block of `a`.
///
/// The config gives tiles of `bm` by `bn` by `bk`, cut to the sizes of the problem, and `order`: 1 (or absent) walks
/// down the rows first, so that consecutive cells share a strip of weights; 2 walks along the columns first.
pub fn matmul_program<const N: usize>(
    g: &Gemm,
    config: &Config,
    prologue: Prologue<'_>,
    epilogue: Epilogue<'_, N>,
) -> Result<Program> {
    let (bm, bn, bk) = (config.get("bm")?.min(g.m), config.get("bn")?.min(g.n), config.get("bk")?.min(g.k));
    let b = Builder::new("matmul");
    let batch = (g.batch > 1).then(|| (g.batch, b.grid([("batch", g.batch)])[0]));
    let (rows, cols) = (("i", g.m.div_ceil(bm)), ("j", g.n.div_ceil(bn)));
    let [i, j] = match config.0.get("order") {
        None | Some(1) => {
            let [j, i] = b.grid([cols, rows]);
            [i, j]
        }
        Some(2) => b.grid([rows, cols]),
        Some(order) => {
            let message = format!("`order={order}` in a config");
            return Err(
                Diagnostic::request("config/value", message).rule("1: down the rows; 2: along the columns")
            );
        }
    };
    let matrix = |name: &str, dtype, dims| b.input_padded(name, dtype, &block::of_batch(batch, dims), 0.0);
    let a = matrix("a", g.a, if g.ta { [g.k, g.m] } else { [g.m, g.k] });
    let weights: [_; N] = from_fn(|w| matrix(&weight(w), g.b, if g.tb { [g.n, g.k] } else { [g.k, g.n] }));
    let out = Block {
        builder: &b,
        batch,
        rows: Axis { size: g.m, block: bm, index: i },
        cols: Axis { size: g.n, block: bn, index: j },
        pad: None,
    };

    let zero = b.splat(0.0, g.acc(), &[bm, bn]);
    let acc = b.fold("k", 0, g.k.div_ceil(bk), [zero; N], |k, acc| {
        let x = block::load(a, batch, [i, k], [bm, bk], g.ta);
        let terms = Axis { size: g.k, block: bk, index: k };
        let x = prologue(&Block { cols: terms, pad: Some(0.0), ..out }, x);
        from_fn(|w| x.dot(block::load(weights[w], batch, [k, j], [bk, bn], g.tb), acc[w]))
    });
    let r = epilogue(&out, acc).cast(g.out);
    let o = b.output("o", g.out, &block::of_batch(batch, [g.m, g.n]));
    block::store(o, batch, [i, j], r);
    b.finish().map(Program::single)
}

/// The name of weight matrix `w`.
fn weight(w: usize) -> String {
    if w == 0 { "b".to_string() } else { format!("b{}", w + 1) }
}
