//! Transfers in flight.

use super::background::Background;
use super::params::{Params, Path};

/// Fractions of a cycle in which service time is kept.
const UNIT: u64 = 256;
/// A private transfer older than this is complete whatever its wait counts.
const OLD: i64 = -(1 << 24);

/// One transfer that no wait has taken yet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flight {
    /// Its flag.
    pub flag: u32,
    /// Granules.
    pub granules: u32,
    /// Cycle of issue.
    pub issued: i64,
    /// Cycle at which its data starts to move.
    pub arrives: i64,
    /// Service time left, in units; shared memory only.
    pub left: u64,
    /// Cycle at which it was complete; shared memory only, once `left` is 0.
    pub done: i64,
    /// Its cost.
    pub path: Path,
}

impl Flight {
    /// Whether it only credits a flag and moves nothing.
    fn is_credit(&self) -> bool {
        self.path == CREDIT
    }
}

/// Transfers that no wait takes are forgotten beyond this many.
const FLIGHTS: usize = 4096;

/// Flags from here on are of transfers that started before the execution.
const OUTSIDE: u32 = 0xffff_0000;

/// The path of a credit.
const CREDIT: Path = Path { latency: -1.0, granule: 0.0 };

/// Transfers in flight, oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    /// The transfers.
    pub flights: Vec<Flight>,
    /// Cycle up to which shared service is worked out.
    pub clock: i64,
}

impl Memory {
    /// A transfer starts at `now`.
    pub fn start(&mut self, params: &Params, now: i64, flag: u32, granules: u32, path: Path) {
        if params.shared {
            self.advance(now);
        }
        self.make_room();
        let arrives = now + path.latency.round() as i64;
        let left = (f64::from(granules) * path.granule * UNIT as f64).round() as u64;
        self.flights.push(Flight { flag, granules, issued: now, arrives, left, done: arrives, path });
    }

    /// `granules` are added to `flag` without a transfer.
    pub fn credit(&mut self, now: i64, flag: u32, granules: u32) {
        self.make_room();
        self.flights.push(Flight {
            flag,
            granules,
            issued: now,
            arrives: now,
            left: 0,
            done: now,
            path: CREDIT,
        });
    }

    fn make_room(&mut self) {
        if self.flights.len() >= FLIGHTS {
            self.flights.remove(0);
        }
    }

    /// The cycle at which `granules` of `flag` have come, for a wait at `now`. The transfers are taken off.
    pub fn wait(&mut self, params: &Params, now: i64, flag: u32, granules: u32) -> i64 {
        let mut need = i64::from(granules);
        let mut until = now;
        let mut last: Option<Flight> = None;
        let mut taken = 0;
        if !params.shared && !self.flights.iter().any(|f| f.flag == flag && !f.is_credit()) {
            self.flights.retain(|f| f.flag != flag);
            // The estimator takes a wait without a transfer for one that started with the program.
            let path = params.unknown_path();
            return now.max((path.latency + f64::from(granules) * path.granule).round() as i64);
        }
        while need > 0 {
            let Some(at) = self.flights.iter().position(|f| f.flag == flag) else { break };
            need -= i64::from(self.flights.get(at).map_or(0, |f| f.granules.max(1)));
            if params.shared {
                until = until.max(self.finish(at));
            }
            let f = self.flights.remove(at);
            if f.is_credit() {
                continue;
            }
            if !params.shared {
                until = until
                    .max(f.issued + (f.path.latency + f64::from(f.granules) * f.path.granule).round() as i64);
            }
            taken += 1;
            last = Some(f);
        }
        if !params.shared
            && taken == 1
            && let Some(f) = last
        {
            // The estimator charges the granules of the wait, not of the transfer.
            return now
                .max(f.issued + (f.path.latency + f64::from(granules) * f.path.granule).round() as i64);
        }
        until
    }

    /// The cycle at which flight `at` is complete, with service worked out up to then.
    fn finish(&mut self, at: usize) -> i64 {
        loop {
            match self.flights.get(at) {
                Some(f) if f.left == 0 => return f.done,
                None => return self.clock,
                Some(_) => {}
            }
            self.step(i64::MAX);
        }
    }

    /// Works out shared service up to cycle `to`.
    pub fn advance(&mut self, to: i64) {
        while self.clock < to && self.flights.iter().any(|f| f.left > 0) {
            self.step(to);
        }
        self.clock = self.clock.max(to);
    }

    /// Service until the next arrival, the next completion or `to`.
    fn step(&mut self, to: i64) {
        let now = self.clock;
        let active = self.flights.iter().filter(|f| f.left > 0 && f.arrives <= now);
        let (mut n, mut least) = (0u64, u64::MAX);
        for f in active {
            n += 1;
            least = least.min(f.left);
        }
        let arrival = self.flights.iter().filter(|f| f.left > 0 && f.arrives > now).map(|f| f.arrives).min();
        let mut next = to.min(arrival.unwrap_or(i64::MAX));
        if n > 0 {
            let cycles = (least * n).div_ceil(UNIT) as i64;
            next = next.min(now.saturating_add(cycles));
        }
        if next == i64::MAX {
            next = now + 1;
        }
        let served = (next - now).max(0) as u64 * UNIT / n.max(1);
        for f in self.flights.iter_mut().filter(|f| f.left > 0 && f.arrives <= now) {
            f.left = f.left.saturating_sub(served);
            if f.left == 0 {
                f.done = next;
            }
        }
        self.clock = next;
    }

    /// Takes up transfers in flight at time 0; shared memory only.
    pub fn resume(&mut self, flying: &[Background]) {
        for b in flying {
            let arrives = i64::try_from(b.after).unwrap_or(i64::MAX);
            let path = Path { latency: 0.0, granule: 0.0 };
            let flag = OUTSIDE + u32::from(b.id);
            self.flights.push(Flight {
                flag,
                granules: 1,
                issued: 0,
                arrives,
                left: b.service,
                done: arrives,
                path,
            });
        }
    }

    /// What is left at `now` of the transfers that were taken up.
    pub fn pause(&self, now: i64) -> Vec<Background> {
        let outside = self.flights.iter().filter(|f| f.flag >= OUTSIDE);
        let left = outside.map(|f| Background {
            id: (f.flag - OUTSIDE) as u16,
            after: (f.arrives - now).max(0) as u64,
            service: f.left,
        });
        left.filter(|b| b.after > 0 || b.service > 0).collect()
    }

    /// Whether a transfer that was taken up still uses the memory.
    pub fn is_shared_with_background(&self) -> bool {
        self.flights.iter().any(|f| f.flag >= OUTSIDE && f.left > 0)
    }

    /// The cycle at which a transfer that was taken up is complete; 0 where there is none such.
    pub fn finish_background(&mut self, id: u16) -> i64 {
        let flag = OUTSIDE + u32::from(id);
        self.flights.iter().position(|f| f.flag == flag).map_or(0, |at| self.finish(at))
    }

    /// The state relative to `now`, as words.
    pub fn save(&mut self, params: &Params, now: i64, out: &mut Vec<u64>) {
        if params.shared {
            self.advance(now);
        }
        out.push(self.flights.len() as u64);
        for f in &self.flights {
            out.push(u64::from(f.flag) << 32 | u64::from(f.granules));
            if params.shared {
                out.push((f.arrives - now).max(0) as u64);
                out.push(f.left);
                out.push((f.done - now).max(0) as u64);
            } else {
                out.push((f.issued - now).max(OLD) as u64);
            }
            out.push(f.path.latency.to_bits());
            out.push(f.path.granule.to_bits());
        }
        if params.shared {
            out.push((self.clock - now) as u64);
        }
    }

    /// The state that [`Memory::save`] wrote.
    pub fn load(params: &Params, now: i64, words: &mut impl Iterator<Item = u64>) -> Memory {
        let mut next = || words.next().unwrap_or(0);
        let n = next();
        let mut out = Memory::default();
        for _ in 0..n {
            let first = next();
            let mut f = Flight {
                flag: (first >> 32) as u32,
                granules: first as u32,
                issued: now,
                arrives: now,
                left: 0,
                done: now,
                path: Path { latency: 0.0, granule: 0.0 },
            };
            if params.shared {
                f.arrives = now + next() as i64;
                f.left = next();
                f.done = now + next() as i64;
            } else {
                f.issued = now + next() as i64;
            }
            f.path = Path { latency: f64::from_bits(next()), granule: f64::from_bits(next()) };
            out.flights.push(f);
        }
        out.clock = if params.shared { now + next() as i64 } else { now };
        out
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
    use crate::program::Direction;
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
