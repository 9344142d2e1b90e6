//! The time below which physics says no: bytes over bandwidth, operations over peak. A faster measurement is a mistake.

use serde::Serialize;
use tilewright_diag::{Diagnostic, Result};
use tilewright_dtype::DType;

use crate::ceilings::{Ceilings, Rate};

/// The least time that necessary work takes on a machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Floor {
    /// Operations that any correct kernel carries out; a multiply-add counts as two.
    pub flops: f64,
    /// Bytes that any correct kernel reads or writes at least once.
    pub bytes: f64,
    /// Operations per second of the machine.
    pub peak_flops: f64,
    /// Bytes per second of the levels of memory that the bytes can come from.
    pub bandwidth: f64,
    /// What the bandwidth is that of, such as `L2` or `memory`.
    pub level: String,
    /// By what factor a measurement may undercut [`Floor::seconds`]: the ceilings are measurements too.
    pub tolerance: f64,
}

impl Floor {
    /// The floor under `flops` operations on operands of type `dtype` that touch `bytes` distinct bytes, on `threads`
    /// threads.
    ///
    /// The arithmetic is the fastest that could carry out a dot product of `dtype`. The bytes are taken to lie as near to
    /// the cores as they fit: the first level holds what it can, the next the rest, and so on. That is the state after
    /// a run on the same data; on fresh data the truth lies further above this floor.
    pub fn new(ceilings: &Ceilings, flops: f64, bytes: f64, dtype: DType, threads: usize) -> Floor {
        let peak = ceilings.best_peak(dtype, threads).map(|(_, rate)| rate);
        let (bandwidth, headroom, level) = nearest_bandwidth(ceilings, bytes, threads);
        Floor {
            flops,
            bytes,
            peak_flops: peak.map_or(f64::INFINITY, |rate| rate.median),
            bandwidth,
            level,
            tolerance: peak.map_or(1.0, |rate| rate.headroom()).max(headroom),
        }
    }

    /// The floor in seconds: the larger of operations over peak and bytes over bandwidth.
    pub fn seconds(&self) -> f64 {
        (self.flops / self.peak_flops).max(self.bytes / self.bandwidth)
    }

    /// Whether memory, not arithmetic, sets the floor.
    pub fn memory_bound(&self) -> bool {
        self.bytes / self.bandwidth > self.flops / self.peak_flops
    }
}

/// Refuses a time that no machine with these ceilings can reach.
///
/// # Errors
/// `measure/below-floor` when `seconds` is below the floor by more than its tolerance, or is not a time at all.
pub fn refuse_below(floor: &Floor, seconds: f64) -> Result<()> {
    let least = floor.seconds() / floor.tolerance;
    if seconds.is_finite() && seconds > 0.0 && seconds >= least {
        return Ok(());
    }
    let (work, rate, what) = if floor.memory_bound() {
        (floor.bytes, floor.bandwidth, format!("bytes over the {} bandwidth in bytes/s", floor.level))
    } else {
        (floor.flops, floor.peak_flops, "operations over the peak in FLOP/s".to_owned())
    };
    let message = format!(
        "measured {seconds:.3e} s, below the floor of {:.3e} s ({work:.4e} / {rate:.4e}: {what}; {:.0} % tolerated)",
        floor.seconds(),
        (floor.tolerance - 1.0) * 100.0,
    );
    Err(Diagnostic::verdict("measure/below-floor", message)
        .rule("a kernel that does its necessary work takes at least the machine's time for it")
        .help("the kernel skipped work, the work is overstated, or the ceilings are out of date: check the kernel, then measure the ceilings again"))
}

/// Bandwidth and headroom for `bytes` that lie as near as they fit, and the furthest level they reach.
fn nearest_bandwidth(ceilings: &Ceilings, bytes: f64, threads: usize) -> (f64, f64, String) {
    let mut left = bytes;
    let mut seconds = 0.0;
    let mut headroom = 1.0f64;
    let mut held = 0.0;
    let mut furthest = String::from("memory");
    for (i, level) in ceilings.levels.iter().enumerate() {
        // Reads and writes overlap differently on each machine: the faster of the two is the bound.
        let rate = faster(
            ceilings.on(level.read_one, level.read_all, threads),
            ceilings.on(level.copy_one, level.copy_all, threads),
        );
        let capacity = ceilings
            .host
            .caches
            .get(i)
            .map_or(f64::INFINITY, |cache| ceilings.host.capacity(cache, threads) as f64);
        // Inclusive or not, a level and those before it hold no more than their sum.
        let here = left.min(capacity);
        seconds += here / rate.median;
        held += here;
        left -= here;
        headroom = headroom.max(rate.headroom());
        furthest.clone_from(&level.name);
        if left <= 0.0 {
            break;
        }
    }
    let bandwidth = if seconds > 0.0 { held / seconds } else { f64::INFINITY };
    (bandwidth, headroom, furthest)
}

fn faster(a: Rate, b: Rate) -> Rate {
    if b.median > a.median { b } else { a }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ceilings::{Cache, Host, Level, Peak, PeakClass};
    use crate::stats::Interval;

    fn rate(median: f64) -> Rate {
        let ci = Interval { lo: median * 0.98, hi: median * 1.02, coverage: 0.95 };
        Rate { median, ci, best: median * 1.05, n: 20 }
    }

    /// One thread: 100 GFLOP/s; L1 of 1000 bytes at 1e12, L2 of 10,000 bytes at 1e11, memory at 1e10 bytes/s.
    fn machine() -> Ceilings {
        let level = |name: &str, capacity, bandwidth| Level {
            name: name.into(),
            capacity,
            working_set: 0,
            read_one: rate(bandwidth),
            read_all: rate(bandwidth * 4.0),
            copy_one: rate(bandwidth / 2.0),
            copy_all: rate(bandwidth * 2.0),
        };
        let cache = |level, bytes| Cache { level, bytes, shared_by: 1 };
        Ceilings {
            host: Host {
                processor: "test".into(),
                threads: 4,
                caches: vec![cache(1, 1000), cache(2, 10_000)],
                caches_assumed: false,
                features: Vec::new(),
            },
            measured_at: 0,
            peaks: vec![
                Peak { class: PeakClass::F32, isa: String::new(), one: rate(1e11), all: rate(4e11) },
                Peak { class: PeakClass::Bf16Amx, isa: String::new(), one: rate(1e12), all: rate(4e12) },
            ],
            levels: vec![
                level("L1", Some(1000), 1e12),
                level("L2", Some(10_000), 1e11),
                level("memory", None, 1e10),
            ],
        }
    }

    #[test]
    fn arithmetic_and_memory_set_the_floor_in_turn() {
        let m = machine();
        let compute = Floor::new(&m, 1e9, 1e6, DType::F32, 1);
        assert!((compute.seconds() / 1e-2 - 1.0).abs() < 1e-9 && !compute.memory_bound());
        let memory = Floor::new(&m, 1e3, 1e9, DType::F32, 1);
        assert!((memory.seconds() / 0.1 - 1.0).abs() < 1e-3 && memory.memory_bound());
        assert!((Floor::new(&m, 1e9, 1e6, DType::F32, 4).seconds() / 2.5e-3 - 1.0).abs() < 1e-9);
        // A matrix unit could carry it out, whatever our kernel uses.
        assert!((Floor::new(&m, 1e9, 1e3, DType::BF16, 1).seconds() / 1e-3 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn bytes_lie_as_near_as_they_fit() {
        let m = machine();
        let seconds = |bytes, threads| Floor::new(&m, 0.0, bytes, DType::F32, threads).seconds();
        assert!((seconds(500.0, 1) / 5e-10 - 1.0).abs() < 1e-9);
        assert!((seconds(3000.0, 1) / (1e-9 + 2e-8) - 1.0).abs() < 1e-9);
        assert!((seconds(21_000.0, 1) / (1e-9 + 1e-7 + 1e-6) - 1.0).abs() < 1e-9);
        // Four threads have four of each cache.
        assert!((seconds(3000.0, 4) / 7.5e-10 - 1.0).abs() < 1e-9);
        assert_eq!(Floor::new(&m, 0.0, 3000.0, DType::F32, 1).level, "L2");
    }

    #[test]
    fn faster_than_the_floor_is_refused_and_the_message_says_why() {
        let floor = Floor::new(&machine(), 1e3, 1e9, DType::F32, 1);
        assert!(floor.tolerance > 1.05 && floor.tolerance < 1.08, "{}", floor.tolerance);
        assert!(refuse_below(&floor, 0.2).is_ok());
        assert!(refuse_below(&floor, 0.096).is_ok(), "within the ceilings' own uncertainty");
        let refusal = refuse_below(&floor, 0.05).expect_err("twice as fast as memory");
        assert_eq!((refusal.code, refusal.class.exit_status()), ("measure/below-floor", 1));
        for part in ["1.0000e9", "memory bandwidth", "5.000e-2 s", "% tolerated"] {
            assert!(refusal.message.contains(part), "{}", refusal.message);
        }
        for nonsense in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(refuse_below(&floor, nonsense).is_err());
        }
    }
}
