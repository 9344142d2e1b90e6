//! Element types bit for bit, and host tensors of them.
//!
//! [`DType`] knows each type's bits, its range, and how a real number becomes a value of it: one rounding from `f64`, to
//! nearest, ties to even. [`Tensor`] is a row-major host buffer aligned for every target. [`files`] reads and writes
//! tensors as safetensors and `.npy`.
//!
//! Every value passes through `f64`, which holds each value of each type exactly.
//!
//! ```
//! use tilewright_dtype::{DType, Tensor};
//!
//! let x = Tensor::from_f64(DType::BF16, &[2, 2], &[1.0, 0.1, -2.5, 1e39])?;
//! assert_eq!(x.to_f64(), [1.0, 0.10009765625, -2.5, f64::INFINITY]);
//! assert_eq!(DType::BF16.ulp_distance(1.0, 1.0078125), 1);
//! # Ok::<(), Box<tilewright_diag::Diagnostic>>(())
//! ```

mod aligned;
mod bulk;
mod dtype;
pub mod files;
mod float;
mod tensor;
mod value;

pub use aligned::AlignedBytes;
pub use dtype::DType;
pub use tensor::Tensor;
