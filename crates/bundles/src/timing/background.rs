//! Transfers that run beside executions: a copy that one operation's end does not wait for.

use super::params::{Params, Path};
use crate::program::Direction;

/// A transfer in flight between executions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Background {
    /// Its number; no two in flight have the same.
    pub id: u16,
    /// Cycles until its data starts to move.
    pub after: u64,
    /// Cycles that its data then takes while no other transfer shares the memory, in 256ths.
    pub service: u64,
}

impl Background {
    /// A transfer of `bytes` that starts now.
    pub fn new(params: &Params, id: u16, direction: Direction, bytes: u64) -> Background {
        let Path { latency, granule } = params.path(direction, false);
        let service = (bytes as f64 / params.granule_bytes * granule * 256.0).round() as u64;
        Background { id, after: latency.round() as u64, service }
    }

    /// What is left of it after `cycles` in which nothing else used the memory.
    pub fn aged(&self, cycles: u64) -> Option<Background> {
        let after = self.after.saturating_sub(cycles);
        let served = cycles.saturating_sub(self.after).saturating_mul(256);
        let service = self.service.saturating_sub(served);
        (after > 0 || service > 0).then_some(Background { after, service, ..*self })
    }

    /// Cycles that it takes alone.
    pub fn alone(&self) -> u64 {
        self.after + self.service.div_ceil(256)
    }
}
