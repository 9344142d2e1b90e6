//! What this machine can do at most, measured: operations per second for each kind of arithmetic, bytes per second for
//! each level of memory, on one thread and on all. Bench fractions and the floor under every time are taken from these.

mod amx;
mod bandwidth;
mod cache;
mod flops;
#[cfg(any(test, not(target_arch = "x86_64")))]
mod portable;
mod schedule;
mod topology;

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tilewright_diag::{Diagnostic, Result};
use tilewright_dtype::DType;

use crate::stats::{self, Interval};
use bandwidth::Traffic;
use schedule::{Load, Task};

pub use cache::{Origin, load_or_measure};
pub use topology::{Cache, Host};

/// A kind of arithmetic that hardware has a rate for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PeakClass {
    /// f64 multiply-add.
    F64,
    /// f32 multiply-add.
    F32,
    /// f16 multiply-add with an f16 sum. Kernels that keep an f32 sum convert and then run at the rate of [`Self::F32`].
    F16,
    /// bf16 dot product with an f32 sum, in vector registers.
    Bf16,
    /// 8-bit dot product with an i32 sum, in vector registers.
    I8,
    /// bf16 dot product with an f32 sum, in the matrix unit.
    Bf16Amx,
    /// 8-bit dot product with an i32 sum, in the matrix unit.
    I8Amx,
}

impl PeakClass {
    /// Every class.
    pub const ALL: [PeakClass; 7] = [
        PeakClass::F64,
        PeakClass::F32,
        PeakClass::F16,
        PeakClass::Bf16,
        PeakClass::I8,
        PeakClass::Bf16Amx,
        PeakClass::I8Amx,
    ];

    /// The name in reports and JSON.
    pub fn name(self) -> &'static str {
        match self {
            PeakClass::F64 => "f64",
            PeakClass::F32 => "f32",
            PeakClass::F16 => "f16",
            PeakClass::Bf16 => "bf16",
            PeakClass::I8 => "i8",
            PeakClass::Bf16Amx => "bf16_amx",
            PeakClass::I8Amx => "i8_amx",
        }
    }

    /// The classes that could carry out a `dot` of operands of an element type: any may, so a physical floor
    /// takes the fastest that the machine has. Types without arithmetic of their own (f16 with an f32 sum, f8, i4) are
    /// converted to one that has.
    pub fn of_operands(dtype: DType) -> &'static [PeakClass] {
        match dtype {
            DType::F64 => &[PeakClass::F64],
            DType::F32 | DType::I32 => &[PeakClass::F32],
            DType::F16 => &[PeakClass::F32, PeakClass::F16],
            DType::BF16 => &[PeakClass::F32, PeakClass::Bf16, PeakClass::Bf16Amx],
            _ => &Self::ALL,
        }
    }
}

impl fmt::Display for PeakClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A rate in operations or bytes per second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// Median of the samples.
    pub median: f64,
    /// 95 % order-statistic confidence interval of the median.
    pub ci: Interval,
    /// The fastest sample: a ceiling is what was seen once.
    pub best: f64,
    /// Samples.
    pub n: usize,
}

impl Rate {
    fn of(samples: &[f64]) -> Rate {
        Rate {
            median: stats::median(samples),
            ci: stats::median_interval(samples, 0.95),
            best: samples.iter().copied().fold(0.0, f64::max),
            n: samples.len(),
        }
    }

    /// By what factor the machine may beat the median: the fastest sample did, and the relative half width of the
    /// confidence interval is allowed on top, since another moment may be faster than all that were sampled.
    pub fn headroom(&self) -> f64 {
        let seen = self.best.max(self.ci.hi) / self.median;
        let doubt = (self.ci.hi - self.ci.lo) / 2.0 / self.median;
        let headroom = seen * (1.0 + doubt);
        if headroom.is_finite() { headroom.max(1.0) } else { 1.0 }
    }
}

/// The rates of one kind of arithmetic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Peak {
    /// Which.
    pub class: PeakClass,
    /// The instruction that was measured.
    pub isa: String,
    /// Operations per second on one thread; a multiply-add counts as two.
    pub one: Rate,
    /// On all threads together.
    pub all: Rate,
}

/// The rates of one level of memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// `L1`, `L2`, … or `memory`.
    pub name: String,
    /// Capacity of one instance in bytes; `None` for memory.
    pub capacity: Option<u64>,
    /// Bytes that each thread of the measurement on all threads walked over.
    pub working_set: u64,
    /// Bytes per second read, on one thread.
    pub read_one: Rate,
    /// On all threads together.
    pub read_all: Rate,
    /// Bytes per second copied (those read and those written both count), on one thread.
    pub copy_one: Rate,
    /// On all threads together.
    pub copy_all: Rate,
}

/// Everything measured of one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ceilings {
    /// The machine.
    pub host: Host,
    /// When, in seconds since 1970.
    pub measured_at: u64,
    /// Arithmetic, in the order of [`PeakClass`].
    pub peaks: Vec<Peak>,
    /// Memory, nearest level first.
    pub levels: Vec<Level>,
}

impl Ceilings {
    /// Measures the machine at hand; takes about `budget`, and no less than three samples of each number.
    ///
    /// # Errors
    /// `measure/no-memory` when the system refuses the buffers.
    pub fn measure(budget: Duration) -> Result<Ceilings> {
        let host = Host::detect();
        let loops = flops::loops();
        let plans = level_plans(&host);
        let mut tasks = Vec::new();
        for l in &loops {
            let load = Load::Arithmetic { run: l.run, flops: l.flops };
            tasks.extend([false, true].map(|all_threads| Task { load, all_threads }));
        }
        for plan in &plans {
            for kind in [Traffic::Read, Traffic::Copy, Traffic::StreamCopy] {
                tasks.extend([false, true].map(|all_threads| plan.task(kind, all_threads)));
            }
        }
        let samples = schedule::run(&tasks, host.threads, budget).ok_or_else(|| {
            let needed: u64 = plans.iter().map(|p| p.total(false) as u64).max().unwrap_or(0);
            Diagnostic::tool(
                "measure/no-memory",
                format!("the system refuses {needed} bytes for bandwidth measurements"),
            )
        })?;
        let mut rates = samples.iter().map(|s| Rate::of(s));
        let mut next = || rates.next().unwrap_or(Rate::of(&[]));
        let peaks =
            loops.iter().map(|l| Peak { class: l.class, isa: l.isa.to_owned(), one: next(), all: next() });
        let mut peaks: Vec<Peak> = peaks.collect();
        peaks.sort_by_key(|p| p.class);
        let levels = plans.iter().map(|plan| {
            let (read_one, read_all) = (next(), next());
            let copies = [next(), next(), next(), next()];
            let faster = |a: Rate, b: Rate| if b.median > a.median { b } else { a };
            Level {
                name: plan.name.clone(),
                capacity: plan.capacity,
                working_set: plan.bytes(true) as u64,
                read_one,
                read_all,
                copy_one: faster(copies[0], copies[2]),
                copy_all: faster(copies[1], copies[3]),
            }
        });
        let levels = levels.collect();
        let measured_at = cache::now();
        Ok(Ceilings { host, measured_at, peaks, levels })
    }

    /// Operations per second of a class on `threads` threads; `None` where the machine has no such arithmetic.
    pub fn peak(&self, class: PeakClass, threads: usize) -> Option<Rate> {
        self.peaks.iter().find(|p| p.class == class).map(|p| self.on(p.one, p.all, threads))
    }

    /// The fastest arithmetic that could carry out a `dot` of operands of an element type, and its rate.
    pub fn best_peak(&self, dtype: DType, threads: usize) -> Option<(PeakClass, Rate)> {
        PeakClass::of_operands(dtype)
            .iter()
            .filter_map(|&class| Some((class, self.peak(class, threads)?)))
            .max_by(|a, b| a.1.median.total_cmp(&b.1.median))
    }

    /// What was disturbed by other programs while it was measured, as a clause; `None` when the machine was quiet. Judged
    /// by f32 arithmetic and memory: a busy machine slows both, while matrix units vary on quiet ones too.
    pub fn disturbance(&self) -> Option<String> {
        const QUIET: f64 = 0.2;
        const LUCK: f64 = 0.25;
        let peaks = self.peaks.iter().filter(|p| p.class == PeakClass::F32);
        let memory = self.levels.iter().filter(|l| l.capacity.is_none());
        let rates = peaks
            .flat_map(|p| [("f32 arithmetic on one thread", p.one), ("f32 arithmetic on all threads", p.all)])
            .chain(memory.flat_map(|l| {
                [("memory read by one thread", l.read_one), ("memory read by all threads", l.read_all)]
            }));
        let spread = |rate: Rate| (rate.ci.hi - rate.ci.lo) / 2.0 / rate.median;
        let (what, worst) =
            rates.map(|(what, rate)| (what, spread(rate))).max_by(|a, b| a.1.total_cmp(&b.1))?;
        if worst > QUIET {
            return Some(format!("{what} varied by ±{:.0} %", worst * 100.0));
        }
        // A load that never ceases makes all rounds alike but the luckiest; arithmetic alone has no other cause for that.
        let luckier = |p: &&Peak| p.all.best > p.all.median * (1.0 + LUCK);
        let lucky = self.peaks.iter().filter(|p| p.class == PeakClass::F32).find(luckier)?;
        let factor = lucky.all.best / lucky.all.median;
        Some(format!(
            "f32 arithmetic on all threads was {factor:.1} times as fast at best as in the median round"
        ))
    }

    /// A rate on `threads` threads from those on one and on all: it grows with the threads until it meets the latter.
    pub(crate) fn on(&self, one: Rate, all: Rate, threads: usize) -> Rate {
        if threads <= 1 {
            return one;
        }
        if threads >= self.host.threads {
            return all;
        }
        let factor = threads as f64;
        let scaled = Rate {
            median: one.median * factor,
            ci: Interval { lo: one.ci.lo * factor, hi: one.ci.hi * factor, ..one.ci },
            best: one.best * factor,
            n: one.n,
        };
        if scaled.median < all.median { scaled } else { all }
    }
}

/// How one level is measured.
struct LevelPlan {
    name: String,
    capacity: Option<u64>,
    /// Bytes walked over by a thread that is alone, and by each of many.
    one: u64,
    each: u64,
    /// Memory is walked on from where the last sample stopped, over this many times the bytes of a sample.
    slices: u64,
}

impl LevelPlan {
    fn bytes(&self, all_threads: bool) -> usize {
        let bytes = if all_threads { self.each } else { self.one };
        (bytes as usize / bandwidth::STEP).max(1) * bandwidth::STEP
    }

    fn total(&self, all_threads: bool) -> usize {
        self.bytes(all_threads) * self.slices as usize
    }

    fn task(&self, kind: Traffic, all_threads: bool) -> Task {
        let (bytes, total) = (self.bytes(all_threads), self.total(all_threads));
        Task { load: Load::Traffic { kind, bytes, total }, all_threads }
    }
}

/// A cache is measured with a working set of half its capacity (it must hold, and the level before must not hold it), and
/// memory with four times the last cache's.
fn level_plans(host: &Host) -> Vec<LevelPlan> {
    let threads = host.threads.max(1) as u64;
    let mut plans = Vec::new();
    let mut inner = 0;
    for cache in &host.caches {
        let all = host.capacity(cache, host.threads);
        // Sixteen times the level before is beyond its reach; more only takes time.
        let most = if inner == 0 { u64::MAX } else { inner * 16 };
        let (one, each) = ((cache.bytes / 2).min(most), (all / threads / 2).min(most));
        plans.push(LevelPlan {
            name: format!("L{}", cache.level),
            capacity: Some(cache.bytes),
            one,
            each,
            slices: 1,
        });
        inner = cache.bytes;
    }
    const SLICES: u64 = 4;
    let last = host.caches.last().map_or(0, |c| host.capacity(c, host.threads));
    let affordable = topology::available_memory().map_or(1 << 28, |bytes| bytes / 8);
    let total = (last * 4).clamp(64 << 20, 1 << 30).min(affordable.max(16 << 20));
    let (one, each) = (total / SLICES, total / SLICES / threads);
    plans.push(LevelPlan { name: "memory".to_owned(), capacity: None, one, each, slices: SLICES });
    plans
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_ceilings_of_a_sane_shape() {
        let c = Ceilings::measure(Duration::ZERO).expect("buffers");
        let f32_one = c.peak(PeakClass::F32, 1).expect("every machine multiplies f32");
        assert!(f32_one.median > 1e8 && f32_one.ci.lo <= f32_one.median && f32_one.median <= f32_one.best);
        assert_eq!(c.levels.len(), c.host.caches.len() + 1);
        for level in &c.levels {
            for rate in [level.read_one, level.read_all, level.copy_one, level.copy_all] {
                assert!(rate.median > 1e7 && rate.n >= 3, "{level:?}");
            }
        }
        let text = serde_json::to_string(&c).expect("serialises");
        assert_eq!(serde_json::from_str::<Ceilings>(&text).expect("parses"), c);
    }

    #[test]
    fn a_busy_machine_is_noticed() {
        let rate = |half_width: f64| Rate {
            median: 1e9,
            ci: Interval { lo: 1e9 * (1.0 - half_width), hi: 1e9 * (1.0 + half_width), coverage: 0.95 },
            best: 1.1e9,
            n: 9,
        };
        let ceilings = |half_width| Ceilings {
            host: Host::detect(),
            measured_at: 0,
            peaks: vec![Peak {
                class: PeakClass::F32,
                isa: String::new(),
                one: rate(0.01),
                all: rate(half_width),
            }],
            levels: Vec::new(),
        };
        assert_eq!(ceilings(0.1).disturbance(), None);
        let text = "f32 arithmetic on all threads varied by ±40 %";
        assert_eq!(ceilings(0.4).disturbance().as_deref(), Some(text));
        let mut halved = ceilings(0.05);
        halved.peaks[0].all.best = 2e9;
        assert!(halved.disturbance().is_some_and(|d| d.contains("2.0 times as fast at best")));
    }

    #[test]
    fn rates_grow_with_threads_up_to_those_of_all() {
        let flat = |median| Rate {
            median,
            ci: Interval { lo: median, hi: median, coverage: 0.95 },
            best: median,
            n: 9,
        };
        let mut host = Host::detect();
        host.threads = 8;
        let c = Ceilings { host, measured_at: 0, peaks: Vec::new(), levels: Vec::new() };
        let on = |threads| c.on(flat(10.0), flat(50.0), threads).median;
        assert_eq!([on(1), on(2), on(4), on(6), on(8), on(99)], [10.0, 20.0, 40.0, 50.0, 50.0, 50.0]);
    }
}
