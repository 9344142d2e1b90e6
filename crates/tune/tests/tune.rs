//! Runs without the test harness, so that this executable can be its own child: as a tuner's worker, and as a tuner that
//! is killed.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test without the harness is still a test")]

mod family;

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use tilewright_diag::Result;
use tilewright_kernels::{Config, Family, Machine, Problem};
use tilewright_measure::ceilings::{Cache, Ceilings, Host, Level, Peak, PeakClass, Rate};
use tilewright_measure::stats::Interval;
use tilewright_run::isolate::serve;
use tilewright_run::testing::clang_or_skip;
use tilewright_store::{Outcome, Query, Store, TuneRecord};
use tilewright_target_cpu::features::CpuFeatures;
use tilewright_tune::{Report, Request, tune, winners, work_on};

use family::{Kind, SumRows, config, in_child, set_space};

const WORKER: [&str; 1] = ["tuner-worker"];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tuner-worker"] => return worker(),
        ["tuner", store] => {
            use Kind::*;
            set_space(&[Right, Right8, Right16, Right32, DropsTail, Hangs]);
            run(&Store::open(Some(store)).unwrap(), Ask { patience: 300.0, ..Ask::default() }).unwrap();
            return ExitCode::SUCCESS;
        }
        _ => {}
    }
    // What test runners ask of an executable before they run it.
    if args.iter().any(|a| a == "--list") {
        TESTS.iter().for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    if clang_or_skip().is_none() {
        return ExitCode::SUCCESS;
    }
    let wanted = args.iter().find(|a| !a.starts_with('-'));
    for (name, test) in TESTS.iter().filter(|(name, _)| wanted.is_none_or(|w| name.contains(w.as_str()))) {
        let start = Instant::now();
        let folder = tempfile::tempdir().unwrap();
        test(folder.path());
        println!("test {name} ... ok ({:.1} s)", start.elapsed().as_secs_f64());
    }
    ExitCode::SUCCESS
}

type Test = fn(&Path);

static TESTS: &[(&str, Test)] = &[
    ("bad_candidates_become_records_and_the_best_right_one_wins", bad_candidates),
    ("a_second_run_measures_only_what_is_new", resume),
    ("a_killed_run_loses_nothing_that_it_recorded", killed),
    ("batch_invariance_is_obeyed_and_asked_for_later", invariance),
    ("times_below_the_floor_are_refused", floor),
    ("a_budget_of_nothing_still_measures_the_default", no_budget),
];

fn worker() -> ExitCode {
    let served = serve(|job| {
        in_child(job["task"]["time"].is_object());
        work_on(job, &|_| Ok(&SumRows))
    });
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(d) => {
            eprintln!("{d}");
            ExitCode::from(2)
        }
    }
}

struct Ask {
    budget: f64,
    patience: f64,
    batch_invariant: bool,
    peak: f64,
}

impl Default for Ask {
    fn default() -> Ask {
        Ask { budget: 120.0, patience: 20.0, batch_invariant: false, peak: 1e15 }
    }
}

fn run(store: &Store, ask: Ask) -> Result<Report> {
    let problem = Problem::parse("sum_rows", SumRows.keys(), &["rows=64", "cols=256"])?;
    let machine = Machine { lanes: 4, l1_bytes: 32 << 10, l2_bytes: 1 << 20, l3_bytes: 8 << 20, cores: 1 };
    let request = Request {
        family: &SumRows,
        problem: &problem,
        machine: &machine,
        ceilings: &ceilings(ask.peak),
        features: CpuFeatures::detect(),
        threads: 1,
        seed: 1,
        budget: Duration::from_secs_f64(ask.budget),
        batch_invariant: ask.batch_invariant,
        worker: &WORKER,
        patience: Duration::from_secs_f64(ask.patience),
    };
    let mut last = 0.0;
    let report = tune(&request, store, &mut |p| {
        assert!(p.fraction >= last && p.fraction <= 1.0 && p.decided <= p.of);
        last = p.fraction;
    })?;
    assert!(report.best.seconds.is_some_and(|s| s > 0.0));
    Ok(report)
}

/// A machine that reaches `peak` operations and bytes per second: so fast that no time is below its floor, or so slow that
/// every time is.
fn ceilings(peak: f64) -> Ceilings {
    let ci = Interval { lo: peak, hi: peak, coverage: 0.95 };
    let rate = Rate { median: peak, ci, best: peak, n: 9 };
    let level = Level {
        name: "memory".into(),
        capacity: None,
        working_set: 0,
        read_one: rate,
        read_all: rate,
        copy_one: rate,
        copy_all: rate,
    };
    let host = Host {
        processor: "a test's".into(),
        threads: 1,
        caches: vec![Cache { level: 1, bytes: 32 << 10, shared_by: 1 }],
        caches_assumed: false,
        features: Vec::new(),
    };
    let peaks = vec![Peak { class: PeakClass::F32, isa: String::new(), one: rate, all: rate }];
    Ceilings { host, measured_at: 0, peaks, levels: vec![level.clone(), level] }
}

fn open(folder: &Path) -> Store {
    Store::open(folder.join("store.db").to_str()).unwrap()
}

fn records(store: &Store) -> Vec<TuneRecord> {
    store.tunes(&Query::new()).unwrap().value.into_iter().map(|s| s.record).collect()
}

fn reason(report: &Report, kind: Kind) -> (&'static str, String) {
    let found = report.rejected.iter().find(|r| r.config == config(kind));
    found.map(|r| (r.outcome, r.reason.clone())).unwrap_or_else(|| panic!("{kind:?} was kept: {report:#?}"))
}

fn bad_candidates(folder: &Path) {
    use Kind::*;
    set_space(&[Right, Crashes, Hangs, DropsTail, CrashesLater, Refused, Right8, Twin]);
    let store = open(folder);
    let report = run(&store, Ask { patience: 3.0, ..Ask::default() }).unwrap();
    assert!([config(Right), config(Right8)].contains(&report.best.config), "{report:#?}");
    assert_eq!(report.default.config, config(Right));
    assert_eq!((report.measured.len(), report.untried), (2, 0), "{report:#?}");
    assert!(report.best.estimate.is_some_and(|e| e > 0.0) && report.speedup.is_some_and(|s| s > 0.0));
    let (outcome, why) = reason(&report, Crashes);
    assert!(outcome == "crashed" && why.contains("SIGSEGV"), "{why}");
    assert_eq!(reason(&report, Hangs).0, "hung");
    let (outcome, why) = reason(&report, DropsTail);
    assert!(outcome == "wrong" && why.contains("cols=") && !why.contains("cols=256"), "{why}");
    assert_eq!(reason(&report, CrashesLater).0, "crashed");
    let (outcome, why) = reason(&report, Refused);
    assert!(outcome == "rejected" && why.contains("test/refused"), "{why}");
    assert_eq!(reason(&report, Pruned), ("pruned", "a reason".to_string()));
    let (outcome, why) = reason(&report, Twin);
    assert!(outcome == "pruned" && why.contains("the same code as bc=64,br=4,kind=1"), "{why}");

    let all = records(&store);
    let of = |kind| all.iter().filter(move |r| r.config == config(kind).0);
    assert!(of(Crashes).all(|r| matches!(r.outcome, Outcome::Crashed { .. }) && !r.checked));
    assert!(of(Hangs).all(|r| r.outcome == Outcome::Hung));
    assert!(of(DropsTail).all(|r| matches!(r.outcome, Outcome::Wrong { .. }) && r.seconds.is_none()));
    assert_eq!(of(Pruned).count(), 1);
    for kind in [Crashes, Hangs, DropsTail, CrashesLater, Refused] {
        assert_eq!(of(kind).count(), 1, "{kind:?}");
    }
    for r in of(Right).chain(of(Right8)) {
        let p = &r.provenance;
        assert!(r.checked && r.outcome == Outcome::Measured);
        assert!(p.ir_hash.len() == 64 && p.code_hash.len() == 64 && p.compiler.contains("clang"), "{p:?}");
        assert!(p.versions.contains_key("tilewright") && p.versions.contains_key("features"), "{p:?}");
        assert!(p.machine.contains("a test's") && p.threads == 1 && p.created > 0, "{p:?}");
    }
    let query = winners(Query::new().kernel("sum_rows"), 1, &CpuFeatures::detect().to_string());
    let best = store.best(&query).unwrap().value.unwrap();
    assert_eq!(best.record.config, report.best.config.0);
    assert_eq!(Some(best.record.seconds), Some(report.best.seconds));
}

fn resume(folder: &Path) {
    use Kind::*;
    let store = open(folder);
    set_space(&[Right, Right8, DropsTail]);
    let first = run(&store, Ask::default()).unwrap();
    assert_eq!((first.tried, first.resumed), (3, 0));
    let before = records(&store).len();

    let again = run(&store, Ask::default()).unwrap();
    assert_eq!((again.tried, again.resumed), (0, 3), "{again:#?}");
    assert_eq!(again.best.config, first.best.config);
    assert_eq!(again.best.seconds, first.best.seconds, "nothing is measured where nothing is new");
    assert_eq!(records(&store).len(), before);
    assert_eq!(reason(&again, DropsTail).0, "wrong");

    set_space(&[Right, Right8, Right16, DropsTail]);
    let more = run(&store, Ask::default()).unwrap();
    assert_eq!((more.tried, more.resumed), (1, 3), "{more:#?}");
    let new = records(&store)[before..].iter().filter(|r| r.config == config(DropsTail).0).count();
    assert_eq!(new, 0);
}

fn killed(folder: &Path) {
    let path = folder.join("store.db");
    let mut tuner = Command::new(std::env::current_exe().unwrap()).arg("tuner").arg(&path).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(120);
    let measured = |store: &Store| records(store).iter().filter(|r| r.outcome == Outcome::Measured).count();
    while !path.exists() || measured(&open(folder)) < 3 {
        assert!(
            Instant::now() < deadline && tuner.try_wait().unwrap().is_none(),
            "the tuner ended by itself"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    // It is checking the candidate that hangs, or soon will.
    tuner.kill().unwrap();
    tuner.wait().unwrap();
    let store = open(folder);
    let survived = records(&store);
    let kept = measured(&store);
    assert!(kept >= 3, "{survived:#?}");
    set_space(&[Kind::Right, Kind::Right8, Kind::Right16, Kind::Right32]);
    let report = run(&store, Ask::default()).unwrap();
    assert!(report.resumed >= kept && report.resumed + report.tried == 4, "{report:#?}");
    assert_eq!(records(&store)[..survived.len()], survived);
}

fn invariance(folder: &Path) {
    use Kind::*;
    let store = open(folder);
    set_space(&[Right, Variant, Right8]);
    let free = run(&store, Ask::default()).unwrap();
    assert_eq!(free.measured.len(), 3, "a variant config is right: {free:#?}");

    let asked = || Ask { batch_invariant: true, ..Ask::default() };
    let strict = run(&store, asked()).unwrap();
    assert_eq!(strict.tried, 3, "rows of known configs are checked now, and only that: {strict:#?}");
    let (outcome, why) = reason(&strict, Variant);
    assert!(outcome == "rejected" && why.contains("batch"), "{why}");
    assert_ne!(strict.best.config, config(Variant));
    let proven = records(&store).into_iter().filter(|r| r.batch_invariant == Some(true));
    assert!(proven.clone().count() >= 2 && proven.into_iter().all(|r| r.config != config(Variant).0));
    let again = run(&store, asked()).unwrap();
    assert_eq!((again.tried, again.resumed), (0, 3), "{again:#?}");

    set_space(&[Right, Variant, Right8]);
    let free = run(&store, Ask::default()).unwrap();
    assert_eq!((free.tried, free.measured.len()), (0, 3), "{free:#?}");

    // A default that is variant is no choice either, though it stays the yardstick of what was measured before.
    set_space(&[Variant]);
    let d = run(&store, asked()).unwrap_err();
    assert_eq!((d.code, d.class.exit_status()), ("tune/none-right", 1));
    assert!(d.notes.iter().any(|n| n.contains("batch")), "{d}");
}

fn floor(folder: &Path) {
    set_space(&[Kind::Right]);
    let d = run(&open(folder), Ask { peak: 1.0, ..Ask::default() }).unwrap_err();
    assert_eq!(d.code, "tune/none-right");
    assert!(d.notes.iter().any(|n| n.contains("floor")), "{d}");
}

fn no_budget(folder: &Path) {
    set_space(&[Kind::Right, Kind::Right8, Kind::Right16]);
    let report = run(&open(folder), Ask { budget: 0.0, ..Ask::default() }).unwrap();
    assert_eq!(report.best.config, config(Kind::Right));
    assert_eq!((report.tried, report.untried), (1, 2));
    let Config(entries) = &report.best.config;
    assert!(entries.contains_key("br"));
}
