//! `show`: a kernel at one stage of its way to machine code.

use std::collections::BTreeMap;
use std::time::Instant;

use serde::Serialize;
use tilewright::diag::Result;
use tilewright::ir::{self, PrintOptions};
use tilewright::kernels::{Config, Family, Problem};
use tilewright::run;
use tilewright::target_cpu::{self, LoweredKernel, Options};
use tilewright::{Chosen, Session, Source};

use super::Ended;
use crate::cli::{Global, ShowArgs, Stage};
use crate::render::{Align, Output, Spinner, Table, units};

#[derive(Serialize)]
struct Report {
    kernel: &'static str,
    problem: BTreeMap<String, String>,
    target: String,
    features: String,
    config: Config,
    config_source: Source,
    stage: &'static str,
    /// The stage's text; empty for `code`, which is bytes.
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<Code>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    passes: Vec<PassTime>,
}

/// A compiled object.
#[derive(Serialize)]
struct Code {
    path: String,
    bytes: usize,
    cached: bool,
    key: String,
    compiler: String,
    kernels: Vec<LoweredKernel>,
}

#[derive(Serialize)]
struct PassTime {
    pass: String,
    seconds: f64,
}

/// Shows the stage that was asked for.
pub fn run(args: &ShowArgs, global: &Global, output: Output) -> Result<Ended> {
    let (family, problem) = args.problem.resolve()?;
    let session = global.session(false)?;
    let config = session.choose(family, &problem, &args.problem.target)?;
    let mut stages = Stages { session: &session, passes: Vec::new(), quiet: output.quiet };
    let (text, code) = stages.reach(args, family, &problem, &config)?;
    if let Some(warning) = config.warning.as_ref().filter(|_| args.stage != Stage::Source) {
        output.remark(&format!("note: {warning}"));
    }
    let passes = std::mem::take(&mut stages.passes);
    if args.time_passes && !output.json {
        output.remark(pass_table(&passes, output).trim_end());
    }
    let report = Report {
        kernel: family.name(),
        problem: problem.to_map(),
        target: args.problem.target.clone(),
        features: session.features.to_string(),
        config: config.config,
        config_source: config.source,
        stage: args.stage.name(),
        text,
        code,
        passes: if args.time_passes { passes } else { Vec::new() },
    };
    output.result(&report, || match &report.code {
        Some(code) => code_text(code, output),
        None => report.text.clone(),
    })?;
    Ok(Ended::Held)
}

struct Stages<'a> {
    session: &'a Session,
    passes: Vec<PassTime>,
    quiet: bool,
}

impl Stages<'_> {
    fn reach(
        &mut self,
        args: &ShowArgs,
        family: &dyn Family,
        problem: &Problem,
        chosen: &Chosen,
    ) -> Result<(String, Option<Code>)> {
        if args.stage == Stage::Source {
            return Ok((family.source().to_string(), None));
        }
        let program = self.timed("build", || family.build(problem, &chosen.config))?;
        if args.stage == Stage::Ir {
            self.timed("verify", || ir::verify_program(&program))?;
            return Ok((ir::print_with(&program, PrintOptions { locations: args.locations }), None));
        }
        let options = Options::new(self.session.features);
        let mut last = Instant::now();
        let passes = &mut self.passes;
        let lowered = target_cpu::lower_watched(&program, options, &mut |pass| {
            let seconds = last.elapsed().as_secs_f64();
            passes.push(PassTime { pass: pass.to_string(), seconds });
            last = Instant::now();
        })?;
        if args.stage == Stage::Lowered {
            return Ok((lowered.text, None));
        }
        let flags: Vec<String> = self.session.features.clang_flags().into_iter().map(String::from).collect();
        let _spinner = Spinner::new("clang", self.quiet);
        if args.stage == Stage::Asm {
            return Ok((self.timed("clang", || run::assembly(&lowered.text, &flags))?, None));
        }
        let object = self.timed("clang", || run::compile_llvm(&lowered.text, &flags))?;
        let code = Code {
            path: object.path.display().to_string(),
            bytes: object.bytes().len(),
            cached: object.cached,
            key: object.key.to_string(),
            compiler: run::tools::clang()?.version,
            kernels: lowered.kernels,
        };
        Ok((String::new(), Some(code)))
    }

    fn timed<T>(&mut self, pass: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let start = Instant::now();
        let result = work();
        self.passes.push(PassTime { pass: pass.to_string(), seconds: start.elapsed().as_secs_f64() });
        result
    }
}

fn pass_table(passes: &[PassTime], output: Output) -> String {
    let about = |pass: &str| match pass {
        "build" => "records the kernel's Rust as tile IR",
        "clang" => "compiles the text, or finds it in the cache",
        pass => target_cpu::PASSES.iter().find(|(name, _)| *name == pass).map_or("", |(_, about)| about),
    };
    let mut table =
        Table::new(&[("pass", Align::Left), ("time", Align::Right), ("what it does", Align::Left)]);
    for p in passes {
        table.row([p.pass.clone(), units::seconds(p.seconds), about(&p.pass).to_string()]);
    }
    table.render(output.width(), output.paint())
}

fn code_text(code: &Code, output: Output) -> String {
    let mut table = Table::new(&[("", Align::Left), ("", Align::Left)]);
    table.row(["object", &code.path]);
    let kept = if code.cached { "found in the cache" } else { "compiled now" };
    table.row(["bytes".to_string(), format!("{} ({kept} by {})", code.bytes, code.compiler)]);
    for k in &code.kernels {
        let threads = if k.serial { ", on one thread" } else { "" };
        let cells = format!("`{}`: {} grid cells{threads}", k.entry, k.cells);
        table.row(["entry".to_string(), cells]);
        table.row(["operands".to_string(), k.arrays.join(", ")]);
        if !k.scalars.is_empty() {
            table.row(["scalars".to_string(), k.scalars.join(", ")]);
        }
        table.row(["arena".to_string(), format!("{} per thread", units::bytes(k.arena_bytes as f64))]);
    }
    table.render(output.width(), output.paint())
}
