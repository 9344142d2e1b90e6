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
    if options.batch_invariant {
        invariance::rows(family)?;
    }
    let mut report = empty(family, problem, config, executor, options.seed);
    let subjects = subjects(family, problem, config, executor, options, &mut report)?;
    let mut run =
        Run { report, subjects: &subjects, config, executor, options, start, known: BTreeMap::new() };
    for plan in plans(subjects.len(), !options.given.is_empty()) {
        run.case(plan)?;
    }
    run.prove_small_ones()?;
    if options.batch_invariant && run.report.failure.is_none() {
        match invariance::check(family, problem, config, executor, options.seed)? {
            Ok(note) => run.report.notes.push(note),
            Err(failure) => fail(&mut run.report, failure),
        }
    }
    run.decide();
    run.report.seconds = start.elapsed().as_secs_f64();
    Ok(run.report)
}

/// The problem that was asked for, then the small ones, prepared.
fn subjects<'a>(
    family: &'a dyn Family,
    problem: &Problem,
    config: &Config,
    executor: &dyn Executor,
    options: &Options,
    report: &mut Report,
) -> Result<Vec<Subject<'a>>> {
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
                report.notes.push(format!("left out {problem}: {}", d.message));
            }
            Err(d) => {
                let which =
                    format!("while preparing `{} {problem}`, a tail of what was asked for", family.name());
                return Err(d.note(which));
            }
        }
    }
    Ok(subjects)
}

/// A check on its way.
struct Run<'a> {
    report: Report,
    subjects: &'a [Subject<'a>],
    config: &'a Config,
    executor: &'a dyn Executor,
    options: &'a Options,
    start: Instant,
    /// By the place among `subjects`.
    known: BTreeMap<usize, Known>,
}

/// What is known of one problem over its cases so far.
#[derive(Default)]
struct Known {
    /// The families of inputs that were run.
    cases: Vec<&'static str>,
    outputs: BTreeMap<String, Tally>,
}

/// What is known of one output.
#[derive(Default)]
struct Tally {
    elements: usize,
    undecided: usize,
    tight: usize,
    nonzero: usize,
}

impl Run<'_> {
    fn out_of_time(&self) -> bool {
        self.start.elapsed() > self.options.budget
    }

    /// Runs a case, unless something failed before or the time is used up.
    fn case(&mut self, plan: Plan) -> Result<()> {
        if self.report.failure.is_some() {
            return Ok(());
        }
        let turn = self.known.get(&plan.subject).map_or(0, |k| k.cases.len());
        if turn > 0 && self.out_of_time() {
            self.report.skipped += 1;
            return Ok(());
        }
        let subject = &self.subjects[plan.subject];
        let none = Inputs::new();
        let given = if plan.given { &self.options.given } else { &none };
        let source = Source { family: plan.inputs, given, turn, seed: self.options.seed };
        let found = subject.run(source)?;
        let known = self.known.entry(plan.subject).or_default();
        known.cases.push(if plan.given { "" } else { plan.inputs.name });
        for (output, judged) in &found.outputs {
            let t = known.outputs.entry(output.clone()).or_default();
            t.elements += judged.elements;
            t.undecided += judged.undecided;
            t.tight += judged.tight;
            t.nonzero += judged.nonzero;
        }
        let failed = found.failure.clone();
        add(&mut self.report, found);
        if let Some(failure) = failed {
            let deadline = Instant::now() + self.options.shrink_budget;
            self.report.smallest = shrink::smallest(subject, self.config, self.executor, source, deadline)?;
            fail(&mut self.report, failure);
        }
        Ok(())
    }

    /// A small problem has few elements, and its cases may all be vacuous by chance: it is given further ones.
    fn prove_small_ones(&mut self) -> Result<()> {
        for subject in 1..self.subjects.len() {
            for inputs in FAMILIES {
                let known = self.known.get(&subject);
                let run = known.is_some_and(|k| k.cases.contains(&inputs.name));
                if !run && self.idle(subject).is_some() && !self.out_of_time() {
                    self.case(Plan { subject, inputs, given: false })?;
                }
            }
        }
        Ok(())
    }

    /// Why the cases of a problem prove nothing of some output, if that is so.
    fn idle(&self, subject: usize) -> Option<String> {
        let problem = &self.subjects[subject].text;
        self.known.get(&subject)?.outputs.iter().find_map(|(output, t)| {
            if t.elements == t.undecided {
                Some(format!(
                    "no element of `{output}` has a finite bound in any case of {problem}: \
                     the computation is too ill-conditioned"
                ))
            } else if t.tight == 0 && t.nonzero > 0 {
                Some(format!("every case of {problem} is vacuous: zeros would pass as `{output}`"))
            } else {
                None
            }
        })
    }

    /// Where nothing failed: whether the bounds proved something of each output. Of a small problem that is but noted.
    fn decide(&mut self) {
        if self.report.verdict == Verdict::Failed {
            return;
        }
        let given = self.report.cases.iter().find(|c| c.case == "given");
        if let Some(case) = given.filter(|c| c.elements > 0 && c.elements == c.undecided) {
            self.report.verdict = Verdict::Undecided;
            self.report.why = Some(format!(
                "no element has a finite bound on the given data: {} are undecided",
                case.undecided
            ));
        }
        if let Some(why) = self.idle(0) {
            self.report.verdict = Verdict::Undecided;
            self.report.why = Some(why);
        }
        let notes: Vec<String> = (1..self.subjects.len()).filter_map(|s| self.idle(s)).collect();
        self.report.notes.extend(notes);
    }
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
