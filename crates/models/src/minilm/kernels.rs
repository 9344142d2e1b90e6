//! The encoder's own kernels, those that no family has: the lookup of embeddings, the change of layout around attention,
//! and the pooled, normalised sentence.

use tilewright_diag::Result;
use tilewright_dtype::DType;
use tilewright_ir::{Builder, Program};

use super::weights::Shape;

/// `x[n * seq + t] = word[ids[n * seq + t]] + position[t] + kind[0]`, f32 rows of `hidden` elements: a run-time table
/// names the block that each cell loads.
pub fn embed(s: &Shape, batch: usize, seq: usize) -> Result<Program> {
    let b = Builder::new("embed");
    let ids = b.table("ids", batch * seq, 0, last(s.vocabulary));
    let word = b.input("word", DType::F32, &[s.vocabulary, s.hidden]);
    let position = b.input("position", DType::F32, &[s.positions, s.hidden]);
    let kind = b.input("kind", DType::F32, &[s.kinds, s.hidden]);
    let x = b.output("x", DType::F32, &[batch * seq, s.hidden]);
    let [n, t] = b.grid([("n", batch), ("t", seq)]);
    let (token, row) = (n * seq + t, [1, s.hidden]);
    x.store(
        (token, 0),
        word.load((ids.at(token), 0), &row) + position.load((t, 0), &row) + kind.load((0, 0), &row),
    );
    b.finish().map(Program::single)
}

/// `q_heads[n, h, t] = q[n * seq + t]` from column `h * head` on, and likewise `k` and `v`: rows of tokens, all heads side
/// by side, to the layout of attention, f32.
pub fn split_heads(s: &Shape, batch: usize, seq: usize) -> Result<Program> {
    let b = Builder::new("split_heads");
    let flat = ["q", "k", "v"].map(|name| b.input(name, DType::F32, &[batch * seq, s.hidden]));
    let heads = ["q_heads", "k_heads", "v_heads"]
        .map(|name| b.output(name, DType::F32, &[batch, s.heads, seq, s.head()]));
    let [n, h] = b.grid([("n", batch), ("h", s.heads)]);
    for (flat, heads) in flat.into_iter().zip(heads) {
        heads.store((n, h, 0, 0), flat.load((n, h), &[seq, s.head()]).reshape(&[1, 1, seq, s.head()]));
    }
    b.finish().map(Program::single)
}

/// `x[n * seq + t]` from column `h * head` on `= heads[n, h, t]`: the way back of [`split_heads`].
pub fn merge_heads(s: &Shape, batch: usize, seq: usize) -> Result<Program> {
    let b = Builder::new("merge_heads");
    let heads = b.input("heads", DType::F32, &[batch, s.heads, seq, s.head()]);
    let x = b.output("x", DType::F32, &[batch * seq, s.hidden]);
    let [n, h] = b.grid([("n", batch), ("h", s.heads)]);
    x.store((n, h), heads.load((n, h, 0, 0), &[1, 1, seq, s.head()]).reshape(&[seq, s.head()]));
    b.finish().map(Program::single)
}

/// `y[n] = m / |m|` with `m` the mean of the first `lens[n]` rows of sentence `n` of `x`, f32; zeros where there are none.
/// The run-time length bounds the fold, so that padding is not read.
pub fn pool(s: &Shape, batch: usize, seq: usize) -> Result<Program> {
    let b = Builder::new("pool");
    let lens = b.table("lens", batch, 0, seq as i32);
    let x = b.input("x", DType::F32, &[batch * seq, s.hidden]);
    let y = b.output("y", DType::F32, &[batch, s.hidden]);
    let [n] = b.grid([("n", batch)]);
    let len = lens.at(n);
    let zero = b.splat(0.0, DType::F32, &[1, s.hidden]);
    let [sum] = b.fold("t", 0, len, [zero], |t, [sum]| [sum + x.load((n * seq + t, 0), &[1, s.hidden])]);
    let mean = sum / len.max(1).cast(DType::F32);
    y.store((n, 0), mean * (mean * mean).sum(1).max(LEAST_NORM * LEAST_NORM).rsqrt());
    b.finish().map(Program::single)
}

/// Shorter means are not stretched to length 1, as in PyTorch's `normalize`.
const LEAST_NORM: f64 = 1e-12;

/// The greatest index of `count` rows.
fn last(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX) - 1
}
