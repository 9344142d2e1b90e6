//! `tour`: the five-minute walk from a kernel's source to its place below the machine's ceilings.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::Serialize;
use tilewright::check::{self as checking, Options};
use tilewright::diag::Result;
use tilewright::explain::TargetReport;
use tilewright::ir;
use tilewright::kernels::{Config, Family, Problem, family};
use tilewright::run::tools;
use tilewright::run::tpu::{Chip, Module, libtpu};
use tilewright::tune;
use tilewright::{BenchReport, CPU, PEERS_HERE, Session, brief};

use super::{Ended, bench, check};
use crate::cli::{ExplainArgs, Global, ModelChoice};
use crate::render::{Output, Spinner, Style, units, wrap};

/// What the tour is given: large enough that the machine shows what it can do, small enough for five minutes.
const KERNEL: &str = "matmul";
const PROBLEM: [&str; 4] = ["m=512", "n=512", "k=512", "dtype=f32"];

const CHECK: Duration = Duration::from_secs(15);
const TUNE: Duration = Duration::from_secs(60);
const BENCH: Duration = Duration::from_secs(5);
const COMPILE: Duration = Duration::from_secs(120);

const STEPS: usize = 7;

/// A Pallas kernel, as JAX lowers it, and the chip that it is explained on.
const PALLAS: (&str, &str, Chip) = (
    "bench/programs/pallas_doc_matmul_128_128_128_n1024.mlir",
    include_str!("../../../../bench/programs/pallas_doc_matmul_128_128_128_n1024.mlir"),
    Chip::V5e,
);

#[derive(Serialize)]
struct Report {
    kernel: &'static str,
    problem: BTreeMap<String, String>,
    target: &'static str,
    config: Config,
    ir: String,
    check: checking::Report,
    tune: tune::Report,
    bench: BenchReport,
    /// Absent where the TPU compiler is.
    explain: Option<TargetReport>,
    next: [String; 4],
    /// Whole, in seconds.
    seconds: f64,
}

/// Takes the tour.
pub fn run(global: &Global, output: Output) -> Result<Ended> {
    let start = Instant::now();
    let session = global.session(false)?;
    session.require_runnable()?;
    tools::clang()?;
    let family = family(KERNEL)?;
    let problem = Problem::parse(family.name(), family.keys(), &PROBLEM)?;
    let tour = Tour { family, problem: &problem, session: &session, seed: global.seed, output };

    let (config, ir) = tour.source()?;
    let checked = tour.check()?;
    if !checked.held() {
        output.result(&checked, || String::from("The tour ends here: the kernel is not right.\n"))?;
        return Ok(Ended::Failed);
    }
    tour.step(4, "Tune it: configs ranked by a model of this machine, checked and timed in child processes")?;
    let tuned = super::tune::perform(family, &problem, &session, TUNE, global.seed, output)?;
    output.text(&super::tune::text(&tour.name(), &tuned, output))?;

    tour.step(5, "Race it against the peers that are here, in turn, on fresh data")?;
    let raced = bench::perform(family, &problem, &session, &PEERS_HERE, (BENCH, global.seed), output)?;
    output.text(&bench::text(&raced, output))?;

    tour.step(6, "Where it stands")?;
    for line in standing(&raced).iter().flat_map(|l| wrap(l, output.width())) {
        output.text(&format!("{line}\n"))?;
    }
    let explained = tour.explain()?;
    let next = next(&tour.name());
    output.text(&format!("\nNext:\n  {}\n", next.join("\n  ")))?;
    output.remark(&format!("The tour took {}.", units::seconds(start.elapsed().as_secs_f64())));
    let report = Report {
        kernel: family.name(),
        problem: problem.to_map(),
        target: CPU,
        config,
        ir,
        check: checked,
        tune: tuned,
        bench: raced,
        explain: explained,
        next,
        seconds: start.elapsed().as_secs_f64(),
    };
    output.result(&report, String::new)?;
    Ok(Ended::Held)
}

struct Tour<'a> {
    family: &'a dyn Family,
    problem: &'a Problem,
    session: &'a Session,
    seed: u64,
    output: Output,
}

impl Tour<'_> {
    fn name(&self) -> String {
        brief(self.family, self.problem)
    }

    fn step(&self, number: usize, what: &str) -> Result<()> {
        let head = self.output.paint().on(Style::Heading, &format!("[{number}/{STEPS}] {what}"));
        self.output.text(&format!("\n{head}\n\n"))
    }

    /// Explains a Pallas kernel on a TPU that is not here, where its compiler is.
    fn explain(&self) -> Result<Option<TargetReport>> {
        let (name, module, chip) = PALLAS;
        self.step(7, &format!("Explain a Pallas matmul on a {} that is not here", chip.target()))?;
        if libtpu().is_err() {
            self.output.remark(
                "skipped: the TPU compiler is missing; `tilewright setup tpu` installs it, no TPU is needed",
            );
            return Ok(None);
        }
        let args = ExplainArgs {
            program: name.to_string(),
            target: vec![chip.target().to_string()],
            topology: None,
            model: ModelChoice::Calibrated,
            top: 3,
            listing: None,
            scalars: Vec::new(),
            limit: COMPILE,
        };
        let module = Module::read(module.as_bytes().to_vec(), name)?;
        let report =
            super::explain::Program::Module(module).explained(chip, &args, &BTreeMap::new(), self.output)?;
        self.output.text(&super::explain::text(&report, args.top, self.output))?;
        Ok(Some(report))
    }

    /// Shows the source and the IR; gives the config and the IR.
    fn source(&self) -> Result<(Config, String)> {
        self.step(1, &format!("The source of `{KERNEL}`: Rust that records a tile program"))?;
        self.output.text(&builder(self.family.source()))?;
        self.step(2, &format!("The tile IR of `{}`", self.name()))?;
        let config = self.family.default_config(self.problem, &self.session.machine);
        let program = self.family.build(self.problem, &config)?;
        ir::verify_program(&program)?;
        let text = ir::print(&program);
        self.output.text(&text)?;
        Ok((config, text))
    }

    fn check(&self) -> Result<checking::Report> {
        self.step(3, "Check it: adversarial inputs, every element within a bound derived from the IR")?;
        let options = Options { seed: self.seed, budget: CHECK, ..Options::default() };
        let chosen = self.session.choose(self.family, self.problem, CPU)?;
        let report = {
            let _spinner = Spinner::new("compiling and checking", self.output.quiet);
            check::perform(self.family, self.problem, &chosen, self.session, &options)?
        };
        self.output.text(&check::text(self.family, self.problem, &report, self.output))?;
        let store = self.session.store()?;
        check::keep(self.family, self.problem, &chosen, self.session, &store, &report)?;
        Ok(report)
    }
}

fn standing(raced: &BenchReport) -> Vec<String> {
    let nearer = if raced.peak_fraction >= raced.bandwidth_fraction { "arithmetic" } else { "memory" };
    let class = raced.peak.map_or("", |c| c.name());
    let mut lines = vec![
        format!(
            "It takes {}: {} of this machine's {class} peak and {} of its {} bandwidth; {nearer} is the nearer ceiling.",
            units::seconds(raced.seconds),
            units::percent(raced.peak_fraction),
            units::percent(raced.bandwidth_fraction),
            raced.bandwidth_level,
        ),
        format!(
            "No launch takes less than {}: this machine has no more than a factor of {:.1} to give.",
            units::seconds(raced.floor_seconds),
            raced.seconds / raced.floor_seconds,
        ),
    ];
    if let Some((name, peer)) = raced.peers.iter().min_by(|a, b| a.1.seconds.total_cmp(&b.1.seconds)) {
        let (time, ratio) = (units::seconds(peer.seconds), peer.ratio);
        lines.push(format!("The fastest peer here, {name}, takes {time}: {ratio:.2} times ours."));
    }
    lines
}

fn next(name: &str) -> [String; 4] {
    [
        format!("./tilewright show {name} --stage asm      # the machine code of what ran"),
        "./tilewright check attention batch=1 heads=8 kv_heads=2 q_len=300 kv_len=300 head_dim=64 causal"
            .to_string(),
        "./tilewright explain bench/programs/flash_attention_fwd.mlir --target tpu-v6e".to_string(),
        "./tilewright kernels      # all families; docs/ says how to add one".to_string(),
    ]
}

/// Of a family's source, the function that records the kernel, with its documentation; all of it where there is none.
fn builder(source: &str) -> String {
    let lines: Vec<&str> = source.lines().collect();
    let found = lines.iter().position(|l| l.contains("Builder::new")).and_then(|recorder| {
        let starts = |l: &&str| l.trim_start().starts_with("fn ") || l.trim_start().starts_with("pub fn ");
        let head = lines[..recorder].iter().rposition(starts)?;
        let comments = lines[..head].iter().rev().take_while(|l| l.trim_start().starts_with("///")).count();
        let indent = lines[head].len() - lines[head].trim_start().len();
        let close = format!("{}}}", " ".repeat(indent));
        let end = lines[head..].iter().position(|l| *l == close)? + head;
        Some((head - comments, end))
    });
    let (from, to) = found.unwrap_or((0, lines.len().saturating_sub(1)));
    lines[from..=to].iter().map(|l| format!("{l}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tilewright::kernels::families;

    #[test]
    fn the_recording_function_of_every_family_is_found() {
        for f in families() {
            let shown = builder(f.source());
            assert!(shown.contains("Builder::new"), "{}: {shown}", f.name());
            assert!(shown.lines().count() < 80, "{}: {shown}", f.name());
            assert!(shown.trim_end().ends_with('}') && shown.contains("fn "), "{}: {shown}", f.name());
        }
    }
}
