//! Timing protocol, machine ceilings, peers.
