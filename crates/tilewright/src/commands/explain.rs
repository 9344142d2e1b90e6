//! `explain`: what a TPU program's machine code will do, and what holds it back, with no TPU.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Serialize;
use tilewright::diag::{Diagnostic, Result, Span};
use tilewright::explain::{Mesh, Model, OpReport, Request, TargetReport, devices, explain};
use tilewright::kernels::{families, family};
use tilewright::run::cache::Cache;
use tilewright::run::tpu::{self, Chip, Dump, Topology};

use super::{Ended, worker};
use crate::cli::{ExplainArgs, ModelChoice};
use crate::render::{Align, Output, Spinner, Style, Table, units, wrap};

#[derive(Serialize)]
struct Whole<'a> {
    program: &'a str,
    targets: Vec<TargetReport>,
    /// Targets for which there is no report, where there are some for others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    refused: Vec<Refused>,
}

#[derive(Serialize)]
struct Refused {
    target: &'static str,
    error: Box<Diagnostic>,
}

/// Explains the program that was asked for on each target.
pub fn run(args: &ExplainArgs, output: Output) -> Result<Ended> {
    let chips = args.target.iter().map(|t| chip(t)).collect::<Result<Vec<_>>>()?;
    let scalars = scalars(&args.scalars)?;
    let program = Program::read(args)?;
    let done = two_at_once(&chips, |chip| program.explained(chip, args, &scalars, output));
    let (mut targets, mut refused) = (Vec::new(), Vec::new());
    for (chip, result) in chips.iter().zip(done) {
        match result {
            Ok(report) => targets.push(report),
            Err(error) => refused.push(Refused { target: chip.target(), error }),
        }
    }
    // What is refused on every target is refused.
    if targets.is_empty() && !refused.is_empty() {
        return Err(refused.remove(0).error);
    }
    let status = refused.first().map(|r| r.error.class.exit_status());
    let whole = Whole { program: &args.program, targets, refused };
    output.result(&whole, || {
        let refused = whole.refused.iter().map(|r| format!("{}: not explained\n{}\n", r.target, r.error));
        whole.targets.iter().map(|t| text(t, args.top, output)).chain(refused).collect::<Vec<_>>().join("\n")
    })?;
    Ok(status.map_or(Ended::Held, |s| Ended::Status(u8::try_from(s).unwrap_or(1))))
}

/// What `work` gives for each chip, two chips at a time: a compilation keeps one CPU busy and a few gigabytes.
fn two_at_once(
    chips: &[Chip],
    work: impl Fn(Chip) -> Result<TargetReport> + Sync,
) -> Vec<Result<TargetReport>> {
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::new();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(chip) = chips.get(place) else { return done };
            done.push((place, work(*chip)));
        }
    };
    let mut done: Vec<(usize, Result<TargetReport>)> = std::thread::scope(|scope| {
        let other = scope.spawn(worker);
        let mut done = worker();
        match other.join() {
            Ok(more) => done.extend(more),
            Err(panic) => std::panic::resume_unwind(panic),
        }
        done
    });
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}

/// `OP:OPERAND=N,…`, each a whole number of 32 bits.
fn scalars(given: &[String]) -> Result<Scalars> {
    let mut all = BTreeMap::new();
    for text in given {
        let wrong = || {
            Diagnostic::request("cli/scalars", format!("`{text}` gives no op's operand values"))
                .rule("an op, the number of its operand from 0, and whole numbers of 32 bits")
                .help("`--scalars name.1:0=23`")
        };
        let (op, rest) = text.rsplit_once(':').ok_or_else(wrong)?;
        let (operand, words) = rest.split_once('=').ok_or_else(wrong)?;
        let word = |w: &str| -> Option<u32> {
            let w = w.trim();
            w.parse::<u32>().ok().or_else(|| w.parse::<i32>().ok().map(i32::cast_unsigned))
        };
        let words: Option<Vec<u32>> = words.split(',').map(word).collect();
        let (Some(words), Ok(operand)) = (words, operand.parse()) else { return Err(wrong()) };
        if all.insert((op.to_string(), operand), words).is_some() {
            return Err(wrong().note("the same operand is given twice"));
        }
    }
    Ok(all)
}

fn chip(name: &str) -> Result<Chip> {
    Chip::ALL.into_iter().find(|c| c.target() == name).ok_or_else(|| {
        Diagnostic::unknown("cli/unknown-target", "TPU target", name, Chip::ALL.iter().map(|c| c.target()))
    })
}

/// Values of operands that a program is given when it runs, by op and operand.
type Scalars = BTreeMap<(String, u32), Vec<u32>>;

/// What is explained.
pub enum Program {
    /// A StableHLO module, to be compiled here.
    Module(tpu::Module),
    /// What a compiler printed, here or elsewhere.
    Dump(Dump),
}

/// A dump, for which chips it is, and who made it.
struct Made {
    files: BTreeMap<String, String>,
    topology: Topology,
    compiler: Option<String>,
}

impl Program {
    fn read(args: &ExplainArgs) -> Result<Program> {
        let path = Path::new(&args.program);
        if path.is_dir() {
            if args.target.len() != 1 {
                return Err(Diagnostic::request(
                    "explain/target",
                    "a dump is of one target, and does not say of which",
                )
                .at(Span::file(args.program.clone()))
                .help("`--target tpu-v5e`"));
            }
            return Dump::read(path).map(Program::Dump);
        }
        if !path.exists() && family(&args.program).is_ok() {
            return Err(Diagnostic::request(
                "explain/kernel",
                format!("`{}` is a kernel of the library", args.program),
            )
            .rule(
                "this version explains StableHLO files and dump folders; its kernels compile for `cpu` only",
            ));
        }
        let read = std::fs::read(path);
        let bytes = read.map_err(|e| {
            let d = Diagnostic::request("explain/program", format!("`{}` cannot be read: {e}", args.program))
                .rule("a StableHLO file, as `jax.jit(f).lower(…).as_text()` gives it, or a folder of libtpu's dumps");
            match tilewright::diag::nearest(&args.program, families().iter().map(|f| f.name())) {
                Some(near) => d.note(format!("`{near}` is a kernel of the library, which compiles for `cpu` only")),
                None => d,
            }
        })?;
        tpu::Module::read(bytes, &args.program).map(Program::Module)
    }

    /// Explains it on one chip.
    pub fn explained(
        &self,
        chip: Chip,
        args: &ExplainArgs,
        scalars: &Scalars,
        output: Output,
    ) -> Result<TargetReport> {
        let made = {
            let _spinner =
                Spinner::new(&format!("compiling {} for {}", args.program, chip.target()), output.quiet);
            self.made(chip, args)?
        };
        let _spinner =
            Spinner::new(&format!("simulating {} on {}", args.program, chip.target()), output.quiet);
        let request = Request {
            files: &made.files,
            name: &args.program,
            mesh: Mesh { sizes: made.topology.arrangement(), chip },
            model: match args.model {
                ModelChoice::Calibrated => Model::Calibrated,
                ModelChoice::Vendor => Model::Vendor,
            },
            scalars,
            listing: args.listing.as_deref(),
        };
        let mut report = explain(&request)?;
        report.compiler.clone_from(&made.compiler);
        Ok(report)
    }

    fn made(&self, chip: Chip, args: &ExplainArgs) -> Result<Made> {
        let module = match self {
            Program::Dump(dump) => {
                let topology = match &args.topology {
                    Some(text) => Topology::parse(text, chip)?,
                    None => Topology::fitting(chip, devices(&dump.files, &args.program)?),
                };
                return Ok(Made { files: dump.files.clone(), topology, compiler: None });
            }
            Program::Module(module) => module,
        };
        let topology = match &args.topology {
            Some(text) => Topology::parse(text, chip)?,
            None => module.smallest(chip),
        };
        let request = tpu::Request {
            module,
            name: &args.program,
            topology,
            estimate: false,
            trace: false,
            limit: args.limit,
            worker: &worker::TPU,
        };
        let compiled = tpu::compile(&request, &Cache::from_env()?)?;
        let compiler = Some(format!("libtpu {}", compiled.compiler));
        Ok(Made { files: compiled.dump.files, topology, compiler })
    }
}

/// A report for people: the costliest `top` ops, what would help, what to know.
pub fn text(report: &TargetReport, top: usize, output: Output) -> String {
    let paint = output.paint();
    let clock = report.clock.hz / 1e9;
    let mut out = output.heading(&format!(
        "{}: {:.0} cycles, {}{} (estimate, model `{}`, {clock:.2} GHz)",
        report.target,
        report.cycles,
        units::seconds(report.seconds),
        if report.devices > 1 { format!(" on each of {} devices", report.devices) } else { String::new() },
        report.model,
    ));
    let heads = [
        ("  op", Align::Left),
        ("time", Align::Right),
        ("share", Align::Right),
        ("matrix", Align::Right),
        ("useful", Align::Right),
        ("HBM", Align::Right),
        ("spills", Align::Right),
        ("held back by", Align::Left),
    ];
    let mut table = Table::new(&heads);
    // What is hidden costs nothing: it is told of below.
    let costly: Vec<&OpReport> = report.ops.iter().filter(|o| o.cycles > 0.0).collect();
    for op in costly.iter().take(top) {
        let times = if op.count > 1 { format!(" ×{}", op.count) } else { String::new() };
        let limiter = match (op.limiter, &op.fault) {
            (_, Some(_)) => "(not simulated)".to_string(),
            _ if op.assumed_branches > 0 && op.exchange.is_none() => "(unknown sizes decide)".to_string(),
            (Some(l), None) => {
                let bound = op.savings.first().is_some_and(|s| s.bound);
                format!("{l} ({}{})", if bound { "≤ " } else { "" }, units::percent(op.saving))
            }
            (None, None) => "(nothing alone)".to_string(),
        };
        // What the shapes ask for, of what the matrix units are made to do.
        let useful = match op.useful_flops {
            _ if op.flops == 0.0 => String::new(),
            Some(useful) => units::percent((useful / op.flops).min(1.0)),
            None => "?".to_string(),
        };
        table.row([
            format!("  {}{times} {}", op.name, paint.on(Style::Dim, brief_kind(op))).trim_end().to_string(),
            units::seconds(op.seconds),
            units::percent(op.share),
            units::percent(op.matrix_fraction),
            useful,
            units::percent(op.hbm_fraction),
            op.spills.to_string(),
            limiter,
        ]);
    }
    out += &table.render(output.width(), paint);
    if costly.len() > top {
        let rest: f64 = costly.iter().skip(top).map(|o| o.share).sum();
        out += &format!("  {} more ops: {}\n", costly.len() - top, units::percent(rest));
    }
    let hidden: Vec<f64> = report.ops.iter().map(|o| o.hidden_seconds).filter(|h| *h > 0.0).collect();
    if !hidden.is_empty() {
        out += &format!(
            "  hidden beside the ops: {} (copies and exchanges: {})\n",
            units::seconds(hidden.iter().sum()),
            hidden.len()
        );
    }
    out += &remarks(costly.get(..top.min(costly.len())).unwrap_or(&[]), output);
    for note in &report.notes {
        out += &wrap(&format!("  note: {note}"), output.width()).join("\n    ");
        out += "\n";
    }
    for op in report.ops.iter().filter(|o| !o.listing.is_empty()) {
        out += &hot(op, output);
    }
    out
}

/// An op's kind without the word that its name says: `fusion.1 of convolution`.
fn brief_kind(op: &OpReport) -> &str {
    let (word, rest) = op.kind.split_once(' ').unwrap_or((&op.kind, ""));
    if op.name.contains(word) { rest } else { &op.kind }
}

/// The hottest bundles of an op.
fn hot(op: &OpReport, output: Output) -> String {
    let mut out = output.heading(&format!("{}: its hottest bundles", op.name));
    if let Some(source) = &op.source {
        out += &format!("  written in {source}\n");
    }
    for bundle in &op.listing {
        let waits = bundle.stalls.iter().map(|(cause, cycles)| {
            format!(
                "waits {:.1} for {}",
                *cycles as f64 / bundle.count.max(1) as f64,
                cause.replace('_', " ")
            )
        });
        let slots: Vec<String> = bundle.slots.iter().map(|(slot, n)| format!("{slot} {n}")).collect();
        let facts: Vec<String> = [format!("line {}", bundle.line), format!("×{}", bundle.count)]
            .into_iter()
            .chain(waits)
            .collect();
        let head = format!(
            "  {}: {}",
            facts.join(", "),
            if slots.is_empty() { "empty".into() } else { slots.join(", ") }
        );
        out += &output.paint().on(Style::Dim, &head);
        out += "\n";
        for operation in bundle.text.split(";;").map(str::trim).filter(|o| !o.is_empty()) {
            for line in wrap(operation, output.width().saturating_sub(4)) {
                out += &format!("    {line}\n");
            }
        }
    }
    out
}

/// Advice that saves less of the program is in the JSON alone.
const WORTH_SAYING: f64 = 0.002;

/// What to change in which ops, the same change said once; then what could not be simulated.
fn remarks(ops: &[&OpReport], output: Output) -> String {
    let mut changes: Vec<(&str, Vec<String>)> = Vec::new();
    let all = ops.iter().flat_map(|op| op.advice.iter().map(move |a| (op, a)));
    // What saves most of the program first; what saves next to nothing of it not at all.
    let mut all: Vec<_> = all.filter(|(op, a)| op.share * a.saving >= WORTH_SAYING).collect();
    all.sort_by(|(a, x), (b, y)| (b.share * y.saving).total_cmp(&(a.share * x.saving)));
    for (op, advice) in all {
        let saves = format!("{} ({})", op.name, units::percent(advice.saving));
        match changes.iter_mut().find(|(text, _)| *text == advice.text) {
            Some((_, names)) => names.push(saves),
            None => changes.push((&advice.text, vec![saves])),
        }
    }
    let mut out = String::new();
    let mut say = |line: String| {
        for (n, part) in wrap(&line, output.width().saturating_sub(4)).into_iter().enumerate() {
            out += &if n == 0 { format!("  {part}\n") } else { format!("    {part}\n") };
        }
    };
    if !changes.is_empty() {
        say("what would help, and the share of the op that it saves at most:".to_string());
    }
    for (text, names) in changes {
        say(format!("- {text}: {}", names.join(", ")));
    }
    for op in ops {
        if let Some(fault) = &op.fault {
            say(format!("{}: not simulated: {fault}", op.name));
        }
    }
    out
}
