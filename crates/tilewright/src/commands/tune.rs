//! `tune`: the fastest right config of a problem.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use tilewright::diag::Result;
use tilewright::kernels::{Family, Problem};
use tilewright::run::tools;
use tilewright::tune::{self, Entry, Report, Request, Stage, tune};
use tilewright::{CPU, Session, brief, memory};

use super::{Ended, worker};
use crate::cli::{Global, TuneArgs};
use crate::render::{Align, Bar, Output, Spinner, Style, Table, units, wrap};

/// Screened configs in the table, the fastest.
const MOST_SCREENED: usize = 4;

#[derive(Serialize)]
struct Whole<'a> {
    kernel: &'a str,
    problem: BTreeMap<String, String>,
    target: &'a str,
    features: String,
    threads: usize,
    #[serde(flatten)]
    report: &'a Report,
}

/// Tunes the problem that was asked for.
pub fn run(args: &TuneArgs, global: &Global, output: Output) -> Result<Ended> {
    let (family, problem) = args.problem.resolve()?;
    let session = global.session(args.batch_invariant)?;
    let report = perform(family, &problem, &session, args.budget, global.seed, output)?;
    let whole = Whole {
        kernel: family.name(),
        problem: problem.to_map(),
        target: CPU,
        features: session.features.to_string(),
        threads: session.threads,
        report: &report,
    };
    output.result(&whole, || text(&brief(family, &problem), &report, output))?;
    Ok(Ended::Held)
}

/// Tunes, showing progress.
///
/// # Errors
/// Those of [`tune()`], `cpu/feature-absent`, `memory/too-large`.
pub fn perform(
    family: &dyn Family,
    problem: &Problem,
    session: &Session,
    budget: Duration,
    seed: u64,
    output: Output,
) -> Result<Report> {
    session.require_runnable()?;
    // Missing tools are told of before anything is measured.
    tools::clang()?;
    let store = session.store()?;
    let default = family.default_config(problem, &session.machine);
    memory::require(&family.build(problem, &default)?, 2.0, &brief(family, problem))?;
    let (ceilings, _) = {
        let _spinner = Spinner::new("measuring this machine's ceilings", output.quiet);
        session.ceilings()?
    };
    let request = Request {
        family,
        problem,
        machine: &session.machine,
        ceilings: &ceilings,
        features: session.features,
        threads: session.threads,
        seed,
        budget,
        batch_invariant: session.batch_invariant(),
        worker: &worker::TUNE,
        patience: Request::PATIENCE,
    };
    let mut bar = Bar::new("ranking configs", output.quiet);
    let report = tune(&request, &store, &mut |p: &tune::Progress<'_>| {
        let what = match p.stage {
            Stage::Ranking => "ranking configs",
            Stage::Screening => "trying configs",
            Stage::Confirming => "comparing the best",
        };
        let best = p.best.map_or(String::new(), |(_, seconds)| format!(", best {}", units::seconds(seconds)));
        bar.say(&format!("{what} {}/{}{best}", p.decided, p.of));
        bar.at(p.fraction);
    })?;
    Ok(report)
}

/// The report for people.
pub fn text(name: &str, report: &Report, output: Output) -> String {
    let paint = output.paint();
    let mut out = output.heading(name);
    let heads = [
        ("  config", Align::Left),
        ("time", Align::Right),
        ("over default's", Align::Right),
        ("estimate", Align::Right),
        ("", Align::Left),
    ];
    let mut table = Table::new(&heads);
    let seconds = |s: Option<f64>| s.map_or("not measured".to_string(), units::seconds);
    let mut row = |entry: &Entry, what: &str| {
        table.row([
            format!("  {}", entry.config),
            seconds(entry.seconds),
            entry.relative.map_or(String::new(), |r| format!("{r:.2}")),
            entry.estimate.map_or(String::new(), units::seconds),
            what.to_string(),
        ]);
    };
    row(&report.best, "best");
    if report.default.config == report.best.config {
        out += &format!("  {}\n", paint.on(Style::Dim, "the default config is the best found"));
    } else {
        row(&report.default, "default");
    }
    let shown = [&report.best.config, &report.default.config];
    let (finalists, screened): (Vec<&Entry>, Vec<&Entry>) =
        report.measured.iter().filter(|e| !shown.contains(&&e.config)).partition(|e| e.finalist);
    finalists.iter().for_each(|e| row(e, "not shown to be faster"));
    screened.iter().take(MOST_SCREENED).for_each(|e| row(e, "screened: a few rounds"));
    out += &table.render(output.width(), paint);
    if screened.len() > MOST_SCREENED {
        out +=
            &format!("  {} slower ones are not shown; `--json` has them\n", screened.len() - MOST_SCREENED);
    }
    out += &wrap(
        "over default's: its time over the default's in the same rounds, below 1 is faster; times of different rounds do \
         not compare. The best of the screened meet the default again in many rounds, and one replaces it where it is \
         shown to be faster beyond noise.",
        output.width().saturating_sub(2),
    )
    .iter()
    .map(|line| format!("  {}\n", paint.on(Style::Dim, line)))
    .collect::<String>();
    if let Some(speedup) = report.speedup.filter(|_| report.default.config != report.best.config) {
        out += &format!("  {speedup:.2} times as fast as the default\n");
    }
    let count = |outcome: &str| report.rejected.iter().filter(|r| r.outcome == outcome).count();
    let fates: Vec<String> = ["wrong", "crashed", "hung", "faulted", "rejected", "pruned"]
        .iter()
        .filter(|o| count(o) > 0)
        .map(|o| format!("{} {o}", count(o)))
        .collect();
    let fates = if fates.is_empty() { String::new() } else { format!("; {}", fates.join(", ")) };
    out += &format!(
        "  {} tried now, {} known from before, {} left for another run{fates}; {} of {}\n",
        report.tried,
        report.resumed,
        report.untried,
        units::seconds(report.used),
        units::seconds(report.budget),
    );
    for r in report.rejected.iter().filter(|r| ["wrong", "crashed", "hung", "faulted"].contains(&r.outcome)) {
        let first = r.reason.lines().next().unwrap_or_default();
        out += &format!("  {} {}: {first}\n", paint.on(Style::Bad, r.outcome), r.config);
    }
    for warning in &report.warnings {
        out += &format!("  {} {warning}\n", paint.on(Style::Warning, "warning:"));
    }
    out += "  Kept in the store: `bench`, `check` and callers of the library use it.\n";
    out
}
