//! A kernel against its reference: cases in order of what they tell, until the time is used up.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rayon::prelude::*;
use tilewright_diag::{Class, Result};
use tilewright_kernels::{Config, Family, Inputs, Problem};

use crate::case::{Found, Source, Subject};
use crate::executor::Executor;
use crate::inputs::{FAMILIES, InputFamily};
use crate::invariance;
use crate::problems;
use crate::report::{Failure, Report, Verdict, Worst};
use crate::shrink;

/// How a check goes about it.
#[derive(Clone, Debug)]
pub struct Options {
    /// The seed of all inputs.
    pub seed: u64,
    /// No case is begun after this time, except that each problem has its first.
    pub budget: Duration,
    /// No smaller failing problem is looked for after this time.
    pub shrink_budget: Duration,
    /// How many small problems beside the one that was asked for.
    pub derived: usize,
    /// Whether a row's result must not depend on the other rows, bit for bit.
    pub batch_invariant: bool,
    /// Operands with values of the caller's ([`crate::external`]), in a case of their own.
    pub given: Inputs,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            seed: 1,
            budget: Duration::from_secs(20),
            shrink_budget: Duration::from_secs(10),
            derived: 6,
            batch_invariant: false,
            given: Inputs::new(),
        }
    }
}

/// Families of inputs for each derived problem, `normal` first among them.
const DERIVED_CASES: usize = 4;

/// Checks one config of one problem on an executor.
///
/// Whatever is wrong with the kernel stands in the report. An error is what kept the check from being made: those of
/// [`Family::build`], of [`Executor::prepare`] for the problem that was asked for, and of the run.
pub fn check(
    family: &dyn Family,
    problem: &Problem,
    config: &Config,
    executor: &dyn Executor,
    options: &Options,
) -> Result<Report> {
    let start = Instant::now();
    let mut report = empty(family, problem, config, executor, options.seed);
    let mut subjects = vec![Subject::new(family, problem.clone(), config, executor)?];
    let derived = problems::derived(family, problem, config, options.derived);
    let prepared: Vec<_> = derived
        .into_par_iter()
        .map(|p| (problems::text(family, &p), Subject::new(family, p, config, executor)))
        .collect();
    for (problem, subject) in prepared {
        match subject {
            Ok(subject) => subjects.push(subject),
            // What a target refuses it need not compute; what a compiler chokes on is a fault.
            Err(d) if d.class == Class::Request => {
                report.notes.push(format!("left out {problem}: {}", d.message))
            }
            Err(d) => {
                return Err(d.note(format!(
                    "while preparing `{} {problem}`, a tail of what was asked for",
                    family.name()
                )));
            }
        }
    }
    let none = Inputs::new();
    let mut tally: BTreeMap<(usize, String), Tally> = BTreeMap::new();
    let mut turns = vec![0; subjects.len()];
    for plan in plans(subjects.len(), !options.given.is_empty()) {
        if start.elapsed() > options.budget && turns[plan.subject] > 0 {
            report.skipped += 1;
            continue;
        }
        let subject = &subjects[plan.subject];
        let given = if plan.given { &options.given } else { &none };
        let source = Source { family: plan.inputs, given, turn: turns[plan.subject], seed: options.seed };
        turns[plan.subject] += 1;
        let found = subject.run(source)?;
        for (output, judged) in &found.outputs {
            let t = tally.entry((plan.subject, output.clone())).or_default();
            t.elements += judged.elements;
            t.undecided += judged.undecided;
            t.tight += judged.tight;
            t.nonzero += judged.nonzero;
        }
        let failed = found.failure.clone();
        add(&mut report, found);
        if let Some(failure) = failed {
            let deadline = Instant::now() + options.shrink_budget;
            let smaller = shrink::smallest(subject, config, executor, source, deadline)?;
            fail(&mut report, failure);
            report.smallest = smaller;
            break;
        }
    }
    if options.batch_invariant && report.failure.is_none() {
        match invariance::check(family, problem, config, executor, options.seed)? {
            Ok(note) => report.notes.push(note),
            Err(failure) => fail(&mut report, failure),
        }
    }
    decide(&mut report, &subjects, &tally);
    report.seconds = start.elapsed().as_secs_f64();
    Ok(report)
}

/// What is known of one output of one problem over all of its cases.
#[derive(Default)]
struct Tally {
    elements: usize,
    undecided: usize,
    tight: usize,
    nonzero: usize,
}

struct Plan {
    subject: usize,
    inputs: &'static InputFamily,
    given: bool,
}

/// The cases in their order: real data and the plainest case of the problem, then the small problems, then the rest.
fn plans(subjects: usize, given: bool) -> Vec<Plan> {
    let plan = |subject, n: usize| Plan { subject, inputs: &FAMILIES[n % FAMILIES.len()], given: false };
    let others = FAMILIES.len() - 1;
    let mut plans: Vec<Plan> = Vec::new();
    if given {
        plans.push(Plan { given: true, ..plan(0, 0) });
    }
    plans.push(plan(0, 0));
    for subject in 1..subjects {
        let rotating = (0..DERIVED_CASES - 1).map(|n| 1 + ((subject - 1) * (DERIVED_CASES - 1) + n) % others);
        plans.extend(std::iter::once(0).chain(rotating).map(|n| plan(subject, n)));
    }
    plans.extend((1..FAMILIES.len()).map(|n| plan(0, n)));
    plans
}

fn empty(
    family: &dyn Family,
    problem: &Problem,
    config: &Config,
    executor: &dyn Executor,
    seed: u64,
) -> Report {
    Report {
        kernel: family.name().to_string(),
        problem: problems::text(family, problem),
        config: config.clone(),
        executor: executor.name(),
        verdict: Verdict::Held,
        why: None,
        cases: Vec::new(),
        worst: None,
        failure: None,
        smallest: None,
        elements: 0,
        undecided: 0,
        skipped: 0,
        seed,
        seconds: 0.0,
        notes: Vec::new(),
    }
}

fn add(report: &mut Report, found: Found) {
    report.elements += found.report.elements;
    report.undecided += found.report.undecided;
    if let Some(element) = found.worst
        && report.worst.as_ref().is_none_or(|w| element.margin > w.element.margin)
    {
        let case = case_name(report, &found.report.case, &found.report.problem);
        report.worst = Some(Worst { case, element });
    }
    report.cases.push(found.report);
}

fn fail(report: &mut Report, failure: Failure) {
    report.verdict = Verdict::Failed;
    report.why = Some(failure.message.clone());
    if let Some(element) = &failure.element {
        let case = case_name(report, &failure.case, &failure.problem);
        report.worst = Some(Worst { case, element: element.clone() });
    }
    report.failure = Some(failure);
}

fn case_name(report: &Report, case: &str, problem: &str) -> String {
    if problem == report.problem { case.to_string() } else { format!("{case} on {problem}") }
}

/// Where nothing failed: whether the bounds proved something of each output of each problem.
fn decide(report: &mut Report, subjects: &[Subject<'_>], tally: &BTreeMap<(usize, String), Tally>) {
    if report.verdict == Verdict::Failed {
        return;
    }
    for ((subject, output), t) in tally {
        let problem = &subjects[*subject].text;
        let why = if t.elements == t.undecided {
            format!(
                "no element of `{output}` has a finite bound in any case of {problem}: the computation is too ill-conditioned"
            )
        } else if t.tight == 0 && t.nonzero > 0 {
            format!("every case of {problem} is vacuous: zeros would pass as `{output}`")
        } else {
            continue;
        };
        report.verdict = Verdict::Undecided;
        report.why = Some(why);
        return;
    }
}
