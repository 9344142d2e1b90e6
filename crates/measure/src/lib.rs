//! Timing protocol, machine ceilings, peers.

pub mod compare;
pub mod rng;
pub mod stats;
pub mod timing;
