//! What is recorded.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::problem::Problem;
use crate::row::Keys;

/// A kernel's configuration: tile sizes and choices by name.
pub type Config = BTreeMap<String, i64>;

/// Where a record comes from: enough to tell whether it still speaks of today's code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// Hash of the tile IR's text.
    pub ir_hash: String,
    /// Hash of the emitted code; empty where none was emitted.
    pub code_hash: String,
    /// The compiler and its version, such as `clang 19.1.7`.
    pub compiler: String,
    /// The machine that made the record.
    pub machine: String,
    /// Versions by name: `tilewright`, a kernel's source, a driver.
    pub versions: BTreeMap<String, String>,
    /// Seconds since 1970-01-01T00:00:00Z; [`now`] when the record is made.
    pub created: i64,
    /// Threads that ran the kernel.
    pub threads: u32,
}

/// How one candidate of a tuning run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Outcome {
    /// It ran and was timed.
    Measured,
    /// The target or its compiler refused it.
    Rejected {
        /// Why, in the refuser's words.
        reason: String,
    },
    /// It ran and its result was outside the bound.
    Wrong {
        /// The worst element.
        detail: String,
    },
    /// Its process died.
    Crashed {
        /// The signal or exit status.
        detail: String,
    },
    /// It did not end within its time.
    Hung,
    /// It was not tried.
    Pruned {
        /// The rule that ruled it out.
        reason: String,
    },
}

impl Outcome {
    /// Its name in snake case, as in the JSON form.
    pub fn name(&self) -> &'static str {
        match self {
            Outcome::Measured => "measured",
            Outcome::Rejected { .. } => "rejected",
            Outcome::Wrong { .. } => "wrong",
            Outcome::Crashed { .. } => "crashed",
            Outcome::Hung => "hung",
            Outcome::Pruned { .. } => "pruned",
        }
    }
}

/// One candidate of a tuning run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TuneRecord {
    /// The kernel family.
    pub kernel: String,
    /// The problem it was tuned for.
    pub problem: Problem,
    /// The target, such as `cpu`.
    pub target: String,
    /// The machine whose time this is.
    pub machine: String,
    /// The candidate.
    pub config: Config,
    /// Measured time of one launch, in seconds; required when [`Outcome::Measured`].
    pub seconds: Option<f64>,
    /// The model's time of one launch, in seconds.
    pub estimate: Option<f64>,
    /// How it ended.
    pub outcome: Outcome,
    /// Whether its output was checked against the reference and held.
    pub checked: bool,
    /// Whether a row's result is independent of the other rows, where that was tested.
    pub batch_invariant: Option<bool>,
    /// Where it comes from.
    pub provenance: Provenance,
}

/// One benchmark: ours beside its peers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchRecord {
    /// The kernel family.
    pub kernel: String,
    /// The problem.
    pub problem: Problem,
    /// The target, such as `cpu`.
    pub target: String,
    /// The configuration that ran.
    pub config: Config,
    /// Median time of one launch, in seconds.
    pub seconds: f64,
    /// Confidence interval of the median, in seconds: (low, high).
    pub ci: (f64, f64),
    /// The problem's necessary work, in floating-point operations.
    pub flops: f64,
    /// The problem's necessary traffic, in bytes.
    pub bytes: f64,
    /// The peers that ran beside it.
    pub peers: BTreeMap<String, Peer>,
    /// Where it comes from.
    pub provenance: Provenance,
}

/// A peer's result in the same run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Peer {
    /// Its median time of one launch, in seconds.
    pub seconds: f64,
    /// Its seconds over ours: above 1, ours is faster.
    pub ratio: f64,
}

/// What a check concluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every element lay within its bound.
    Held,
    /// Some element lay outside its bound.
    Failed,
    /// The bound says nothing here.
    Undecided,
}

impl Verdict {
    /// Its name in snake case, as in the JSON form.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Held => "held",
            Verdict::Failed => "failed",
            Verdict::Undecided => "undecided",
        }
    }
}

/// One check of a kernel against its reference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckRecord {
    /// The kernel family.
    pub kernel: String,
    /// The problem.
    pub problem: Problem,
    /// The target, such as `cpu`.
    pub target: String,
    /// The configuration that ran.
    pub config: Config,
    /// The conclusion.
    pub verdict: Verdict,
    /// Input cases run.
    pub cases: u64,
    /// The worst element: its case, index, value, reference and bound.
    pub worst: serde_json::Value,
    /// Where it comes from.
    pub provenance: Provenance,
}

/// A record of any kind. In JSON, the record's own members and `record`: `tune`, `bench` or `check`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// A tuning candidate.
    Tune(TuneRecord),
    /// A benchmark.
    Bench(BenchRecord),
    /// A check.
    Check(CheckRecord),
}

/// The time in whole seconds since 1970-01-01T00:00:00Z, for [`Provenance::created`]; 0 on a clock set before that.
pub fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs().cast_signed())
}

/// What a query asks of a record beyond its columns.
pub(crate) trait Sourced {
    /// Where it comes from.
    fn provenance(&self) -> &Provenance;

    /// Whether it is known to be batch invariant.
    fn batch_invariant(&self) -> bool {
        false
    }
}

/// A kind of record.
pub(crate) trait Storable: Sourced + Serialize + DeserializeOwned {
    /// Its name in the `kind` column.
    const KIND: &'static str;

    /// The columns it is found by.
    fn keys(&self) -> Keys;

    /// Its numbers, each with whether it must be above zero.
    fn numbers(&self) -> Vec<(&'static str, f64, bool)>;

    /// What makes it unfit to be kept, beyond its numbers.
    fn fault(&self) -> Option<String> {
        None
    }
}

impl Sourced for TuneRecord {
    fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    fn batch_invariant(&self) -> bool {
        self.batch_invariant == Some(true)
    }
}

impl Sourced for BenchRecord {
    fn provenance(&self) -> &Provenance {
        &self.provenance
    }
}

impl Sourced for CheckRecord {
    fn provenance(&self) -> &Provenance {
        &self.provenance
    }
}

impl Sourced for Record {
    fn provenance(&self) -> &Provenance {
        match self {
            Record::Tune(r) => &r.provenance,
            Record::Bench(r) => &r.provenance,
            Record::Check(r) => &r.provenance,
        }
    }

    fn batch_invariant(&self) -> bool {
        matches!(self, Record::Tune(r) if Sourced::batch_invariant(r))
    }
}

impl Storable for TuneRecord {
    const KIND: &'static str = "tune";

    fn keys(&self) -> Keys {
        Keys {
            kind: Self::KIND.to_owned(),
            kernel: self.kernel.clone(),
            problem: self.problem.to_string(),
            target: self.target.clone(),
            machine: self.machine.clone(),
            ir_hash: self.provenance.ir_hash.clone(),
            code_hash: self.provenance.code_hash.clone(),
            created: self.provenance.created,
            outcome: self.outcome.name().to_owned(),
            checked: self.checked,
            seconds: self.seconds,
        }
    }

    fn numbers(&self) -> Vec<(&'static str, f64, bool)> {
        let measured = self.seconds.map(|s| ("seconds", s, true));
        measured.into_iter().chain(self.estimate.map(|e| ("estimate", e, true))).collect()
    }

    fn fault(&self) -> Option<String> {
        (self.outcome == Outcome::Measured && self.seconds.is_none())
            .then(|| "it is measured and has no seconds".to_owned())
    }
}

impl Storable for BenchRecord {
    const KIND: &'static str = "bench";

    fn keys(&self) -> Keys {
        Keys {
            kind: Self::KIND.to_owned(),
            kernel: self.kernel.clone(),
            problem: self.problem.to_string(),
            target: self.target.clone(),
            machine: self.provenance.machine.clone(),
            ir_hash: self.provenance.ir_hash.clone(),
            code_hash: self.provenance.code_hash.clone(),
            created: self.provenance.created,
            outcome: "measured".to_owned(),
            checked: false,
            seconds: Some(self.seconds),
        }
    }

    fn numbers(&self) -> Vec<(&'static str, f64, bool)> {
        let ours = [
            ("seconds", self.seconds, true),
            ("ci", self.ci.0, false),
            ("ci", self.ci.1, false),
            ("flops", self.flops, false),
            ("bytes", self.bytes, false),
        ];
        let peers = self
            .peers
            .values()
            .flat_map(|p| [("a peer's seconds", p.seconds, true), ("ratio", p.ratio, true)]);
        ours.into_iter().chain(peers).collect()
    }
}

impl Storable for CheckRecord {
    const KIND: &'static str = "check";

    fn keys(&self) -> Keys {
        Keys {
            kind: Self::KIND.to_owned(),
            kernel: self.kernel.clone(),
            problem: self.problem.to_string(),
            target: self.target.clone(),
            machine: self.provenance.machine.clone(),
            ir_hash: self.provenance.ir_hash.clone(),
            code_hash: self.provenance.code_hash.clone(),
            created: self.provenance.created,
            outcome: self.verdict.name().to_owned(),
            checked: self.verdict == Verdict::Held,
            seconds: None,
        }
    }

    fn numbers(&self) -> Vec<(&'static str, f64, bool)> {
        Vec::new()
    }
}
