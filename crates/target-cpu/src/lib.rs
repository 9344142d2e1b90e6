//! Tile IR to LLVM IR text for CPUs.

pub mod convert;
pub mod features;
pub mod math;
pub mod micro;
pub mod runtime;
