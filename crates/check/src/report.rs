//! What a check found, for people and for programs.

use serde::Serialize;
use tilewright_diag::{Diagnostic, Span};
use tilewright_kernels::Config;

use crate::judge::Element;

/// Whether a kernel is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every judged element lies within its bound, and the bounds say something.
    Held,
    /// Something is wrong.
    Failed,
    /// Nothing is wrong, but the bounds do not prove the kernel right.
    Undecided,
}

/// The outcome of a check.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The kernel family.
    pub kernel: String,
    /// The problem, as on the command line.
    pub problem: String,
    /// The config that was checked.
    pub config: Config,
    /// What ran it.
    pub executor: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Why it failed or is undecided.
    pub why: Option<String>,
    /// Every case that was run, in order.
    pub cases: Vec<CaseReport>,
    /// The element closest to its bound, or, where the check failed, the one furthest beyond.
    pub worst: Option<Worst>,
    /// The first thing that went wrong.
    pub failure: Option<Failure>,
    /// The smallest problem found that fails, with what goes wrong there.
    pub smallest: Option<Smallest>,
    /// Elements that were held against a bound, in all cases.
    pub elements: usize,
    /// Of those, elements whose bound is infinite.
    pub undecided: usize,
    /// Cases that were left out because the time was used up.
    pub skipped: usize,
    /// The seed of all inputs.
    pub seed: u64,
    /// How long it took.
    pub seconds: f64,
    /// What else a reader should know.
    pub notes: Vec<String>,
}

/// One case: one problem with one family of inputs.
#[derive(Clone, Debug, Serialize)]
pub struct CaseReport {
    /// The family of inputs.
    pub case: String,
    /// The problem, as on the command line.
    pub problem: String,
    /// How many grid cells of the last kernel were judged.
    pub cells: usize,
    /// How many it has.
    pub cells_total: usize,
    /// Whether the family's own reference was computed; else results are held to the kernel's float64 value alone.
    pub reference: bool,
    /// Elements that were held against a bound.
    pub elements: usize,
    /// Of those, elements whose bound is infinite.
    pub undecided: usize,
    /// Elements where a result of zero would have failed.
    pub tight: usize,
    /// Whether a result of zeros would have passed although the true result is not zero.
    pub vacuous: bool,
    /// Elements that are wrong.
    pub wrong: usize,
    /// The greatest part of its bound that a right element uses.
    pub margin: Option<f64>,
    /// How long it took.
    pub seconds: f64,
}

/// The worst element.
#[derive(Clone, Debug, Serialize)]
pub struct Worst {
    /// The case, and its problem where it is another than the report's.
    pub case: String,
    /// The element.
    #[serde(flatten)]
    pub element: Element,
}

/// Something that is wrong.
#[derive(Clone, Debug, Serialize)]
pub struct Failure {
    /// Stable name: `check/wrong-value`, `check/overflow`, `check/source-disagrees`, `check/unwritten`, `check/missing-output`,
    /// `check/input-changed`, `check/out-of-bounds`, `check/batch-variant`, or the interpreter's.
    pub code: &'static str,
    /// What, in one sentence.
    pub message: String,
    /// The family of inputs.
    pub case: String,
    /// The problem, as on the command line.
    pub problem: String,
    /// The element that is furthest off.
    pub element: Option<Element>,
    /// Where the kernel's source stores that element's output.
    pub stored_at: Option<Span>,
    /// The findings behind it, with the kernel's source line where it is known.
    pub diagnostics: Vec<Diagnostic>,
}

/// The smallest problem found that fails.
#[derive(Clone, Debug, Serialize)]
pub struct Smallest {
    /// The problem, as on the command line.
    pub problem: String,
    /// What goes wrong there.
    pub failure: Failure,
    /// How many smaller problems were tried.
    pub tried: usize,
}

impl Report {
    /// Whether the process that made the check should exit with success.
    pub fn held(&self) -> bool {
        self.verdict == Verdict::Held
    }

    /// How many cases were vacuous.
    pub fn vacuous(&self) -> usize {
        self.cases.iter().filter(|c| c.vacuous).count()
    }
}
