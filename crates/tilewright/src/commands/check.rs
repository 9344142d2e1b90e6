//! `check`: a kernel against its reference.

use serde::Serialize;
use tilewright::check::external;
use tilewright::check::{Cpu, Executor, Interp, Options, Report, Verdict, check};
use tilewright::diag::Result;
use tilewright::kernels::{Family, Problem};
use tilewright::store::{self, CheckRecord, Store};
use tilewright::{CPU, Chosen, Kernel, Session, Source, brief, memory, store_problem};

use super::Ended;
use super::supervised::{self, Outcome};
use crate::cli::{CheckArgs, Global};
use crate::render::{Align, Output, Paint, Spinner, Style, Table, units};

/// A check holds an operand as it is, as the interpreter's values with bounds, and between guards.
const COPIES: f64 = 8.0;

#[derive(Serialize)]
struct Whole<'a> {
    target: &'a str,
    config_source: &'a Source,
    #[serde(flatten)]
    report: &'a Report,
}

/// The verdict on a kernel that brought its process down.
#[derive(Serialize)]
struct Dead<'a> {
    target: &'a str,
    kernel: &'a str,
    problem: String,
    verdict: Verdict,
    why: &'a str,
    cases: [(); 0],
    worst: Option<()>,
}

/// Checks the problem that was asked for, and says what was found.
pub fn run(args: &CheckArgs, global: &Global, output: Output) -> Result<Ended> {
    match supervised::run(args.budget, || checked(args, global, output))? {
        Outcome::Ended(ended) => Ok(ended),
        Outcome::Died(why) => {
            let (family, problem) = args.problem.resolve_with(&[INTERP])?;
            let dead = Dead {
                target: &args.problem.target,
                kernel: family.name(),
                problem: problem.to_string(),
                verdict: Verdict::Failed,
                why: &why,
                cases: [],
                worst: None,
            };
            let verdict = verdict(Verdict::Failed, output.paint());
            output.result(&dead, || format!("{verdict} {}\n  {why}\n", brief(family, &problem)))?;
            Ok(Ended::Failed)
        }
    }
}

fn checked(args: &CheckArgs, global: &Global, output: Output) -> Result<Ended> {
    let (family, problem) = args.problem.resolve_with(&[INTERP])?;
    let session = global.session(args.batch_invariant)?;
    let on_cpu = args.problem.target == CPU;
    // A verdict that cannot be kept is told of before it is worked for.
    let store = if on_cpu { Some(session.store()?) } else { None };
    let chosen = session.choose(family, &problem, CPU)?;
    if let Some(warning) = chosen.warning.as_ref().filter(|_| on_cpu) {
        output.warn(warning);
    }
    let (given, remarks) = external::given(&args.input, &family.build(&problem, &chosen.config)?)?;
    let options = Options {
        seed: global.seed,
        budget: args.budget,
        batch_invariant: args.batch_invariant,
        given,
        ..Options::default()
    };
    let mut report = {
        let _spinner = Spinner::new(&format!("checking {}", brief(family, &problem)), output.quiet);
        let mut report = if on_cpu {
            perform(family, &problem, &chosen, &session, &options)?
        } else {
            on_executor(family, &problem, &chosen, &Interp, &options)?
        };
        report.notes.splice(0..0, remarks);
        report
    };
    if let Some(store) = store
        && let Err(d) = keep(family, &problem, &chosen, &session, &store, &report)
    {
        report.notes.push(format!("not kept in the store: {}", d.message));
        output.warn(&format!("the verdict is not kept in the store: {}", d.message));
    }
    let whole = Whole { target: &args.problem.target, config_source: &chosen.source, report: &report };
    output.result(&whole, || text(family, &problem, &report, output))?;
    Ok(if report.held() { Ended::Held } else { Ended::Failed })
}

/// The target that is no machine: the interpreter in the exact dtypes, which needs no compiler.
const INTERP: &str = "interp";

/// Checks on this CPU.
///
/// # Errors
/// What keeps the check from being made.
pub fn perform(
    family: &dyn Family,
    problem: &Problem,
    chosen: &Chosen,
    session: &Session,
    options: &Options,
) -> Result<Report> {
    session.require_runnable()?;
    let cpu = Cpu::new(session.features, session.threads)?;
    on_executor(family, problem, chosen, &cpu, options)
}

fn on_executor(
    family: &dyn Family,
    problem: &Problem,
    chosen: &Chosen,
    executor: &dyn Executor,
    options: &Options,
) -> Result<Report> {
    let program = family.build(problem, &chosen.config)?;
    memory::require(&program, COPIES, &brief(family, problem))?;
    check(family, problem, &chosen.config, executor, options)
}

/// Keeps the verdict in the store.
pub fn keep(
    family: &dyn Family,
    problem: &Problem,
    chosen: &Chosen,
    session: &Session,
    store: &Store,
    report: &Report,
) -> Result<()> {
    let kernel = Kernel::new(family, problem, chosen.clone(), session)?;
    let verdict = match report.verdict {
        Verdict::Held => store::Verdict::Held,
        Verdict::Failed => store::Verdict::Failed,
        Verdict::Undecided => store::Verdict::Undecided,
    };
    let record = CheckRecord {
        kernel: family.name().to_string(),
        problem: store_problem(problem)?,
        target: CPU.to_string(),
        config: chosen.config.0.clone(),
        verdict,
        cases: report.cases.len() as u64,
        worst: serde_json::to_value(&report.worst).unwrap_or_default(),
        provenance: kernel.provenance().clone(),
    };
    store.put_check(&record).map(drop)
}

/// The report for people.
pub fn text(family: &dyn Family, problem: &Problem, report: &Report, output: Output) -> String {
    let paint = output.paint();
    let mut out = format!(
        "{} {} on {}, config {}\n",
        verdict(report.verdict, paint),
        brief(family, problem),
        report.executor,
        report.config,
    );
    if let Some(why) = report.why.as_ref().filter(|_| report.failure.is_none()) {
        out += &format!("  {why}\n");
    }
    let mut table = Table::new(&[("", Align::Left), ("", Align::Left)]);
    let problems: std::collections::BTreeSet<&str> =
        report.cases.iter().map(|c| c.problem.as_str()).collect();
    let left_out =
        if report.skipped > 0 { format!(", {} left out for time", report.skipped) } else { String::new() };
    table.row([
        "  cases".to_string(),
        format!(
            "{} over {} problems{left_out}, seed {}, {}",
            report.cases.len(),
            problems.len(),
            report.seed,
            units::seconds(report.seconds)
        ),
    ]);
    let undecided = if report.undecided > 0 {
        format!("; {} have no finite bound and prove nothing", report.undecided)
    } else {
        String::new()
    };
    let decided = report.elements - report.undecided;
    table.row(["  elements".to_string(), format!("{decided} judged by a bound{undecided}")]);
    if let Some(worst) = &report.worst {
        let e = &worst.element;
        table.row([
            "  worst".to_string(),
            format!(
                "{}{:?} = {}, reference {}, bound {:.3e}: {} of the bound, in case `{}`",
                e.output,
                e.index,
                units::exact(e.value),
                units::exact(e.reference),
                e.bound,
                units::percent(e.margin),
                worst.case
            ),
        ]);
    }
    out += &table.render(output.width(), paint);
    if let Some(failure) = &report.failure {
        out += &format!("  {} {}\n", paint.on(Style::Bad, failure.code), failure.message);
        out += &format!("    in case `{}` of {}\n", failure.case, failure.problem);
        if let Some(span) = &failure.stored_at {
            out += &format!("    stored at {span}\n");
        }
        for d in failure.diagnostics.iter().take(3) {
            out += &format!("    {}\n", d.to_string().replace('\n', "\n    "));
        }
    }
    if let Some(smallest) = &report.smallest {
        out += &format!(
            "  smallest problem that fails, of {} tried: {}\n    {}\n",
            smallest.tried, smallest.problem, smallest.failure.message
        );
    }
    for note in &report.notes {
        out += &format!("  note: {note}\n");
    }
    out
}

fn verdict(verdict: Verdict, paint: Paint) -> String {
    match verdict {
        Verdict::Held => paint.on(Style::Good, "held"),
        Verdict::Failed => paint.on(Style::Bad, "FAILED"),
        Verdict::Undecided => paint.on(Style::Warning, "undecided"),
    }
}
