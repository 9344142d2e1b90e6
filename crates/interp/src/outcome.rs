//! What a run hands back.

use std::collections::BTreeMap;
use std::ops::Range;

use tilewright_diag::Diagnostic;
use tilewright_dtype::DType;

/// What a run hands back.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The program's outputs by name.
    pub outputs: BTreeMap<String, Values>,
    /// What is wrong with the program: `interp/poison-stored`, `interp/second-writer`, `interp/unwritten`.
    pub report: Vec<Diagnostic>,
    /// Why whole tiles are undecided: `interp/undecided-branch`, where rounding decides which body of an `if` runs. No
    /// fault of the program.
    pub undecided: Vec<Diagnostic>,
}

/// One output array.
#[derive(Clone, Debug)]
pub struct Values {
    /// Element type. Only in [`Domain::Exact`](crate::Domain::Exact) are float values rounded to it.
    pub dtype: DType,
    /// Dimensions.
    pub shape: Vec<usize>,
    /// The elements in row-major order; 0 where nothing was written.
    pub v: Vec<f64>,
    /// In [`Domain::Bound`](crate::Domain::Bound): how far a legal result may lie from each element. Infinity:
    /// undecided. An infinite or NaN element with bound 0 is the only legal result. `None`: every bound is 0.
    pub e: Option<Vec<f64>>,
    /// The elements that some cell wrote, as ascending ranges of positions in `v`.
    pub written: Vec<Range<usize>>,
}

/// Whether a result is one that a legal execution may yield.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It lies within the bound.
    Held,
    /// No legal execution yields it.
    Failed,
    /// The bound is infinite: nothing can be said.
    Undecided,
}

impl Values {
    /// The bound of element `i`.
    ///
    /// # Panics
    ///
    /// If there is no such element.
    pub fn bound(&self, i: usize) -> f64 {
        self.e.as_ref().map_or(0.0, |e| e[i])
    }

    /// Judges `actual` as a result for element `i`. The two signed zeros are one value.
    ///
    /// # Panics
    ///
    /// If there is no such element.
    pub fn judge(&self, i: usize, actual: f64) -> Verdict {
        let (v, e) = (self.v[i], self.bound(i));
        let held = if e == f64::INFINITY {
            return Verdict::Undecided;
        } else if v.is_finite() {
            (actual - v).abs() <= e
        } else {
            actual == v || (actual.is_nan() && v.is_nan())
        };
        if held { Verdict::Held } else { Verdict::Failed }
    }
}
