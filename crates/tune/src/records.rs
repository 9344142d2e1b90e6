//! Candidates as records in the store, and back.

use std::collections::{BTreeMap, HashSet};

use tilewright_diag::Result;
use tilewright_kernels::{Config, Problem};
use tilewright_store::{self as store, Outcome, Provenance, Query, Store, TuneRecord, now};

use crate::candidate::{Candidate, Fate};
use crate::request::Request;

/// The target of the records.
const TARGET: &str = "cpu";

/// In [`Provenance::versions`]: what part a record's time played. Times of one run compare, times of different runs less.
const ROLE: &str = "role";
/// The winner of a last comparison.
const BEST: &str = "best";

/// In [`Provenance::versions`] of a winner: what was asked of all that took part.
const AMONG: &str = "among";

/// In [`Provenance::versions`]: the CPU that code was made for.
const FEATURES: &str = "features";

/// The part that a record's time played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// One of many candidates.
    Screened,
    /// Timed in the last comparison.
    Finalist,
    /// Won it.
    Best,
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Role::Screened => "screened",
            Role::Finalist => "finalist",
            Role::Best => BEST,
        }
    }
}

/// The records of configs that won a tuning run: what [`Store::best`] and [`Store::nearest`] are to choose from, since a
/// lucky time of a candidate that lost may be lower. `machine` is `ceilings.host.key()`.
pub fn winners(query: Query, threads: usize, features: &str) -> Query {
    query.threads(threads.try_into().unwrap_or(u32::MAX)).version(ROLE, BEST).version(FEATURES, features)
}

/// The store as one request sees it.
pub(crate) struct Records<'a> {
    store: &'a Store,
    kernel: String,
    problem: store::Problem,
    machine: String,
    compiler: String,
    features: String,
    threads: u32,
    /// Whether only batch-invariant configs take part.
    among: &'static str,
}

/// What the store knew before the run.
#[derive(Default)]
pub(crate) struct Known {
    /// Records that speak of today's code, latest last.
    trials: BTreeMap<Config, Vec<TuneRecord>>,
    pruned: HashSet<(Config, String)>,
    among: &'static str,
    /// What could not be read.
    pub torn: Vec<String>,
}

impl<'a> Records<'a> {
    pub fn new(request: &Request<'_>, store: &'a Store, compiler: String) -> Result<Records<'a>> {
        Ok(Records {
            store,
            kernel: request.family.name().to_string(),
            problem: store_problem(request.problem)?,
            machine: request.ceilings.host.key(),
            compiler,
            features: request.features.to_string(),
            threads: request.threads.try_into().unwrap_or(u32::MAX),
            among: if request.batch_invariant { "batch-invariant" } else { "all" },
        })
    }

    /// What is known of this problem on this machine with these threads, features and compiler.
    pub fn known(&self) -> Result<Known> {
        let query = Query::of(&self.kernel, &self.problem, TARGET, &self.machine)
            .threads(self.threads)
            .compiler(&self.compiler)
            .version(FEATURES, &self.features);
        let reading = self.store.tunes(&query)?;
        let torn = reading.torn.iter().map(|d| d.message.clone()).collect();
        let mut known = Known { among: self.among, torn, ..Known::default() };
        for stored in reading.value {
            let config = Config(stored.record.config.clone());
            match &stored.record.outcome {
                Outcome::Pruned { reason } => drop(known.pruned.insert((config, reason.clone()))),
                _ => known.trials.entry(config).or_default().push(stored.record),
            }
        }
        Ok(known)
    }

    /// Keeps what is known of a candidate.
    pub fn keep(&self, candidate: &Candidate, role: Role) -> Result<()> {
        let (outcome, seconds) = match &candidate.fate {
            Fate::Untried | Fate::Faulted(_) => return Ok(()),
            Fate::Measured { seconds, .. } => (Outcome::Measured, Some(*seconds)),
            Fate::Rejected(outcome) => (outcome.clone(), None),
        };
        let record = TuneRecord {
            kernel: self.kernel.clone(),
            problem: self.problem.clone(),
            target: TARGET.to_string(),
            machine: self.machine.clone(),
            config: candidate.config.0.clone(),
            seconds,
            estimate: candidate.estimate.as_ref().map(|e| e.seconds).filter(|s| s.is_finite() && *s > 0.0),
            checked: outcome == Outcome::Measured,
            outcome,
            batch_invariant: candidate.invariant,
            provenance: self.provenance(&candidate.ir_hash, &candidate.code_hash, role),
        };
        self.store.put_tune(&record).map(drop)
    }

    /// Keeps the reasons of pruned configs that the store does not have yet.
    pub fn keep_pruned(&self, pruned: &[(Config, String)], known: &Known) -> Result<()> {
        let new = pruned.iter().filter(|pair| !known.pruned.contains(*pair));
        let records: Vec<TuneRecord> = new
            .map(|(config, reason)| TuneRecord {
                kernel: self.kernel.clone(),
                problem: self.problem.clone(),
                target: TARGET.to_string(),
                machine: self.machine.clone(),
                config: config.0.clone(),
                seconds: None,
                estimate: None,
                outcome: Outcome::Pruned { reason: reason.clone() },
                checked: false,
                batch_invariant: None,
                provenance: self.provenance("", "", Role::Screened),
            })
            .collect();
        self.store.put_tunes(&records)
    }

    fn provenance(&self, ir_hash: &str, code_hash: &str, role: Role) -> Provenance {
        let versions = [
            ("tilewright", env!("CARGO_PKG_VERSION")),
            (FEATURES, self.features.as_str()),
            (ROLE, role.name()),
            (AMONG, self.among),
        ];
        Provenance {
            ir_hash: ir_hash.to_string(),
            code_hash: code_hash.to_string(),
            compiler: self.compiler.clone(),
            machine: self.machine.clone(),
            versions: versions.map(|(name, v)| (name.to_string(), v.to_string())).into(),
            created: now(),
            threads: self.threads,
        }
    }
}

impl Known {
    /// Gives a candidate the fate that it met before, where its code is still the same.
    pub fn resume(&self, candidate: &mut Candidate, batch_invariant: bool) {
        // What is refused before there is code is known by its config.
        if let Fate::Rejected(outcome) = &candidate.fate {
            candidate.resumed = self.of(candidate).any(|r| r.outcome == *outcome);
            return;
        }
        // A variant config is right; it was refused because that run asked for more.
        let is_open = |r: &&TuneRecord| {
            !batch_invariant
                && r.batch_invariant == Some(false)
                && matches!(r.outcome, Outcome::Rejected { .. })
        };
        let Some(last) = self.of(candidate).filter(|r| !is_open(r)).last() else { return };
        candidate.fate = match &last.outcome {
            Outcome::Measured => match last.seconds.filter(|_| last.checked) {
                Some(seconds) => Fate::Measured { seconds, score: None },
                None => return,
            },
            other => Fate::Rejected(other.clone()),
        };
        candidate.resumed = true;
        candidate.invariant = self.of(candidate).filter_map(|r| r.batch_invariant).last();
    }

    /// When the candidate last won over others of which the same was asked as is now, if it did.
    pub fn won(&self, candidate: &Candidate) -> Option<i64> {
        let is = |r: &TuneRecord, name, value| r.provenance.versions.get(name).is_some_and(|v| v == value);
        let won = self.of(candidate).filter(|r| is(r, ROLE, BEST) && is(r, AMONG, self.among));
        won.map(|r| r.provenance.created).max()
    }

    fn of(&self, candidate: &Candidate) -> impl Iterator<Item = &TuneRecord> + use<'_> {
        let (ir, code) = (candidate.ir_hash.clone(), candidate.code_hash.clone());
        let records = self.trials.get(&candidate.config).into_iter().flatten();
        records.filter(move |r| r.provenance.ir_hash == ir && r.provenance.code_hash == code)
    }
}

fn store_problem(problem: &Problem) -> Result<store::Problem> {
    store::Problem::new(problem.values().iter().map(|(name, value)| (*name, value.to_string())))
}
