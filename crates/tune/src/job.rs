//! What the tuner and its child processes say to each other.

use serde::{Deserialize, Serialize};
use tilewright_kernels::Config;
use tilewright_measure::timing::{Plan, Series};

/// What a child process is asked to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The kernel family.
    pub kernel: String,
    /// The problem, as `Problem::parse` reads its words.
    pub problem: Vec<String>,
    /// The CPU that code is made for, as `CpuFeatures::parse` reads it.
    pub features: String,
    /// Threads that run the kernel.
    pub threads: usize,
    /// Decides inputs and orders.
    pub seed: u64,
    /// What to do with it.
    pub task: Task,
}

/// One of the two things that candidates go through.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// Hold a config's results against the reference.
    Check {
        /// The candidate.
        config: Config,
        /// Whether its rows must not depend on each other.
        batch_invariant: bool,
    },
    /// Time configs, which take turns.
    Time {
        /// The contestants.
        configs: Vec<Config>,
        /// How long.
        rounds: Rounds,
    },
}

/// How long a timing goes on: the part of a [`Plan`] that the tuner decides.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rounds {
    /// Rounds that are recorded whatever they take.
    pub least: usize,
    /// Rounds after which it ends.
    pub most: usize,
    /// No round starts later than this, in seconds.
    pub seconds: f64,
}

impl Rounds {
    /// The plan of a run that is seeded with `seed`.
    pub fn plan(self, seed: u64) -> Plan {
        Plan {
            warmup_rounds: 1,
            min_rounds: self.least,
            max_rounds: self.most,
            max_seconds: self.seconds,
            seed,
            ..Plan::default()
        }
    }
}

/// What a child process answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The family, the lowering or the compiler refused the config.
    Refused {
        /// In the refuser's words.
        reason: String,
    },
    /// A tool failed (the compiler, the loader, the disk): nothing is known of the config.
    Faulted {
        /// In the tool's words.
        reason: String,
    },
    /// To [`Task::Check`].
    Checked(Checked),
    /// To [`Task::Time`], in the order of the configs.
    Timed(Vec<Timed>),
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Checked {
    /// Every result is right.
    Held,
    /// A result is wrong, and which.
    Wrong(String),
    /// Nothing is wrong, but the bounds do not prove the results right, and why.
    Undecided(String),
    /// Every result is right, but a row's depends on the rows beside it.
    Variant(String),
}

/// What the clock said of one config.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timed {
    /// Seconds of each round.
    pub seconds: Vec<f64>,
    /// Calls inside one timed region.
    pub inner_repeats: u64,
    /// What went wrong while it ran: an input that changed, results that differ from run to run, a failed launch.
    pub fault: Option<String>,
}

impl Timed {
    /// As a series, to be compared with another of the same run.
    pub fn series(&self, config: &Config) -> Series {
        Series {
            name: config.to_string(),
            seconds: self.seconds.clone(),
            inner_repeats: self.inner_repeats,
            failure: None,
        }
    }
}
