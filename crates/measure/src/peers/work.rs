//! What peers are asked to do: the same problems as our kernels', by the same names.

use serde::{Deserialize, Serialize};
use tilewright_diag::Result;
use tilewright_dtype::{DType, Tensor};

use crate::rng::Rng;

/// A problem that a peer may solve. All matrices are row major.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Work {
    /// `o[m,n] = epilogue(a[m,k] · b[k,n])`, once or `batch` times on operands with a leading dimension. The sum is f32,
    /// i32 for integers; the output has the operands' type, i32 for integers.
    Matmul {
        /// Products.
        batch: usize,
        /// Rows of the result.
        m: usize,
        /// Columns of the result.
        n: usize,
        /// Terms of each sum.
        k: usize,
        /// Type of `a` and `b`; `b` of a u8 `a` is i8.
        dtype: DType,
        /// `a` is given as `[k,m]`.
        ta: bool,
        /// `b` is given as `[n,k]`.
        tb: bool,
        /// What happens to the sum.
        epilogue: Epilogue,
    },
    /// `y[r,c] = exp(x[r,c]) / Σ over c of exp(x[r,c])`.
    Softmax {
        /// Independent rows.
        rows: usize,
        /// Elements of a row.
        cols: usize,
        /// Type of `x` and `y`.
        dtype: DType,
    },
    /// `y = x / sqrt(mean of x² + 1e-6) · w`, row by row.
    #[serde(rename = "rmsnorm")]
    RmsNorm {
        /// Independent rows.
        rows: usize,
        /// Elements of a row.
        cols: usize,
        /// Type of `x`, `w` and `y`.
        dtype: DType,
    },
    /// `y = (x − mean) / sqrt(variance + 1e-5) · w + bias`, row by row.
    #[serde(rename = "layernorm")]
    LayerNorm {
        /// Independent rows.
        rows: usize,
        /// Elements of a row.
        cols: usize,
        /// Type of `x`, `w`, `bias` and `y`.
        dtype: DType,
    },
    /// `o = softmax(q · kᵀ / sqrt(head_dim)) · v` for each head: `q[batch,heads,q_len,head_dim]`,
    /// `k` and `v[batch,kv_heads,kv_len,head_dim]`; heads share keys in groups of `heads / kv_heads`. Causal: a query sees
    /// the keys up to its own position, the last query's being the last key's.
    Attention {
        /// Sequences.
        batch: usize,
        /// Query heads.
        heads: usize,
        /// Key and value heads.
        kv_heads: usize,
        /// Queries of a sequence.
        q_len: usize,
        /// Keys of a sequence.
        kv_len: usize,
        /// Elements of a head.
        head_dim: usize,
        /// Type of all operands.
        dtype: DType,
        /// Queries do not see later keys.
        causal: bool,
    },
}

/// What happens to a matrix product before it is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Epilogue {
    /// Adds `bias[n]` (f32) to every row first.
    pub bias: bool,
    /// Then applies a function.
    pub activation: Option<Activation>,
}

impl Epilogue {
    /// Whether nothing happens.
    pub fn is_none(self) -> bool {
        self == Epilogue::default()
    }
}

/// An elementwise function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activation {
    /// `max(x, 0)`.
    Relu,
    /// GELU by its tanh approximation.
    Gelu,
    /// GELU by erf.
    GeluErf,
    /// `x / (1 + exp(−x))`.
    Silu,
}

/// One input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operand {
    /// As in the formulas of [`Work`].
    pub name: &'static str,
    /// Element type.
    pub dtype: DType,
    /// Dimensions.
    pub shape: Vec<usize>,
}

impl Work {
    /// The name of the kernel family.
    pub fn name(&self) -> &'static str {
        match self {
            Work::Matmul { .. } => "matmul",
            Work::Softmax { .. } => "softmax",
            Work::RmsNorm { .. } => "rmsnorm",
            Work::LayerNorm { .. } => "layernorm",
            Work::Attention { .. } => "attention",
        }
    }

    /// The element type of the first input.
    pub fn dtype(&self) -> DType {
        match *self {
            Work::Matmul { dtype, .. }
            | Work::Softmax { dtype, .. }
            | Work::RmsNorm { dtype, .. }
            | Work::LayerNorm { dtype, .. }
            | Work::Attention { dtype, .. } => dtype,
        }
    }

    /// The inputs, in the order in which peers take them.
    pub fn inputs(&self) -> Vec<Operand> {
        let operand = |name, dtype, shape: &[usize]| Operand { name, dtype, shape: shape.to_vec() };
        match *self {
            Work::Matmul { batch, m, n, k, dtype, ta, tb, epilogue } => {
                let b_dtype = if dtype == DType::U8 { DType::I8 } else { dtype };
                let matrix = |name, dtype, [r, c]: [usize; 2]| {
                    if batch > 1 {
                        operand(name, dtype, &[batch, r, c])
                    } else {
                        operand(name, dtype, &[r, c])
                    }
                };
                let mut inputs = vec![
                    matrix("a", dtype, if ta { [k, m] } else { [m, k] }),
                    matrix("b", b_dtype, if tb { [n, k] } else { [k, n] }),
                ];
                if epilogue.bias {
                    inputs.push(operand("bias", DType::F32, &[n]));
                }
                inputs
            }
            Work::Softmax { rows, cols, dtype } => vec![operand("x", dtype, &[rows, cols])],
            Work::RmsNorm { rows, cols, dtype } => {
                vec![operand("x", dtype, &[rows, cols]), operand("w", dtype, &[cols])]
            }
            Work::LayerNorm { rows, cols, dtype } => vec![
                operand("x", dtype, &[rows, cols]),
                operand("w", dtype, &[cols]),
                operand("bias", dtype, &[cols]),
            ],
            Work::Attention { batch, heads, kv_heads, q_len, kv_len, head_dim, dtype, .. } => vec![
                operand("q", dtype, &[batch, heads, q_len, head_dim]),
                operand("k", dtype, &[batch, kv_heads, kv_len, head_dim]),
                operand("v", dtype, &[batch, kv_heads, kv_len, head_dim]),
            ],
        }
    }

    /// The output.
    pub fn output(&self) -> Operand {
        let (name, dtype, shape) = match *self {
            Work::Matmul { batch, m, n, dtype, .. } => {
                let dtype = if dtype.is_float() { dtype } else { DType::I32 };
                ("o", dtype, if batch > 1 { vec![batch, m, n] } else { vec![m, n] })
            }
            Work::Softmax { rows, cols, dtype }
            | Work::RmsNorm { rows, cols, dtype }
            | Work::LayerNorm { rows, cols, dtype } => ("y", dtype, vec![rows, cols]),
            Work::Attention { batch, heads, q_len, head_dim, dtype, .. } => {
                ("o", dtype, vec![batch, heads, q_len, head_dim])
            }
        };
        Operand { name, dtype, shape }
    }

    /// Inputs uniform in [-1, 1), or over all values of an integer type, from a seed.
    ///
    /// # Errors
    /// `dtype/too-large` when they need more memory than there is.
    pub fn random_inputs(&self, seed: u64) -> Result<Vec<Tensor>> {
        let mut rng = Rng::new(seed);
        let random = |operand: &Operand| {
            let len: usize = operand.shape.iter().product();
            let value = |unit: f64| match operand.dtype.int_range() {
                Some((lo, hi)) => (lo as f64 + unit * (hi - lo + 1) as f64).floor(),
                None => 2.0 * unit - 1.0,
            };
            let mut tensor = Tensor::try_new(operand.dtype, &operand.shape)?;
            // Long tensors repeat a block of random values: drawing a gigabyte one by one would dominate a run.
            let block: Vec<f64> = (0..len.min(1 << 16)).map(|_| value(rng.unit())).collect();
            if len > 0 {
                let block = Tensor::from_f64(operand.dtype, &[block.len()], &block)?;
                let block = block.bytes();
                for chunk in tensor.bytes_mut().chunks_mut(block.len()) {
                    chunk.copy_from_slice(&block[..chunk.len()]);
                }
            }
            Ok(tensor)
        };
        self.inputs().iter().map(random).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_have_their_shapes_and_follow_the_seed() {
        let work = Work::Matmul {
            batch: 1,
            m: 3,
            n: 5,
            k: 7,
            dtype: DType::U8,
            ta: true,
            tb: false,
            epilogue: Epilogue { bias: true, activation: None },
        };
        let shapes: Vec<_> = work.inputs().into_iter().map(|o| (o.name, o.dtype, o.shape)).collect();
        let expected =
            [("a", DType::U8, vec![7, 3]), ("b", DType::I8, vec![7, 5]), ("bias", DType::F32, vec![5])];
        assert_eq!(shapes, expected);
        assert_eq!(work.output().dtype, DType::I32);
        assert_eq!(work.random_inputs(1).expect("small"), work.random_inputs(1).expect("small"));
        assert_ne!(work.random_inputs(1).expect("small"), work.random_inputs(2).expect("small"));
        let a = work.random_inputs(3).expect("small")[0].to_f64();
        assert!(
            a.iter().all(|&v| (0.0..256.0).contains(&v) && v.fract() == 0.0) && a.iter().any(|&v| v > 127.0)
        );
    }

    #[test]
    fn work_is_plain_json() {
        let work = Work::RmsNorm { rows: 2, cols: 3, dtype: DType::BF16 };
        let text = serde_json::to_string(&work).expect("serialises");
        assert_eq!(text, r#"{"kind":"rmsnorm","rows":2,"cols":3,"dtype":"bf16"}"#);
        assert_eq!(serde_json::from_str::<Work>(&text).expect("parses"), work);
    }
}
