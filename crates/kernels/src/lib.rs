//! The kernel library: a file per family under `families/`.
//!
//! A family reads like the paper: `build` records the tile program, `reference` is plain float64 beside it. Checking,
//! timing and tuning come from the command line, never from here. To add a family, write its file and add it to
//! [`families()`].

mod families;
mod family;
mod problem;

pub use families::block::{Axis, Block};
pub use families::gemm::{Epilogue, Gemm, Prologue, matmul_program};
pub use families::{epilogue, families, family};
pub use family::{Domain, Family, Inputs, Machine, Space, Work};
pub use problem::{Config, Key, Kind, Problem, Val};
