//! The timing protocol: contestants take turns in one run, so that drift of the machine hits all of them alike.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde::Serialize;
use tilewright_diag::{Diagnostic, Result};

use crate::rng::Rng;
use crate::stats::{self, Interval};

/// One entry of a run: a name, an untimed preparation and what is timed.
pub struct Contestant<'a> {
    name: String,
    prepare: Prepare<'a>,
    body: Body<'a>,
}

type Prepare<'a> = Box<dyn FnMut(usize) -> Result<()> + 'a>;

enum Body<'a> {
    Here(Box<dyn FnMut(usize) -> Result<()> + 'a>),
    Elsewhere(Box<dyn FnMut(usize, f64) -> Result<Measurement> + 'a>),
}

/// One timed measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measurement {
    /// Seconds per call.
    pub seconds: f64,
    /// Calls inside the timed region.
    pub inner_repeats: u64,
}

impl<'a> Contestant<'a> {
    /// A contestant whose `run` is timed here. `run` receives the index of the repeat (warm-up repeats included), to
    /// pick that repeat's buffers; a measurement that the clock cannot resolve calls it again with the same index.
    pub fn new(name: impl Into<String>, run: impl FnMut(usize) -> Result<()> + 'a) -> Self {
        Contestant { name: name.into(), prepare: Box::new(|_| Ok(())), body: Body::Here(Box::new(run)) }
    }

    /// A contestant that times itself, such as one in another process. `measure(repeat, min_seconds)` repeats inside
    /// its own timed region until that lasts `min_seconds`.
    pub fn self_timed(
        name: impl Into<String>,
        measure: impl FnMut(usize, f64) -> Result<Measurement> + 'a,
    ) -> Self {
        Contestant {
            name: name.into(),
            prepare: Box::new(|_| Ok(())),
            body: Body::Elsewhere(Box::new(measure)),
        }
    }

    /// Runs `prepare` before each measurement, untimed: fresh data, a poisoned output.
    pub fn prepared_by(mut self, prepare: impl FnMut(usize) -> Result<()> + 'a) -> Self {
        self.prepare = Box::new(prepare);
        self
    }

    /// The name under which its series is reported.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// How a run goes.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Unrecorded rounds first; cut short once they took a quarter of `max_seconds`.
    pub warmup_rounds: usize,
    /// Rounds that are recorded whatever they take.
    pub min_rounds: usize,
    /// Rounds after which the run ends.
    pub max_rounds: usize,
    /// No round starts later than this many seconds into the run, once `min_rounds` are done.
    pub max_seconds: f64,
    /// A measurement lasts at least this many ticks of the clock; a shorter one is repeated inside the timed region.
    pub min_ticks: u64,
    /// Busy pause before each measurement, in which the worker threads of the one before stop spinning for work.
    pub settle: Duration,
    /// Decides the order of contestants in each round.
    pub seed: u64,
}

impl Default for Plan {
    fn default() -> Self {
        Plan {
            warmup_rounds: 2,
            min_rounds: 11,
            max_rounds: 101,
            max_seconds: 5.0,
            min_ticks: 1000,
            settle: Duration::from_millis(1),
            seed: 1,
        }
    }
}

/// What one contestant did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// The contestant's name.
    pub name: String,
    /// Seconds per call, one for each round.
    pub seconds: Vec<f64>,
    /// The most calls that one timed region held; more than 1 says that the clock could not resolve a single call.
    pub inner_repeats: u64,
    /// Why the series ended early: the contestant reported a failure and took no further turn.
    pub failure: Option<Box<Diagnostic>>,
}

/// A series in four numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The contestant's name.
    pub name: String,
    /// Median seconds per call.
    pub median: f64,
    /// 95 % order-statistic confidence interval of the median, in seconds.
    pub ci: Interval,
    /// Rounds.
    pub n: usize,
    /// Median absolute deviation, in seconds.
    pub mad: f64,
    /// Calls inside one timed region.
    pub inner_repeats: u64,
}

impl Series {
    /// The series in four numbers; `None` when no round was recorded.
    pub fn summary(&self) -> Option<Summary> {
        (!self.seconds.is_empty()).then(|| Summary {
            name: self.name.clone(),
            median: stats::median(&self.seconds),
            ci: stats::median_interval(&self.seconds, 0.95),
            n: self.seconds.len(),
            mad: stats::mad(&self.seconds),
            inner_repeats: self.inner_repeats,
        })
    }
}

/// Where a run stands, for a progress bar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Recorded rounds so far.
    pub rounds: usize,
    /// Between 0 and 1.
    pub fraction: f64,
}

/// Runs the contestants interleaved, in a seeded random order each round, and returns their series in the order given.
/// One that fails takes no further turn; the others go on.
pub fn interleave(contestants: &mut [Contestant], plan: &Plan) -> Vec<Series> {
    interleave_watched(contestants, plan, &mut |_| {})
}

/// [`interleave`], telling `watch` where the run stands after each round.
pub fn interleave_watched(
    contestants: &mut [Contestant],
    plan: &Plan,
    watch: &mut dyn FnMut(Progress),
) -> Vec<Series> {
    let start = Instant::now();
    run(contestants, plan, &mut || start.elapsed().as_secs_f64(), clock_tick(), watch)
}

/// The smallest step of the monotonic clock that a program can see, in seconds, the cost of asking included. Measured
/// once for each process.
pub fn clock_tick() -> f64 {
    static TICK: OnceLock<f64> = OnceLock::new();
    *TICK.get_or_init(|| {
        let smallest_step = |_| {
            let start = Instant::now();
            loop {
                let step = start.elapsed();
                if !step.is_zero() {
                    break step.as_secs_f64();
                }
            }
        };
        // A coarse clock (a tick of milliseconds on some virtual machines) must not stall the first measurement.
        let deadline = Instant::now() + Duration::from_millis(50);
        let steps = (0..200).take_while(|&i| i < 3 || Instant::now() < deadline).map(smallest_step);
        steps.fold(f64::INFINITY, f64::min)
    })
}

fn run(
    contestants: &mut [Contestant],
    plan: &Plan,
    now: &mut dyn FnMut() -> f64,
    tick: f64,
    watch: &mut dyn FnMut(Progress),
) -> Vec<Series> {
    let mut series: Vec<Series> = contestants
        .iter()
        .map(|c| Series { name: c.name.clone(), seconds: Vec::new(), inner_repeats: 1, failure: None })
        .collect();
    let mut rng = Rng::new(plan.seed);
    let mut order: Vec<usize> = (0..contestants.len()).collect();
    let min_seconds = plan.min_ticks as f64 * tick;
    let start = now();
    let mut warm = 0;
    while warm < plan.warmup_rounds && now() - start <= plan.max_seconds / 4.0 {
        for (contestant, series) in contestants.iter_mut().zip(&mut series) {
            turn(contestant, series, warm, plan, min_seconds, now, false);
        }
        warm += 1;
    }
    for round in 0..plan.max_rounds {
        let spent = now() - start;
        if round >= plan.min_rounds && spent >= plan.max_seconds {
            break;
        }
        rng.shuffle(&mut order);
        for &i in &order {
            turn(&mut contestants[i], &mut series[i], warm + round, plan, min_seconds, now, true);
        }
        let by_rounds = (round + 1) as f64 / plan.max_rounds as f64;
        let by_time =
            ((now() - start) / plan.max_seconds).min((round + 1) as f64 / plan.min_rounds.max(1) as f64);
        watch(Progress { rounds: round + 1, fraction: by_rounds.max(by_time).min(1.0) });
    }
    series
}

/// One contestant's measurement of one round.
fn turn(
    contestant: &mut Contestant,
    series: &mut Series,
    repeat: usize,
    plan: &Plan,
    min_seconds: f64,
    now: &mut dyn FnMut() -> f64,
    record: bool,
) {
    if series.failure.is_some() {
        return;
    }
    let outcome = (contestant.prepare)(repeat).and_then(|()| {
        pause(plan.settle);
        match &mut contestant.body {
            Body::Here(call) => time(call.as_mut(), repeat, min_seconds, series.inner_repeats, now),
            Body::Elsewhere(measure) => measure(repeat, min_seconds),
        }
    });
    match outcome {
        Ok(m) => {
            series.inner_repeats = series.inner_repeats.max(m.inner_repeats);
            if record {
                series.seconds.push(m.seconds);
            }
        }
        Err(failure) => series.failure = Some(failure),
    }
}

/// Times `call`, inside one timed region `inner` times at least, and more until the region lasts `min_seconds`.
fn time(
    call: &mut dyn FnMut(usize) -> Result<()>,
    repeat: usize,
    min_seconds: f64,
    mut inner: u64,
    now: &mut dyn FnMut() -> f64,
) -> Result<Measurement> {
    loop {
        let start = now();
        for _ in 0..inner {
            call(repeat)?;
        }
        let elapsed = now() - start;
        if elapsed >= min_seconds || inner > 1 << 40 {
            return Ok(Measurement { seconds: elapsed / inner as f64, inner_repeats: inner });
        }
        // A quarter more than the estimate, so that noise rarely asks for another try; at most tenfold, because an
        // estimate from an unresolved region is worth little.
        let wanted = if elapsed > 0.0 { inner as f64 * min_seconds / elapsed * 1.25 } else { f64::INFINITY };
        inner = (wanted.min(inner as f64 * 10.0).ceil() as u64).max(inner + 1);
    }
}

/// Spins, because sleeping would let the core slow down.
fn pause(settle: Duration) {
    let start = Instant::now();
    while start.elapsed() < settle {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use super::*;

    fn plan() -> Plan {
        Plan {
            warmup_rounds: 1,
            min_rounds: 5,
            max_rounds: 8,
            max_seconds: 1e9,
            settle: Duration::ZERO,
            ..Plan::default()
        }
    }

    /// A contestant that takes `cost` seconds of a simulated time.
    fn costing<'a>(name: &str, time: &'a Cell<f64>, cost: f64) -> Contestant<'a> {
        Contestant::new(name, move |_| {
            time.set(time.get() + cost);
            Ok(())
        })
    }

    #[test]
    fn a_call_shorter_than_the_tick_is_repeated_until_the_clock_resolves_it() {
        let time = Cell::new(0.0);
        let tick: f64 = 1e-3;
        let mut coarse = || (time.get() / tick).floor() * tick;
        let mut contestants = [costing("short", &time, 1e-5), costing("long", &time, 2.0)];
        let series = run(&mut contestants, &plan(), &mut coarse, tick, &mut |_| {});
        // Single calls would read as 0 or as a whole tick.
        assert!(series[0].inner_repeats >= 100_000, "{}", series[0].inner_repeats);
        for s in &series[0].seconds {
            assert!((s / 1e-5 - 1.0).abs() < 2e-3, "{s}");
        }
        assert_eq!(series[1].inner_repeats, 1);
        assert_eq!(series[1].seconds.len(), 8);
    }

    #[test]
    fn contestants_take_turns_and_the_seed_decides_the_order() {
        let order = |seed| {
            let log = RefCell::new(Vec::new());
            let time = Cell::new(0.0);
            let entry = |name: &'static str| {
                let (log, time) = (&log, &time);
                Contestant::new(name, move |repeat| {
                    log.borrow_mut().push((repeat, name));
                    time.set(time.get() + 1.0);
                    Ok(())
                })
            };
            let mut contestants = [entry("a"), entry("b"), entry("c")];
            run(&mut contestants, &Plan { seed, ..plan() }, &mut || time.get(), 1e-9, &mut |_| {});
            drop(contestants);
            log.into_inner()
        };
        let log = order(7);
        for (round, turns) in log.chunks(3).enumerate() {
            let mut names: Vec<_> = turns.iter().map(|t| t.1).collect();
            names.sort_unstable();
            assert_eq!(names, ["a", "b", "c"]);
            assert!(turns.iter().all(|t| t.0 == round), "the repeat index counts the warm-up too");
        }
        assert_eq!(log, order(7));
        assert_ne!(log, order(8));
    }

    #[test]
    fn preparation_is_not_timed_and_precedes_every_measurement() {
        let time = Cell::new(0.0);
        let prepared = RefCell::new(Vec::new());
        let mut contestants = [costing("a", &time, 1.0).prepared_by(|repeat| {
            time.set(time.get() + 100.0);
            prepared.borrow_mut().push(repeat);
            Ok(())
        })];
        let series = run(&mut contestants, &plan(), &mut || time.get(), 1e-9, &mut |_| {});
        assert!(series[0].seconds.iter().all(|&s| s == 1.0));
        drop(contestants);
        assert_eq!(prepared.into_inner(), (0..9).collect::<Vec<_>>());
    }

    #[test]
    fn the_budget_ends_the_run_but_not_before_the_least_rounds() {
        let time = Cell::new(0.0);
        let run_for = |max_seconds| {
            let plan = Plan { max_seconds, max_rounds: 1000, ..plan() };
            run(&mut [costing("a", &time, 1.0)], &plan, &mut || time.get(), 1e-9, &mut |_| {})[0]
                .seconds
                .len()
        };
        assert_eq!(run_for(0.0), 5);
        assert_eq!(run_for(40.0), 39);
    }

    #[test]
    fn a_failing_contestant_stops_alone() {
        let time = Cell::new(0.0);
        let failing = Contestant::new("bad", |repeat| {
            time.set(time.get() + 1.0);
            if repeat < 3 { Ok(()) } else { Err(Diagnostic::tool("peer/died", "gone")) }
        });
        let mut contestants = [failing, costing("good", &time, 1.0)];
        let series = run(&mut contestants, &plan(), &mut || time.get(), 1e-9, &mut |_| {});
        assert_eq!(series[0].seconds.len(), 2);
        assert_eq!(series[0].failure.as_ref().map(|d| d.code), Some("peer/died"));
        assert_eq!(series[1].seconds.len(), 8);
    }

    #[test]
    fn the_real_clock_has_a_tick_and_resolves_an_empty_call() {
        let tick = clock_tick();
        assert!(tick > 0.0 && tick < 0.05, "{tick}");
        let mut contestants = [Contestant::new("empty", |_| Ok(()))];
        let plan = Plan { max_rounds: 5, ..plan() };
        let series = &interleave(&mut contestants, &plan)[0];
        assert!(series.inner_repeats > 1);
        assert!(series.seconds.iter().all(|&s| s > 0.0));
        let summary = series.summary().expect("rounds were recorded");
        assert!(summary.ci.lo <= summary.median && summary.median <= summary.ci.hi);
    }
}
