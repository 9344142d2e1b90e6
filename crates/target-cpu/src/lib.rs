//! Tile IR to LLVM IR text for CPUs.

pub mod convert;
pub mod features;
pub mod math;
pub mod micro;
pub mod runtime;

mod emit;
mod facts;
mod layout;
mod lower;
mod plan;

pub use facts::{REFUSED_DTYPES, check};
pub use lower::{Lowered, LoweredKernel, Options, PASSES, Pass, lower, lower_watched};
