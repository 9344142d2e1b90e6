//! `bench`: how fast a kernel is, beside its peers and below the machine's ceilings.

use std::time::Duration;

use tilewright::diag::{Diagnostic, Result};
use tilewright::kernels::{Family, Problem};
use tilewright::measure::compare::Verdict;
use tilewright::measure::peers;
use tilewright::run::tools;
use tilewright::{BenchOptions, BenchReport, CPU, Session, Source, bench, brief};

use super::Ended;
use super::supervised::{self, Outcome};
use crate::cli::{BenchArgs, Global};
use crate::render::{Align, Bar, Output, Style, Table, units};

/// Benches the problem that was asked for.
pub fn run(args: &BenchArgs, global: &Global, output: Output) -> Result<Ended> {
    match supervised::run(args.budget, || benched(args, global, output))? {
        Outcome::Ended(ended) => Ok(ended),
        Outcome::Died(why) => {
            let (family, problem) = args.problem.resolve()?;
            let name = brief(family, &problem);
            Err(Diagnostic::verdict("bench/died", format!("`{name}` is not timed: {why}"))
                .help(format!("`tilewright check {name}` says more")))
        }
    }
}

fn benched(args: &BenchArgs, global: &Global, output: Output) -> Result<Ended> {
    let (family, problem) = args.problem.resolve()?;
    let session = global.session(args.batch_invariant)?;
    let peers: Vec<&str> = match args.vs.as_slice() {
        [none] if none == "none" => Vec::new(),
        [all] if all == "all" => peers::NAMES.to_vec(),
        names => match names.iter().find(|n| ["all", "none"].contains(&n.as_str())) {
            Some(word) => {
                return Err(Diagnostic::request(
                    "bench/peers",
                    format!("`{word}` stands beside other peers"),
                )
                .rule("`--vs all` and `--vs none` stand alone")
                .help(format!("`--vs {word}`, or the peers by name")));
            }
            None => names.iter().map(String::as_str).collect(),
        },
    };
    let report = perform(family, &problem, &session, &peers, (args.budget, global.seed), output)?;
    output.result(&report, || text(&report, output))?;
    Ok(Ended::Held)
}

/// Benches, showing progress and warning where nothing was tuned.
///
/// # Errors
/// Those of [`bench`].
pub fn perform(
    family: &dyn Family,
    problem: &Problem,
    session: &Session,
    peers: &[&str],
    (budget, seed): (Duration, u64),
    output: Output,
) -> Result<BenchReport> {
    session.require_runnable()?;
    // Missing tools are told of before anything is measured.
    tools::clang()?;
    let chosen = session.choose(family, problem, CPU)?;
    if let Some(warning) = &chosen.warning {
        output.warn(warning);
    }
    let peers = peers.iter().map(|p| p.to_string()).collect();
    let options = BenchOptions { peers, seconds: budget.as_secs_f64(), seed };
    let mut bar = Bar::new("timing", output.quiet);
    bench(session, family, problem, chosen, &options, &mut |p| bar.at(p.fraction))
}

/// The report as text.
pub fn text(report: &BenchReport, output: Output) -> String {
    let (width, paint) = (output.width(), output.paint());
    let mut out = output.heading(&report.name);
    out += &ours(report).render(width, paint);
    if !report.peers.is_empty() {
        out += &format!("\n{}", race(report).render(width, paint));
    }
    for warning in &report.warnings {
        out += &format!("  {} {warning}\n", paint.on(Style::Warning, "warning:"));
    }
    for (name, why) in &report.absent {
        out += &format!("  {}\n", paint.on(Style::Dim, &format!("{name} did not run: {why}")));
    }
    out
}

fn ours(report: &BenchReport) -> Table {
    let mut table = Table::new(&[("", Align::Left), ("", Align::Left)]);
    let mut row = |what: &str, text: String| table.row([format!("  {what}"), text]);
    let source = match &report.config_source {
        Source::Given => "as asked".to_string(),
        Source::Tuned => "tuned".to_string(),
        Source::Nearest { problem, .. } => format!("of the nearest tuned problem, {problem}"),
        Source::Default => "the default, not tuned".to_string(),
    };
    row("config", format!("{} ({source})", report.config));
    row("ran on", format!("{} with {}, {} threads", report.target, report.features, report.threads));
    let (lo, hi) = (units::seconds(report.ci.lo), units::seconds(report.ci.hi));
    let (seconds, rounds, sets) = (units::seconds(report.seconds), report.rounds, report.data_sets);
    row("time", format!("{seconds} (95 %: {lo} to {hi}), median of {rounds} rounds on {sets} sets of data"));
    if report.flops > 0.0 {
        let share = |(class, share): (&&str, &f64)| format!("{} of {class} peak", units::percent(*share));
        let shares: Vec<String> = report.peak_fractions.iter().map(share).collect();
        let rate = units::flop_rate(report.flops / report.seconds);
        row("arithmetic", format!("{rate}: {}", shares.join(", ")));
    }
    let (bytes, rate) = (units::bytes(report.bytes), units::bandwidth(report.bytes / report.seconds));
    let share = units::percent(report.bandwidth_fraction);
    row("traffic", format!("{bytes} at {rate}: {share} of {} bandwidth", report.bandwidth_level));
    row("floor", format!("{}: no launch takes less", units::seconds(report.floor_seconds)));
    if let Some(launch) = report.launch_seconds {
        row("launch", format!("{} for a kernel on 64 numbers", units::seconds(launch)));
    }
    table
}

fn race(report: &BenchReport) -> Table {
    let mut table = Table::new(&[
        ("  peer", Align::Left),
        ("time", Align::Right),
        ("over ours", Align::Right),
        ("95 %", Align::Left),
        ("ours is", Align::Left),
        ("it ran", Align::Left),
    ]);
    for (name, peer) in &report.peers {
        let verdict = match peer.verdict {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::Undecided => "(not shown)",
        };
        table.row([
            format!("  {name}"),
            units::seconds(peer.seconds),
            format!("{:.2}", peer.ratio),
            peer.ratio_ci.map_or(String::new(), |ci| format!("{:.2} to {:.2}", ci.lo, ci.hi)),
            verdict.to_string(),
            format!("{} {}", peer.version, peer.kernel),
        ]);
    }
    table
}
