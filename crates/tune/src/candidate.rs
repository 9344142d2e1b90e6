//! One config on its way through a tuning run.

use tilewright_diag::Result;
use tilewright_ir::print;
use tilewright_kernels::Config;
use tilewright_run::cache::Key;
use tilewright_store::Outcome;
use tilewright_target_cpu::{Options, lower};

use crate::model::{Estimate, Model};
use crate::report::{Entry, Rejected};
use crate::request::Request;

/// One config.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub config: Config,
    pub estimate: Option<Estimate>,
    pub ir_hash: String,
    pub code_hash: String,
    pub fate: Fate,
    /// Whether its fate was known before this run.
    pub resumed: bool,
    /// Whether it took part in this run's last comparison.
    pub finalist: bool,
    /// Whether its rows are known to be independent, or known not to be.
    pub invariant: Option<bool>,
}

/// What is known of a config.
#[derive(Clone, Debug)]
pub(crate) enum Fate {
    /// Nothing yet.
    Untried,
    /// Its results hold. `seconds` is a median; `score` relates it to the yardstick's in the same rounds.
    Measured { seconds: f64, score: Option<f64> },
    /// It may not be used.
    Rejected(Outcome),
    /// A tool failed on the way: another run may try it again.
    Faulted(String),
}

impl Candidate {
    /// Builds, lowers and estimates a config. A config that the family or the target refuses is rejected.
    pub fn new(request: &Request<'_>, model: &Model, config: Config) -> Candidate {
        let mut candidate = Candidate {
            config,
            estimate: None,
            ir_hash: String::new(),
            code_hash: String::new(),
            fate: Fate::Untried,
            resumed: false,
            finalist: false,
            invariant: None,
        };
        if let Err(refusal) = candidate.prepare(request, model) {
            candidate.fate = Fate::Rejected(Outcome::Rejected { reason: refusal.to_string() });
        }
        candidate
    }

    fn prepare(&mut self, request: &Request<'_>, model: &Model) -> Result<()> {
        let program = request.family.build(request.problem, &self.config)?;
        self.ir_hash = hash(&print(&program));
        let lowered = lower(&program, Options::new(request.features))?;
        self.code_hash = hash(&lowered.text);
        self.estimate = Some(model.estimate(&program, &request.family.work(request.problem)));
        Ok(())
    }

    /// Its measured seconds.
    pub fn seconds(&self) -> Option<f64> {
        match self.fate {
            Fate::Measured { seconds, .. } => Some(seconds),
            _ => None,
        }
    }

    /// By what measured candidates are ordered: the yardstick's seconds in the same rounds as a unit, where they are known.
    /// Times without a yardstick are those of earlier runs, which compare with their like alone.
    pub fn rank(&self) -> f64 {
        match self.fate {
            Fate::Measured { score: Some(score), .. } => score,
            Fate::Measured { seconds, .. } => seconds,
            _ => f64::INFINITY,
        }
    }

    pub fn is_untried(&self) -> bool {
        matches!(self.fate, Fate::Untried)
    }

    /// The model's seconds; a config without an estimate comes last.
    pub fn estimated(&self) -> f64 {
        self.estimate.as_ref().map_or(f64::INFINITY, |e| e.seconds)
    }

    /// Whether it may win.
    pub fn is_eligible(&self, batch_invariant: bool) -> bool {
        self.seconds().is_some() && (!batch_invariant || self.invariant == Some(true))
    }

    pub fn entry(&self) -> Entry {
        Entry {
            config: self.config.clone(),
            seconds: self.seconds(),
            relative: match self.fate {
                Fate::Measured { score, .. } => score,
                _ => None,
            },
            finalist: self.finalist,
            estimate: self.estimate.as_ref().map(|e| e.seconds),
            model: self.estimate.clone(),
        }
    }

    pub fn rejected(&self) -> Option<Rejected> {
        match &self.fate {
            Fate::Rejected(outcome) => Some(rejected(&self.config, outcome)),
            Fate::Faulted(reason) => {
                Some(Rejected { config: self.config.clone(), outcome: "faulted", reason: reason.clone() })
            }
            _ => None,
        }
    }
}

pub(crate) fn rejected(config: &Config, outcome: &Outcome) -> Rejected {
    let reason = match outcome {
        Outcome::Rejected { reason } | Outcome::Pruned { reason } => reason.clone(),
        Outcome::Wrong { detail } | Outcome::Crashed { detail } => detail.clone(),
        Outcome::Hung => "it did not end within its time".to_string(),
        Outcome::Measured => String::new(),
    };
    Rejected { config: config.clone(), outcome: outcome.name(), reason }
}

fn hash(text: &str) -> String {
    Key::of([text.as_bytes()]).to_string()
}
