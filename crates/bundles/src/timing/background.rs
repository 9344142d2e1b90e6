//! Transfers that run beside executions: a copy that one operation's end does not wait for.

use super::memory::Memory;
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

/// Waits for transfer `id` among those in flight: the cycles, and what is in flight then.
pub fn wait(params: &Params, flying: &[Background], id: u16) -> (u64, Vec<Background>) {
    if !params.shared {
        let cycles = flying.iter().find(|b| b.id == id).map_or(0, Background::alone);
        return (cycles, flying.iter().filter_map(|b| b.aged(cycles)).collect());
    }
    let mut memory = Memory::default();
    memory.resume(flying);
    let until = memory.finish_background(id);
    memory.advance(until);
    (until.max(0) as u64, memory.pause(until))
}

#[cfg(test)]
mod tests {
    use tilewright_hw::Chip;

    use super::*;
    use crate::timing::Model;

    #[test]
    fn transfers_in_flight_share_the_memory() {
        for model in [Model::Calibrated, Model::Vendor] {
            let params = Params::new(Chip::V5e, model, &[]).unwrap();
            let one = Background::new(&params, 1, Direction::HbmToVmem, 1 << 20);
            let two = Background { id: 2, ..one };
            assert_eq!(wait(&params, &[one], 1), (one.alone(), vec![]), "{model:?}");
            let (cycles, left) = wait(&params, &[one, two], 1);
            let shared = if model == Model::Calibrated { 2 } else { 1 };
            let expected = one.after + one.service.div_ceil(256) * shared;
            assert!(cycles.abs_diff(expected) <= 2, "{model:?}: {cycles} against {expected}");
            assert!(wait(&params, &left, 2).0 <= 1, "{model:?}: {left:?}");
            // One that is not in flight is not waited for.
            assert_eq!(wait(&params, &[one], 3).0, 0);
        }
    }
}
