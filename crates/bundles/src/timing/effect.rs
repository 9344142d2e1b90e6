//! What an item does to the state once its bundle issues.

use std::collections::VecDeque;

use super::delta::Delta;
use super::items::{Act, Item};
use super::params::Params;
use super::state::{SLOTS, State, UNITS};

/// Results that a queue holds at most.
const QUEUE: usize = 4096;

impl State {
    /// An item's effect at issue; true for a branch that is taken.
    #[inline]
    pub(super) fn effect(&mut self, item: &Item, issue: i64, params: &Params, delta: &mut Delta) -> bool {
        let unit = usize::from(item.unit) % UNITS;
        match item.act {
            Act::Write => {
                if let Some(r) = self.ready.get_mut(usize::from(item.n)) {
                    *r = issue + i64::from(item.m);
                }
            }
            Act::Matmul => {
                take(&mut self.mxu_free, unit, issue, item.m, &mut delta.matrix_busy);
                let results = delta.multiplied(item.n);
                let latency = params.matmul_latency.get(usize::from(unit >= 2)).copied().unwrap_or(0) as i64;
                if let Some(q) = self.matrix.get_mut(unit) {
                    for i in 0..i64::from(results) {
                        push(q, issue + latency + i * params.matmul_spacing as i64);
                    }
                }
            }
            Act::MatmulSlot => {
                take(&mut self.mxu_free, unit, issue, item.m >> 16, &mut delta.matrix_busy);
                let results = delta.multiplied(item.m as u16);
                let first = params.matmul_latency.first().copied().unwrap_or(0);
                for i in 0..usize::from(results) {
                    let slot = unit * SLOTS + (usize::from(item.n) + i) % SLOTS;
                    if let Some(s) = self.slots.get_mut(slot) {
                        *s = issue + (first + i as u64 * params.matmul_spacing) as i64;
                    }
                }
            }
            Act::Push => take(&mut self.push_free, unit, issue, item.m, &mut delta.push_busy),
            Act::TransposeStart => {
                let (occupancy, pushes) = (item.m >> 16, item.m & 0xffff);
                take(&mut self.xlu_free, unit, issue, occupancy, &mut delta.xlu_busy);
                if let Some(t) = self.transpose_free.get_mut(unit) {
                    *t = issue + i64::from(item.n) * i64::from(occupancy);
                }
                if let Some(t) = self.transpose_first.get_mut(unit) {
                    *t = issue + params.transpose_latency as i64 + i64::from((pushes - 1) * occupancy);
                }
            }
            Act::Transpose => take(&mut self.xlu_free, unit, issue, item.m, &mut delta.xlu_busy),
            Act::TransposeEnd => {
                take(&mut self.xlu_free, unit, issue, item.m, &mut delta.xlu_busy);
                if let Some(q) = self.transposed.get_mut(unit) {
                    let first = self.transpose_first.get(unit).copied().unwrap_or(issue);
                    let first = first.max(issue + params.transpose_latency as i64);
                    for i in 0..i64::from(item.n) {
                        push(q, first + i * params.transpose_spacing as i64);
                    }
                }
            }
            Act::Xlu => {
                take(&mut self.xlu_free, unit, issue, item.m >> 16, &mut delta.xlu_busy);
                if let Some(q) = self.crossed.get_mut(unit) {
                    push(q, issue + i64::from(item.m & 0xffff));
                }
            }
            Act::Eup => push(&mut self.eup, issue + i64::from(item.m)),
            Act::Count => {
                if let Some(n) = delta.guarded.get_mut(usize::from(item.n)) {
                    *n += 1;
                }
            }
            Act::Branch => return true,
            _ => {}
        }
        false
    }
}

fn take(free: &mut [i64; UNITS], unit: usize, issue: i64, cycles: u32, busy: &mut u64) {
    if let Some(f) = free.get_mut(unit) {
        *f = issue + i64::from(cycles);
        *busy += u64::from(cycles);
    }
}

/// Adds a result to a queue; one that nothing pops forgets its oldest.
fn push(queue: &mut VecDeque<i64>, ready: i64) {
    if queue.len() >= QUEUE {
        queue.pop_front();
    }
    queue.push_back(ready);
}
