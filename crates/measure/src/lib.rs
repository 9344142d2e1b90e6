//! Timing protocol, machine ceilings, peers.
//!
//! - [`timing`]: contestants take turns in one run; each yields a series of seconds.
//! - [`compare`]: two series against each other, with odds.
//! - [`ceilings`]: what the machine can do at most, measured and cached.
//! - [`floor`]: the time that necessary work takes at least; faster measurements are refused.
//! - [`peers`]: OpenBLAS, oneDNN, the crate `gemm`, PyTorch and JAX, run on the same problems.
//!
//! Nothing here knows a kernel or a compiler: contestants are closures. All times are in seconds, rates in operations or
//! bytes per second.

mod buffer;
pub mod ceilings;
pub mod compare;
pub mod floor;
pub mod peers;
pub mod rng;
pub mod stats;
pub mod timing;
