//! One problem, ready to run, and one run of it that is judged.

use std::collections::BTreeMap;
use std::time::Instant;

use tilewright_diag::{Diagnostic, Result, Span};
use tilewright_dtype::Tensor;
use tilewright_interp::{self as interp, Accuracy, Outcome};
use tilewright_ir::{OpKind, Program};
use tilewright_kernels::{Config, Family, Inputs, Problem, Work};

use crate::cost;
use crate::executor::{Executor, Ran, Ready};
use crate::inputs::{InputFamily, draw};
use crate::judge::{Element, Judged, Wrong, judge};
use crate::problems;
use crate::report::{CaseReport, Failure};

/// How much of the interpreter's time (see [`crate::cost`]) a case may take.
const CELLS_LIMIT: f64 = 4e7;
/// As much more for the first case of a problem.
const FIRST: f64 = 4.0;
/// How many operations a reference may take; a transcendental function counts as 20.
const REFERENCE_LIMIT: f64 = 8e7;

/// A problem with its program, prepared on an executor.
pub(crate) struct Subject<'a> {
    pub family: &'a dyn Family,
    pub problem: Problem,
    /// The problem as one types it.
    pub text: String,
    pub program: Program,
    ready: Box<dyn Ready>,
    accuracy: Accuracy,
}

/// Where a case's inputs come from.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub family: &'static InputFamily,
    /// Operands that the caller gives; the family fills in the others.
    pub given: &'a Inputs,
    /// Which of the problem's cases it is: moves the judged cells about.
    pub turn: usize,
    pub seed: u64,
}

/// What a case found.
pub(crate) struct Found {
    pub report: CaseReport,
    pub outputs: BTreeMap<String, Judged>,
    pub worst: Option<Element>,
    pub failure: Option<Failure>,
}

impl<'a> Subject<'a> {
    pub fn new(
        family: &'a dyn Family,
        problem: Problem,
        config: &Config,
        executor: &dyn Executor,
    ) -> Result<Subject<'a>> {
        let program = family.build(&problem, config)?;
        let ready = executor.prepare(&program)?;
        Ok(Subject {
            text: problems::text(family, &problem),
            family,
            problem,
            program,
            ready,
            accuracy: executor.accuracy(),
        })
    }

    /// The inputs of a case.
    pub fn inputs(&self, source: Source<'_>) -> Result<Inputs> {
        let mut inputs = draw(source.family, self.family, &self.problem, &self.program, source.seed)?;
        for (name, tensor) in source.given {
            inputs.insert(name.clone(), tensor.clone());
        }
        Ok(inputs)
    }

    /// The outputs of a run, without judgement.
    pub fn outputs(&self, inputs: &Inputs) -> Result<BTreeMap<String, Tensor>> {
        Ok(self.ready.run(inputs, None)?.outputs)
    }

    /// Runs one case and judges it.
    pub fn run(&self, source: Source<'_>) -> Result<Found> {
        let start = Instant::now();
        let inputs = self.inputs(source)?;
        let generous = if source.turn == 0 { FIRST } else { 1.0 };
        let cells = cost::cells(&self.program, CELLS_LIMIT * generous, source.turn);
        let bounds = self.bounds(&inputs, cells.as_deref())?;
        let before: Vec<u64> = inputs.values().map(Tensor::checksum).collect();
        let ran = self.ready.run(&inputs, cells.as_deref())?;
        let changed = inputs.iter().zip(before).find(|((_, t), sum)| t.checksum() != *sum);
        let changed = changed.map(|((name, _), _)| input_changed(name));
        let reference = match reference_cost(self.family.work(&self.problem)) <= REFERENCE_LIMIT * generous {
            true => Some(self.family.reference(&self.problem, &inputs)?),
            false => None,
        };
        let mut outputs = BTreeMap::new();
        let mut failure = self.faults(source, &bounds, &ran, changed);
        for (name, values) in &bounds.outputs {
            let Some(actual) =
                ran.outputs.get(name).filter(|t| t.dtype() == values.dtype && t.shape() == values.shape)
            else {
                let message = format!("the run made no output `{name}: {}{:?}`", values.dtype, values.shape);
                failure.get_or_insert(self.failure(source, "check/missing-output", message));
                continue;
            };
            let reference = reference.as_ref().and_then(|r| r.get(name)).map(Vec::as_slice);
            outputs.insert(name.clone(), judge(name, actual, values, reference)?);
        }
        if failure.is_none() {
            failure = outputs.values().find_map(|j| j.worst_wrong.as_ref()).map(|w| self.wrong(source, w));
        }
        // On a user's own data no reason makes it right.
        if failure.is_none() && (self.family.overflows().is_none() || !source.given.is_empty()) {
            let lost = outputs.values().find_map(|j| j.lost.clone());
            failure = lost.map(|element| self.wrong(source, &(Wrong::Lost, element)));
        }
        Ok(self.found(source, cells, reference.is_some(), outputs, failure, start))
    }

    fn bounds(&self, inputs: &Inputs, cells: Option<&[usize]>) -> Result<Outcome> {
        let (domain, options) = (interp::Domain::Bound(self.accuracy), interp::Options::default());
        match cells {
            Some(cells) => interp::run_cells(&self.program, inputs, domain, &options, cells),
            None => interp::run(&self.program, inputs, domain, &options),
        }
    }

    /// What is wrong besides values: with the program, then with the run.
    fn faults(
        &self,
        source: Source<'_>,
        bounds: &Outcome,
        ran: &Ran,
        changed: Option<Diagnostic>,
    ) -> Option<Failure> {
        let found: Vec<Diagnostic> =
            bounds.report.iter().chain(&ran.faults).cloned().chain(changed).collect();
        let first = found.first()?;
        let mut failure = self.failure(source, first.code, first.message.clone());
        failure.diagnostics = found;
        Some(failure)
    }

    fn wrong(&self, source: Source<'_>, (kind, element): &(Wrong, Element)) -> Failure {
        let Element { output, index, value, reference, bound, .. } = element;
        let (code, message) = match kind {
            Wrong::Unwritten => (
                "check/unwritten",
                format!("the run did not write `{output}`{index:?}, which is {reference}"),
            ),
            Wrong::Source => (
                "check/source-disagrees",
                format!(
                    "the kernel computes {value} for `{output}`{index:?} in float64, its reference {reference}: \
                     the kernel's source is wrong, or its reference is"
                ),
            ),
            Wrong::Lost => (
                "check/overflow",
                format!(
                    "`{output}`{index:?} is {value}, its reference {reference}: a value on the way is too large for its type"
                ),
            ),
            Wrong::Value => (
                "check/wrong-value",
                format!(
                    "`{output}`{index:?} is {value}, its reference {reference}, and rounding explains {bound:e}"
                ),
            ),
        };
        let stored_at = self.stored_at(output);
        Failure { element: Some(element.clone()), stored_at, ..self.failure(source, code, message) }
    }

    /// Where the source stores an output.
    fn stored_at(&self, output: &str) -> Option<Span> {
        let mut found = None;
        for kernel in &self.program.kernels {
            kernel.walk(&mut |op| {
                if let OpKind::Store { array } = op.kind
                    && kernel.operand(array).name == output
                {
                    found = Some(op.loc.span());
                }
            });
        }
        found
    }

    fn failure(&self, source: Source<'_>, code: &'static str, message: String) -> Failure {
        Failure {
            code,
            message,
            case: source.name(),
            problem: self.text.clone(),
            element: None,
            stored_at: None,
            diagnostics: Vec::new(),
        }
    }

    fn found(
        &self,
        source: Source<'_>,
        cells: Option<Vec<usize>>,
        reference: bool,
        outputs: BTreeMap<String, Judged>,
        failure: Option<Failure>,
        start: Instant,
    ) -> Found {
        let cells_total = self.program.kernels.last().map_or(0, |k| k.cells());
        let sum = |of: fn(&Judged) -> usize| outputs.values().map(of).sum();
        let worst = outputs.values().filter_map(|j| j.worst.as_ref());
        let worst = worst.max_by(|a, b| a.margin.total_cmp(&b.margin)).cloned();
        let report = CaseReport {
            case: source.name(),
            problem: self.text.clone(),
            cells: cells.map_or(cells_total, |c| c.len()),
            cells_total,
            reference,
            elements: sum(|j| j.elements),
            undecided: sum(|j| j.undecided),
            tight: sum(|j| j.tight),
            vacuous: outputs.values().any(Judged::vacuous),
            wrong: sum(|j| j.wrong),
            margin: worst.as_ref().map(|w| w.margin),
            seconds: start.elapsed().as_secs_f64(),
        };
        Found { report, outputs, worst, failure }
    }
}

impl Source<'_> {
    /// The case's name in reports.
    pub fn name(&self) -> String {
        if self.given.is_empty() { self.family.name.to_string() } else { "given".to_string() }
    }
}

fn reference_cost(work: Work) -> f64 {
    work.flops + 20.0 * work.transcendentals
}

fn input_changed(name: &str) -> Diagnostic {
    let d = Diagnostic::verdict("check/input-changed", format!("the run changed the input `{name}`"));
    *d.rule("a kernel leaves its inputs as they are")
}
