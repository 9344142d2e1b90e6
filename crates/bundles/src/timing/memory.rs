//! Transfers in flight.

use super::params::{Params, Path};

/// Fractions of a cycle in which service time is kept.
const UNIT: u64 = 256;

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
        let arrives = now + path.latency.round() as i64;
        let left = (f64::from(granules) * path.granule * UNIT as f64).round() as u64;
        self.flights.push(Flight { flag, granules, issued: now, arrives, left, done: arrives, path });
    }

    /// The cycle at which `granules` of `flag` have come, for a wait at `now`. The transfers are taken off.
    pub fn wait(&mut self, params: &Params, now: i64, flag: u32, granules: u32) -> i64 {
        let mut need = i64::from(granules);
        let mut until = now;
        let mut last: Option<Flight> = None;
        let mut taken = 0;
        while need > 0 {
            let Some(at) = self.flights.iter().position(|f| f.flag == flag) else { break };
            need -= i64::from(self.flights.get(at).map_or(0, |f| f.granules.max(1)));
            if params.shared {
                until = until.max(self.finish(at));
            }
            let f = self.flights.remove(at);
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
}
