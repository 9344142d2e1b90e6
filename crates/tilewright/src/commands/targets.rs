//! `targets`: this machine, its ceilings, the toolchains.

use std::fmt::Write;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use tilewright::Session;
use tilewright::diag::Result;
use tilewright::measure::ceilings::{self, Ceilings, Level, Origin};
use tilewright::run::{Host, tools, tpu};
use tilewright::target_cpu::features::CpuFeatures;

use super::Ended;
use crate::cli::{Global, TargetsArgs};
use crate::render::{Align, Output, Spinner, Style, Table, units};

#[derive(Serialize)]
struct Report {
    targets: [Target; 1],
    host: Host,
    ceilings: Ceilings,
    ceilings_file: String,
    toolchains: Vec<Toolchain>,
}

#[derive(Serialize)]
struct Target {
    name: &'static str,
    /// What code is made for where nothing else is asked.
    features: String,
    ready: bool,
}

#[derive(Serialize)]
struct Toolchain {
    name: &'static str,
    /// What it is for.
    purpose: &'static str,
    version: Option<String>,
    path: Option<String>,
    /// How to get it, where it is missing.
    get: Option<String>,
}

/// Shows what there is, measuring the ceilings where no fresh ones are kept.
pub fn run(args: &TargetsArgs, global: &Global, output: Output) -> Result<Ended> {
    let session = global.session(false)?;
    let path = session.ceilings_path()?;
    let (ceilings, origin) = {
        let _spinner = Spinner::new("measuring this machine's ceilings", output.quiet);
        if args.remeasure { ceilings::load_or_measure(&path, Duration::ZERO)? } else { session.ceilings()? }
    };
    let clang = toolchain("clang", "compiles kernels for `cpu`", tools::clang().map(|c| (c.version, c.path)));
    let libtpu = tpu::libtpu().map(|t| (t.version, t.path));
    let libtpu = toolchain("libtpu", "compiles programs for TPUs, which it needs none of", libtpu);
    let ready = clang.path.is_some();
    let toolchains = vec![clang, libtpu];
    let report = Report {
        targets: [Target { name: "cpu", features: session.features.to_string(), ready }],
        host: session.host.clone(),
        ceilings,
        ceilings_file: path.display().to_string(),
        toolchains,
    };
    output.result(&report, || text(&report, &session, &origin, output))?;
    Ok(Ended::Held)
}

fn toolchain(name: &'static str, purpose: &'static str, found: Result<(String, PathBuf)>) -> Toolchain {
    match found {
        Ok((version, path)) => {
            let path = Some(path.display().to_string());
            Toolchain { name, purpose, version: Some(version), path, get: None }
        }
        Err(d) => Toolchain { name, purpose, version: None, path: None, get: d.help.or(Some(d.message)) },
    }
}

fn text(report: &Report, session: &Session, origin: &Origin, output: Output) -> String {
    let paint = output.paint();
    let mut out = output.heading("cpu");
    out += &machine(&report.host, &report.ceilings, session, output);
    let when = match origin {
        Origin::Cached => format!("measured {}", ago(report.ceilings.measured_at)),
        Origin::Measured { because } => format!("measured now: {because}"),
    };
    out.push('\n');
    out += &output.heading(&format!("Ceilings ({when})"));
    out += &arithmetic(&report.ceilings, output);
    out.push('\n');
    out += &memory(&report.ceilings, output);
    out.push('\n');
    out += &output.heading("Toolchains");
    for t in &report.toolchains {
        match (&t.version, &t.path, &t.get) {
            (Some(version), Some(path), _) => {
                let _ = writeln!(
                    out,
                    "  {} {} {version} ({path}): {}",
                    paint.on(Style::Good, "present"),
                    t.name,
                    t.purpose
                );
            }
            (_, _, get) => {
                let get = get.clone().unwrap_or_default();
                let _ =
                    writeln!(out, "  {} {}: {}. {get}", paint.on(Style::Bad, "missing"), t.name, t.purpose);
            }
        }
    }
    out
}

fn machine(host: &Host, ceilings: &Ceilings, session: &Session, output: Output) -> String {
    let mut table = Table::new(&[("", Align::Left), ("", Align::Left), ("", Align::Left)]);
    let model = host.model.clone().unwrap_or_else(|| "not said by the system".to_string());
    table.row(["", "processor", &model]);
    table.row([
        "".to_string(),
        "threads".to_string(),
        format!("{} of {} used", session.threads, host.logical_cores),
    ]);
    let caches: Vec<String> = ceilings
        .host
        .caches
        .iter()
        .map(|c| format!("L{} {} (shared by {})", c.level, units::bytes(c.bytes as f64), c.shared_by))
        .collect();
    let assumed = if ceilings.host.caches_assumed { " (assumed: the system does not say)" } else { "" };
    table.row(["".to_string(), "caches".to_string(), caches.join(", ") + assumed]);
    let native = CpuFeatures::detect();
    let code = if native == session.features {
        format!("{native} (what this machine has)")
    } else {
        format!("{} (this machine has {native})", session.features)
    };
    table.row(["", "code for", &code]);
    table.row(["", "features", &host.features.join(" ")]);
    table.render(output.width(), output.paint())
}

fn arithmetic(c: &Ceilings, output: Output) -> String {
    let heads = [
        ("  multiply-add", Align::Left),
        ("one thread", Align::Right),
        ("all threads", Align::Right),
        ("instruction", Align::Left),
    ];
    let mut table = Table::new(&heads);
    for p in &c.peaks {
        table.row([
            format!("  {}", p.class),
            units::flop_rate(p.one.median),
            units::flop_rate(p.all.median),
            p.isa.clone(),
        ]);
    }
    table.render(output.width(), output.paint())
}

fn memory(c: &Ceilings, output: Output) -> String {
    let heads = ["  memory", "read, one thread", "read, all", "copy, one thread", "copy, all"];
    let aligned = heads.map(|h| (h, if h == heads[0] { Align::Left } else { Align::Right }));
    let mut table = Table::new(&aligned);
    for l in &c.levels {
        let Level { read_one, read_all, copy_one, copy_all, .. } = l;
        let rates = [read_one, read_all, copy_one, copy_all].map(|r| units::bandwidth(r.median));
        table.row(std::iter::once(format!("  {}", l.name)).chain(rates));
    }
    table.render(output.width(), output.paint())
}

fn ago(seconds_since_1970: u64) -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_secs());
    match now.saturating_sub(seconds_since_1970) {
        s if s < 120 => "just now".to_string(),
        s if s < 7200 => format!("{} minutes ago", s / 60),
        s if s < 172_800 => format!("{} hours ago", s / 3600),
        s => format!("{} days ago", s / 86_400),
    }
}
