//! Tile IR to LLVM IR text for CPUs.

pub mod features;
