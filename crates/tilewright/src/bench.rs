//! Times a kernel beside its peers, in one interleaved run, and holds it against the ceilings of the machine.

mod peers;
mod race;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use tilewright_check::{Cpu, check};
use tilewright_diag::{Diagnostic, Result};
use tilewright_kernels::{Config, Family, Problem};
use tilewright_measure::ceilings::{Ceilings, PeakClass};
use tilewright_measure::compare::{self, ratio};
use tilewright_measure::floor::{Floor, refuse_below};
use tilewright_measure::peers::Peer;
use tilewright_measure::stats::Interval;
use tilewright_measure::timing::{Plan, Progress, Series, Summary};
use tilewright_store as store;

use crate::choose::{Chosen, Source, brief, store_problem};
use crate::kernel::{CPU, Kernel};
use crate::session::Session;
use race::{Race, launch_seconds};

pub use peers::PEERS_HERE;

/// How a benchmark goes about it.
#[derive(Clone, Debug)]
pub struct BenchOptions {
    /// Peers to race, by name; those that are not here are reported as absent.
    pub peers: Vec<String>,
    /// Seconds that the timed run takes, about.
    pub seconds: f64,
    /// Decides data and order.
    pub seed: u64,
}

/// What a benchmark found. Seconds, bytes, FLOP.
#[derive(Clone, Debug, Serialize)]
pub struct BenchReport {
    /// The kernel family.
    pub kernel: &'static str,
    /// The problem, part by part.
    pub problem: BTreeMap<String, String>,
    /// The problem as a user would type it.
    #[serde(skip)]
    pub name: String,
    /// The target.
    pub target: &'static str,
    /// The CPU that the code was made for.
    pub features: String,
    /// The config that ran.
    pub config: Config,
    /// Why this config.
    pub config_source: Source,
    /// Threads that ran it.
    pub threads: usize,
    /// Median time of a launch.
    pub seconds: f64,
    /// 95 % confidence interval of the median.
    pub ci: Interval,
    /// Timed rounds.
    pub rounds: usize,
    /// Sets of operands that took turns.
    pub data_sets: usize,
    /// Calls inside one timed region; more than 1 where the clock cannot resolve a single call.
    pub inner_repeats: u64,
    /// The problem's necessary work; a multiply-add counts as two.
    pub flops: f64,
    /// Bytes of all inputs and outputs, each moved once.
    pub bytes: f64,
    /// Arithmetic rate over the fastest measured rate that could carry out the kernel's arithmetic.
    pub peak_fraction: f64,
    /// The arithmetic that `peak_fraction` is of.
    pub peak: Option<PeakClass>,
    /// Arithmetic rate over the measured rate of each kind of arithmetic that could carry it out.
    pub peak_fractions: BTreeMap<&'static str, f64>,
    /// Necessary bytes over time, over the measured bandwidth of the memory that they can lie in.
    pub bandwidth_fraction: f64,
    /// The furthest level of memory that `bandwidth_fraction` is of.
    pub bandwidth_level: String,
    /// The least time that the ceilings allow.
    pub floor_seconds: f64,
    /// Time of a launch of a kernel on 64 elements, from the Rust API.
    pub launch_seconds: Option<f64>,
    /// Peers in the same run, by name.
    pub peers: BTreeMap<String, PeerReport>,
    /// Peers that were asked for and did not run, each with the reason.
    pub absent: BTreeMap<String, String>,
    /// What casts doubt on these numbers, or kept them from being kept.
    pub warnings: Vec<String>,
}

/// One peer in the same run.
#[derive(Clone, Debug, Serialize)]
pub struct PeerReport {
    /// Median time of a call.
    pub seconds: f64,
    /// The peer's median seconds over ours: above 1, ours is faster.
    pub ratio: f64,
    /// 95 % confidence interval of the ratio, over whole rounds ([`ratio()`]); absent where they are too few.
    pub ratio_ci: Option<Interval>,
    /// Whether ours is faster or slower, beyond noise.
    pub verdict: compare::Verdict,
    /// The library's version.
    pub version: String,
    /// Which of its kernels ran, in its own words.
    pub kernel: String,
}

/// Benchmarks a problem with the config that was chosen for it, and keeps the result in the session's store.
///
/// The kernel is held against the reference in one case first. Call it before the program
/// starts threads where it names peers: their libraries are opened. `watch` hears how far the timed run is.
///
/// # Errors
/// `bench/unknown-peer`; `bench/wrong`, `bench/unwritten`, `bench/input-changed`, `bench/unsteady` for a kernel that is not
/// right; `measure/below-floor` for a time that no machine with these ceilings can reach; those of [`Kernel::new`], of a
/// launch, and of the store.
pub fn bench(
    session: &Session,
    family: &dyn Family,
    problem: &Problem,
    chosen: Chosen,
    options: &BenchOptions,
    watch: &mut dyn FnMut(Progress),
) -> Result<BenchReport> {
    let found = peers::find(&options.peers)?;
    // A store that cannot be used is known before anything is measured.
    let store = session.store()?;
    let kernel = Kernel::new(family, problem, chosen, session)?;
    refuse_wrong(session, family, problem, &kernel, options.seed)?;
    let (ceilings, _) = session.ceilings()?;
    let work = peers::work(family.name(), problem);
    let (able, absent) = peers::able(&found, &work);
    let race = Race {
        family,
        problem,
        kernel: &kernel,
        session,
        peers: &able,
        work: work.as_ref().ok(),
        seed: options.seed,
    };
    let plan = Plan { max_seconds: options.seconds, seed: options.seed, ..Plan::default() };
    let raced = race.run(&plan, watch)?;
    let [own, others @ ..] = raced.series.as_slice() else { return Err(no_rounds()) };
    let own_time = own_summary(own)?;
    // A machine that was busy when its ceilings were taken had lower ones than it has now.
    let doubted = own_time.median < floor(session, family, problem, &ceilings).seconds();
    let ceilings = if doubted { session.remeasured_ceilings()? } else { ceilings };
    let mut report = BenchReport::of(session, family, &kernel, problem, &own_time, &ceilings)?;
    report.data_sets = raced.sets;
    report.launch_seconds = launch_seconds(session)?;
    report.absent = absent;
    for ((peer, series), ran) in able.iter().zip(others).zip(raced.kernels) {
        report.add_peer(own, series, *peer, ran);
    }
    if let Some(why) = ceilings.disturbance() {
        report.warnings.push(format!(
            "the machine was busy when its ceilings were measured ({why}): fractions and floor are doubtful"
        ));
    }
    // A measurement that cannot be kept is a measurement all the same.
    if let Err(d) = store.put_bench(&record(&report, problem, &kernel)?) {
        report.warnings.push(format!("not kept in the store: {}", d.message));
    }
    Ok(report)
}

/// The least time that the ceilings allow a problem.
fn floor(session: &Session, family: &dyn Family, problem: &Problem, ceilings: &Ceilings) -> Floor {
    let work = family.work(problem);
    Floor::new(ceilings, work.flops, work.bytes, problem.dtype(), session.threads)
}

impl BenchReport {
    /// Our side of it, once the time is one that the machine can reach.
    fn of(
        session: &Session,
        family: &dyn Family,
        kernel: &Kernel,
        problem: &Problem,
        own: &Summary,
        ceilings: &Ceilings,
    ) -> Result<BenchReport> {
        let (work, dtype) = (family.work(problem), problem.dtype());
        let floor = floor(session, family, problem, ceilings);
        refuse_below(&floor, own.median)?;
        let rate = work.flops / own.median;
        let share =
            |class: &PeakClass| Some((class.name(), rate / ceilings.peak(*class, session.threads)?.median));
        Ok(BenchReport {
            kernel: family.name(),
            problem: problem.to_map(),
            name: brief(family, problem),
            target: CPU,
            features: session.features.to_string(),
            config: kernel.chosen.config.clone(),
            config_source: kernel.chosen.source.clone(),
            threads: session.threads,
            seconds: own.median,
            ci: own.ci,
            rounds: own.n,
            data_sets: 1,
            inner_repeats: own.inner_repeats,
            flops: work.flops,
            bytes: work.bytes,
            peak_fraction: rate / floor.peak_flops,
            peak: ceilings.best_peak(dtype, session.threads).map(|(class, _)| class),
            peak_fractions: PeakClass::of_operands(dtype).iter().filter_map(share).collect(),
            bandwidth_fraction: work.bytes / own.median / floor.bandwidth,
            bandwidth_level: floor.level.clone(),
            floor_seconds: floor.seconds(),
            launch_seconds: None,
            peers: BTreeMap::new(),
            absent: BTreeMap::new(),
            warnings: Vec::new(),
        })
    }

    fn add_peer(&mut self, own: &Series, other: &Series, peer: &dyn Peer, kernel: String) {
        let name = peer.name().to_string();
        let summary = match (&other.failure, other.summary()) {
            (Some(failure), _) => return drop(self.absent.insert(name, failure.message.clone())),
            (None, None) => return drop(self.absent.insert(name, "no round was recorded".to_string())),
            (None, Some(summary)) => summary,
        };
        let report = PeerReport {
            seconds: summary.median,
            ratio: summary.median / self.seconds,
            ratio_ci: ratio(other, own).map(|r| r.ci),
            verdict: compare::faster(own, other),
            version: peer.version().to_string(),
            kernel,
        };
        self.peers.insert(name, report);
    }
}

/// A time says nothing of a wrong kernel: the first case of a check comes first.
fn refuse_wrong(
    session: &Session,
    family: &dyn Family,
    problem: &Problem,
    kernel: &Kernel,
    seed: u64,
) -> Result<()> {
    let cpu = Cpu::new(session.features, session.threads)?;
    let (budget, shrink_budget) = (Duration::ZERO, Duration::ZERO);
    let options = tilewright_check::Options { seed, budget, shrink_budget, derived: 0, ..Default::default() };
    match check(family, problem, &kernel.chosen.config, &cpu, &options)?.failure {
        None => Ok(()),
        Some(failure) => {
            let message = format!("not timed, because it is wrong: {}", failure.message);
            Err(Diagnostic::verdict("bench/wrong", message)
                .help(format!("`tilewright check {}` says more", kernel.name)))
        }
    }
}

fn own_summary(series: &Series) -> Result<Summary> {
    match (&series.failure, series.summary()) {
        (Some(failure), _) => Err(failure.clone()),
        (None, Some(summary)) => Ok(summary),
        (None, None) => Err(no_rounds()),
    }
}

fn no_rounds() -> Box<Diagnostic> {
    Diagnostic::tool("bench/no-rounds", "no round was recorded")
}

fn record(report: &BenchReport, problem: &Problem, kernel: &Kernel) -> Result<store::BenchRecord> {
    let peer = |p: &PeerReport| store::Peer { seconds: p.seconds, ratio: p.ratio };
    Ok(store::BenchRecord {
        kernel: report.kernel.to_string(),
        problem: store_problem(problem)?,
        target: CPU.to_string(),
        config: report.config.0.clone(),
        seconds: report.seconds,
        ci: (report.ci.lo, report.ci.hi),
        flops: report.flops,
        bytes: report.bytes,
        peers: report.peers.iter().map(|(name, p)| (name.clone(), peer(p))).collect(),
        provenance: kernel.provenance().clone(),
    })
}
