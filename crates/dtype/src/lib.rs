//! Element types bit for bit, and host tensors of them.
//!
//! [`DType`] knows each type's bits, its range, and how a real number becomes a value of it: one rounding from `f64`, to
//! nearest, ties to even. [`Tensor`] is a row-major host buffer aligned for every target. [`files`] reads and writes
//! tensors as safetensors and `.npy`.
//!
//! Every value passes through `f64`, which holds each value of each type exactly.

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
