//! The list of families, and what their files share.

use tilewright_diag::{Diagnostic, Result};

use crate::family::Family;

mod attention;
pub(crate) mod block;
mod blocking;
mod cast;
mod cross_entropy;
mod decode_attention;
pub mod epilogue;
pub(crate) mod gemm;
mod layernorm;
mod logsumexp;
mod matmul;
mod rmsnorm;
mod rotary;
mod rows;
mod softmax;
mod transpose;

/// Every family, in the order that `kernels` lists them.
pub fn families() -> &'static [&'static dyn Family] {
    &[
        &matmul::Matmul,
        &softmax::Softmax,
        &logsumexp::LogSumExp,
        &cross_entropy::CrossEntropy,
        &rmsnorm::RmsNorm,
        &layernorm::LayerNorm,
        &rotary::Rotary,
        &attention::Attention,
        &decode_attention::DecodeAttention,
        &transpose::Transpose,
        &cast::Cast,
    ]
}

/// The family called `name`, or a diagnostic that names the nearest.
pub fn family(name: &str) -> Result<&'static dyn Family> {
    match families().iter().find(|f| f.name() == name) {
        Some(f) => Ok(*f),
        None => {
            Err(Diagnostic::unknown("kernel/unknown", "kernel", name, families().iter().map(|f| f.name())))
        }
    }
}
