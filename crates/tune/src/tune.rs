//! The search: rank, screen, confirm.

mod confirm;
mod contest;
mod screen;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use tilewright_check::invariance::rows;
use tilewright_diag::{Diagnostic, Result};
use tilewright_kernels::Config;
use tilewright_measure::stats::median;
use tilewright_run::tools;
use tilewright_store::{Outcome, Store};

use crate::candidate::{Candidate, Fate, rejected};
use crate::children::Children;
use crate::model::Model;
use crate::records::{Known, Records, Role};
use crate::report::Report;
use crate::request::{Progress, Request, Stage};

/// The share of the budget that the last comparison may take, and the most that it needs, in seconds.
const CONFIRM_SHARE: f64 = 0.2;
const CONFIRM_MOST: f64 = 5.0;

/// Tells the caller where the run stands.
pub type Watch<'a> = &'a mut dyn FnMut(&Progress<'_>);

/// Finds the fastest right config of a problem, within a budget.
///
/// Configs are ranked by the [`Model`]; the default config is measured first, then the others in their order. Each is
/// checked in a child process, then timed in another, in turn with a yardstick (the default, where that is right): what
/// crashes, hangs or is wrong becomes a record, and the run goes on. At the end the best ones are timed again together
/// with the default, which only a config that is shown to be faster replaces. All that is found is kept in `store` when
/// it is found; a later run of the same problem on the same machine, threads, CPU features and compiler measures only
/// configs whose code is new.
///
/// # Errors
/// `run/clang-missing`; `tune/none-right` (class verdict) where no config passed its check; those of the store, of starting
/// processes, and of a family that refuses the problem.
pub fn tune(request: &Request<'_>, store: &Store, watch: Watch<'_>) -> Result<Report> {
    let mut search = Search::begin(request, store)?;
    search.tell(Stage::Ranking, watch);
    search.screen(watch)?;
    search.confirm(watch)?;
    search.report()
}

struct Search<'a> {
    request: &'a Request<'a>,
    children: Children<'a>,
    records: Records<'a>,
    known: Known,
    start: Instant,
    /// The default first, then by the model.
    candidates: Vec<Candidate>,
    pruned: Vec<(Config, String)>,
    /// What all others are timed in turn with: the default, else the first that was right.
    yardstick: Option<usize>,
    /// The longest that a check took which ended.
    slowest_check: Option<Duration>,
    /// Candidates that this run checked or measured.
    tried: usize,
    /// The last comparison's winner, and the default's seconds over its.
    winner: Option<(usize, Option<f64>)>,
}

impl<'a> Search<'a> {
    fn begin(request: &'a Request<'a>, store: &'a Store) -> Result<Search<'a>> {
        let start = Instant::now();
        if request.batch_invariant {
            rows(request.family)?;
        }
        let records = Records::new(request, store, tools::clang()?.version)?;
        let known = records.known()?;
        let model = Model::new(request.ceilings, request.features, request.threads);
        let space = request.family.space(request.problem, request.machine);
        let default = request.family.default_config(request.problem, request.machine);
        let mut candidates = vec![Candidate::new(request, &model, default)];
        for config in space.configs {
            if candidates.iter().all(|c| c.config != config) {
                candidates.push(Candidate::new(request, &model, config));
            }
        }
        candidates[1..].sort_by(|a, b| a.estimated().total_cmp(&b.estimated()));
        let mut pruned = space.pruned;
        prune_equals(&mut candidates, &mut pruned);
        records.keep_pruned(&pruned, &known)?;
        for candidate in &mut candidates {
            known.resume(candidate, request.batch_invariant);
            if !candidate.resumed {
                records.keep(candidate, Role::Screened)?;
            }
        }
        let yardstick = candidates[0].seconds().map(|_| 0);
        Ok(Search {
            request,
            children: Children::new(request),
            records,
            known,
            start,
            candidates,
            pruned,
            yardstick,
            slowest_check: None,
            tried: 0,
            winner: None,
        })
    }

    fn report(self) -> Result<Report> {
        let Some((winner, speedup)) = self.winner else { return Err(self.none_right()) };
        let mut measured: Vec<_> = self.candidates.iter().filter(|c| c.seconds().is_some()).collect();
        measured.sort_by(|a, b| a.rank().total_cmp(&b.rank()));
        let pruned = self
            .pruned
            .iter()
            .map(|(config, reason)| rejected(config, &Outcome::Pruned { reason: reason.clone() }));
        let times = |i: usize| self.candidates[i].seconds();
        Ok(Report {
            best: self.candidates[winner].entry(),
            default: self.candidates[0].entry(),
            speedup: speedup.or_else(|| Some(times(0)? / times(winner)?)),
            tried: self.tried,
            resumed: self.candidates.iter().filter(|c| c.resumed).count(),
            untried: self.candidates.iter().filter(|c| c.is_untried()).count(),
            measured: measured.into_iter().map(Candidate::entry).collect(),
            rejected: self.candidates.iter().filter_map(Candidate::rejected).chain(pruned).collect(),
            batch_invariant: self.request.batch_invariant,
            budget: self.request.budget.as_secs_f64(),
            used: self.elapsed(),
            warnings: self.known.torn,
        })
    }

    fn none_right(&self) -> Box<Diagnostic> {
        let (family, problem) = (self.request.family.name(), self.request.problem);
        let faults = self.candidates.iter().filter_map(|c| match &c.fate {
            Fate::Faulted(reason) => Some((&c.config, reason)),
            _ => None,
        });
        if let Some((config, reason)) = faults.clone().next() {
            let message = format!(
                "nothing was found out about {} configs of `{family} {problem}`, since a tool failed",
                faults.count()
            );
            return Diagnostic::tool("tune/tool-failed", message)
                .note(format!("{config}: {reason}"))
                .help("nothing of it was kept: run it again once the tool works");
        }
        let asked = if self.request.batch_invariant { "right and batch-invariant" } else { "right" };
        let message = format!("no config of `{family} {problem}` was found to be {asked}");
        let reasons = self.candidates.iter().filter_map(Candidate::rejected).take(5);
        let d =
            Diagnostic::verdict("tune/none-right", message).rule("a config is kept once its check has held");
        reasons.fold(d, |d, r| d.note(format!("{} {}: {}", r.config, r.outcome, r.reason)))
    }

    fn elapsed(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    fn tell(&self, stage: Stage, watch: Watch<'_>) {
        let decided = self.candidates.iter().filter(|c| !c.is_untried()).count();
        let of = self.candidates.len();
        let measured = self.candidates.iter().filter(|c| c.is_eligible(self.request.batch_invariant));
        let best =
            measured.filter_map(|c| Some((&c.config, c.seconds()?))).min_by(|a, b| a.1.total_cmp(&b.1));
        let by_time = self.elapsed() / self.request.budget.as_secs_f64().max(1e-9);
        let fraction = (decided as f64 / of as f64).max(by_time).min(1.0);
        watch(&Progress { stage, fraction, decided, of, best });
    }
}

/// The median over rounds of one's seconds over another's: what drifts during a run drifts in both.
fn relative(seconds: &[f64], reference: &[f64]) -> f64 {
    let ratios: Vec<f64> = seconds.iter().zip(reference).map(|(s, r)| s / r).collect();
    median(&ratios)
}

/// Moves configs that yield the code of one before them to the pruned ones.
fn prune_equals(candidates: &mut Vec<Candidate>, pruned: &mut Vec<(Config, String)>) {
    let mut first: HashMap<String, Config> = HashMap::new();
    candidates.retain(|c| {
        if c.code_hash.is_empty() {
            return true;
        }
        let known = first.entry(c.code_hash.clone()).or_insert_with(|| c.config.clone());
        if *known != c.config {
            pruned.push((c.config.clone(), format!("the same code as {known}")));
        }
        *known == c.config
    });
}
