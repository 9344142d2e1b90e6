//! `explain`: what a TPU program's machine code will do, and what holds it back, with no TPU.

use std::path::Path;

use serde::Serialize;
use tilewright::diag::{Diagnostic, Result, Span};
use tilewright::explain::{Model, OpReport, TargetReport, explain};
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
}

/// Explains the program that was asked for on each target.
pub fn run(args: &ExplainArgs, output: Output) -> Result<Ended> {
    let chips = args.target.iter().map(|t| chip(t)).collect::<Result<Vec<_>>>()?;
    let program = Program::read(args)?;
    let mut targets = Vec::new();
    for chip in chips {
        let dump = {
            let _spinner =
                Spinner::new(&format!("compiling {} for {}", args.program, chip.target()), output.quiet);
            program.dump(chip, args)?
        };
        let _spinner =
            Spinner::new(&format!("simulating {} on {}", args.program, chip.target()), output.quiet);
        let model = match args.model {
            ModelChoice::Calibrated => Model::Calibrated,
            ModelChoice::Vendor => Model::Vendor,
        };
        let mut report = explain(&dump.files, &args.program, chip, model)?;
        report.compiler.clone_from(&dump.compiler);
        targets.push(report);
    }
    let whole = Whole { program: &args.program, targets };
    output.result(&whole, || {
        whole.targets.iter().map(|t| text(t, args.top, output)).collect::<Vec<_>>().join("\n")
    })?;
    Ok(Ended::Held)
}

fn chip(name: &str) -> Result<Chip> {
    Chip::ALL.into_iter().find(|c| c.target() == name).ok_or_else(|| {
        Diagnostic::unknown("cli/unknown-target", "TPU target", name, Chip::ALL.iter().map(|c| c.target()))
    })
}

/// What is explained.
enum Program {
    /// A StableHLO module, to be compiled here.
    Module(tpu::Module),
    /// What a compiler printed, here or elsewhere.
    Dump(Dump),
}

/// A dump and who made it.
struct Made {
    files: std::collections::BTreeMap<String, String>,
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

    fn dump(&self, chip: Chip, args: &ExplainArgs) -> Result<Made> {
        let module = match self {
            Program::Dump(dump) => return Ok(Made { files: dump.files.clone(), compiler: None }),
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
            limit: args.limit,
            worker: &worker::TPU,
        };
        let compiled = tpu::compile(&request, &Cache::from_env()?)?;
        Ok(Made { files: compiled.dump.files, compiler: Some(format!("libtpu {}", compiled.compiler)) })
    }
}

fn text(report: &TargetReport, top: usize, output: Output) -> String {
    let paint = output.paint();
    let clock = report.clock.hz / 1e9;
    let mut out = output.heading(&format!(
        "{}: {:.0} cycles, {} (estimate, model `{}`, {clock:.2} GHz)",
        report.target,
        report.cycles,
        units::seconds(report.seconds),
        report.model,
    ));
    let heads = [
        ("  op", Align::Left),
        ("time", Align::Right),
        ("share", Align::Right),
        ("matrix", Align::Right),
        ("HBM", Align::Right),
        ("spills", Align::Right),
        ("held back by", Align::Left),
    ];
    let mut table = Table::new(&heads);
    for op in report.ops.iter().take(top) {
        let times = if op.count > 1 { format!(" ×{}", op.count) } else { String::new() };
        let limiter = match (&op.limiter, &op.fault) {
            (_, Some(_)) => "(not simulated)".to_string(),
            (Some(l), None) => format!("{} ({})", l.of, units::percent(l.share)),
            (None, None) => "(nothing alone)".to_string(),
        };
        table.row([
            format!("  {}{times} {}", op.name, paint.on(Style::Dim, &op.kind)),
            units::seconds(op.seconds),
            units::percent(op.share),
            units::percent(op.matrix_fraction),
            units::percent(op.hbm_fraction),
            op.spills.to_string(),
            limiter,
        ]);
    }
    out += &table.render(output.width(), paint);
    if report.ops.len() > top {
        let rest: f64 = report.ops.iter().skip(top).map(|o| o.share).sum();
        out += &format!("  {} more ops: {}\n", report.ops.len() - top, units::percent(rest));
    }
    for op in report.ops.iter().take(top).filter(|o| !o.advice.is_empty() || o.fault.is_some()) {
        out += &remarks(op, output);
    }
    for note in &report.notes {
        out += &format!("  note: {note}\n");
    }
    out
}

fn remarks(op: &OpReport, output: Output) -> String {
    let lines =
        op.advice.iter().map(|a| format!("{} (at most {} of the op)", a.text, units::percent(a.saving)));
    let lines = lines.chain(op.fault.iter().map(|f| format!("not simulated: {f}")));
    let mut out = String::new();
    for line in lines {
        let width = output.width().saturating_sub(4 + op.name.len());
        for (n, part) in wrap(&line, width).into_iter().enumerate() {
            out += &if n == 0 { format!("  {}: {part}\n", op.name) } else { format!("    {part}\n") };
        }
    }
    out
}
