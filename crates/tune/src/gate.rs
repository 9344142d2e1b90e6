//! What a candidate must pass before its time counts: a check of the problem itself and of small ones whose sizes end in
//! tails.

use std::time::Duration;

use tilewright_check::{Cpu, Options, Verdict, check};
use tilewright_diag::Result;
use tilewright_kernels::{Config, Family, Problem};

use crate::job::Checked;

/// Small problems beside the one that is tuned: each costs a compilation. Three reach sizes below a tile, an odd count of
/// terms that no tile divides, and tails after whole tiles in rows, columns and terms.
const DERIVED: usize = 3;

/// After the first case of each problem, further ones may begin for this long.
const MORE_CASES: Duration = Duration::from_millis(100);

/// What is asked of a candidate.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub problem: &'a Problem,
    pub config: &'a Config,
    pub seed: u64,
    pub batch_invariant: bool,
}

/// Checks a candidate.
///
/// # Errors
/// Those of [`check`]: what kept the check from being made.
pub(crate) fn judge(family: &dyn Family, cpu: &Cpu, asked: Asked<'_>) -> Result<Checked> {
    let options = Options {
        seed: asked.seed,
        budget: MORE_CASES,
        shrink_budget: Duration::ZERO,
        derived: DERIVED,
        batch_invariant: asked.batch_invariant,
        ..Options::default()
    };
    let report = check(family, asked.problem, asked.config, cpu, &options)?;
    let why = report.why.unwrap_or_default();
    Ok(match (report.verdict, report.failure) {
        (Verdict::Held, _) => Checked::Held,
        (Verdict::Undecided, _) => Checked::Undecided(why),
        (Verdict::Failed, Some(f)) if f.code == "check/batch-variant" => Checked::Variant(f.message),
        (Verdict::Failed, Some(f)) => {
            Checked::Wrong(format!("{} (inputs `{}`, {})", f.message, f.case, f.problem))
        }
        (Verdict::Failed, None) => Checked::Wrong(why),
    })
}
