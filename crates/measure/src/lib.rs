//! Timing protocol, machine ceilings, peers.

mod buffer;
pub mod ceilings;
pub mod compare;
pub mod floor;
pub mod peers;
pub mod rng;
pub mod stats;
pub mod timing;
