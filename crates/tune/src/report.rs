//! What a tuning run found.

use serde::Serialize;
use tilewright_kernels::Config;

use crate::model::Estimate;

/// What a tuning run found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The config to use: it was checked, and in the last comparison no other was shown to be faster.
    pub best: Entry,
    /// The family's default config in the same comparison.
    pub default: Entry,
    /// The default's seconds over the best's, round by round where both were timed in one run.
    pub speedup: Option<f64>,
    /// Configs that were checked or measured by this run.
    pub tried: usize,
    /// Configs whose results were taken from the store.
    pub resumed: usize,
    /// Configs that the budget left for another run.
    pub untried: usize,
    /// Every measured config, fastest first: by `relative`, those of earlier runs by their seconds.
    pub measured: Vec<Entry>,
    /// Every config that may not be used or was not worth a measurement, with the reason.
    pub rejected: Vec<Rejected>,
    /// Whether only batch-invariant configs were kept.
    pub batch_invariant: bool,
    /// Seconds allowed.
    pub budget: f64,
    /// Seconds taken.
    pub used: f64,
    /// Records of the store that could not be read, in its words.
    pub warnings: Vec<String>,
}

/// A config and its times.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// The config.
    pub config: Config,
    /// Median seconds of a launch; absent where it was not measured.
    pub seconds: Option<f64>,
    /// Its seconds over the default's in the same rounds (where the default is not right, over those of the first right
    /// config); absent where an earlier run measured it.
    pub relative: Option<f64>,
    /// Whether it took part in this run's last comparison, of many rounds; other times are of a few rounds each.
    pub finalist: bool,
    /// Seconds by the model: an estimate, made before the config was compiled.
    pub estimate: Option<f64>,
    /// What the estimate is made of.
    pub model: Option<Estimate>,
}

/// A config that was not kept.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rejected {
    /// The config.
    pub config: Config,
    /// `pruned`, `rejected`, `wrong`, `crashed` or `hung`; `faulted` where a tool failed and nothing is known of it.
    pub outcome: &'static str,
    /// Why.
    pub reason: String,
}
