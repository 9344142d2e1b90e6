//! Candidates one batch after another: checked, then timed.

use std::time::Duration;

use tilewright_diag::Result;
use tilewright_measure::stats::median;
use tilewright_store::Outcome;

use super::{CONFIRM_MOST, CONFIRM_SHARE, Search, Watch, relative};
use crate::candidate::{Candidate, Fate};
use crate::children::Ended;
use crate::job::{Answer, Checked, Rounds, Task};
use crate::records::Role;
use crate::request::Stage;

/// Candidates that are timed together, beside the yardstick.
const TOGETHER: usize = 4;

/// The first job of a kind may take so many times the caller's patience.
const UNINFORMED: u32 = 6;

impl Search<'_> {
    /// Checks and times candidates until the budget, less what the last comparison needs, is used up.
    pub(super) fn screen(&mut self, watch: Watch<'_>) -> Result<()> {
        let budget = self.request.budget.as_secs_f64();
        let until = budget - (budget * CONFIRM_SHARE).min(CONFIRM_MOST);
        let mut first = true;
        while first || self.elapsed() < until {
            // The first goes alone: it shows how long the others may take.
            let alone = self.slowest_check.is_none() && self.yardstick.is_none();
            let batch: Vec<usize> = self.undecided().take(if alone { 1 } else { self.together() }).collect();
            if batch.is_empty() {
                break;
            }
            first = false;
            let held = self.check(&batch)?;
            self.measure(&held)?;
            self.tell(Stage::Screening, watch);
        }
        Ok(())
    }

    /// Candidates that this run has something to find out about, in their order.
    fn undecided(&self) -> impl Iterator<Item = usize> {
        let asked = self.request.batch_invariant;
        let open =
            move |c: &Candidate| c.is_untried() || (asked && c.seconds().is_some() && c.invariant.is_none());
        self.candidates.iter().enumerate().filter(move |(_, c)| open(c)).map(|(i, _)| i)
    }

    /// How many candidates' arrays fit in memory at once, with those of the yardstick: at least one.
    fn together(&self) -> usize {
        let bytes = self.request.family.work(self.request.problem).bytes.max(1.0);
        let available = available_bytes().unwrap_or(1e9);
        ((available / 4.0 / bytes) as usize).saturating_sub(2).clamp(1, TOGETHER)
    }

    /// Checks a batch; returns those that may be timed.
    fn check(&mut self, batch: &[usize]) -> Result<Vec<usize>> {
        let tasks = batch.iter().map(|&i| Task::Check {
            config: self.candidates[i].config.clone(),
            batch_invariant: self.request.batch_invariant,
        });
        let limit = self.check_limit();
        let ended = self.children.run_all(tasks.collect(), limit)?;
        self.tried += batch.len();
        let mut held = Vec::new();
        for (&i, (ended, took)) in batch.iter().zip(ended) {
            if matches!(ended, Ended::Answered(_)) {
                self.slowest_check = self.slowest_check.max(Some(took));
            }
            let asked = self.request.batch_invariant;
            let candidate = &mut self.candidates[i];
            let outcome = match ended {
                Ended::Answered(Answer::Checked(Checked::Held)) => {
                    candidate.invariant = asked.then_some(true).or(candidate.invariant);
                    match candidate.seconds() {
                        // Measured by an earlier run; what was missing is the check of its rows.
                        Some(_) => self.records.keep(&self.candidates[i], Role::Screened)?,
                        None => held.push(i),
                    }
                    continue;
                }
                Ended::Answered(Answer::Checked(Checked::Variant(reason))) => {
                    candidate.invariant = Some(false);
                    Outcome::Rejected { reason: format!("not batch invariant: {reason}") }
                }
                Ended::Answered(Answer::Checked(Checked::Wrong(detail))) => Outcome::Wrong { detail },
                Ended::Answered(Answer::Checked(Checked::Undecided(why))) => {
                    Outcome::Rejected { reason: format!("not proved right: {why}") }
                }
                other => {
                    self.end(i, other)?;
                    continue;
                }
            };
            self.reject(i, outcome)?;
        }
        Ok(held)
    }

    /// Five times as long as any check so far took, within the budget; but never less than the caller's patience.
    fn check_limit(&self) -> Duration {
        let left = self.request.budget.saturating_sub(self.start.elapsed());
        let usual = self.slowest_check.map_or(left, |slowest| (slowest * 5).min(left));
        usual.max(self.patience(self.slowest_check.is_some()))
    }

    /// The caller's patience; more of it while nothing shows how long a job takes on this machine as busy as it is.
    pub(super) fn patience(&self, informed: bool) -> Duration {
        if informed { self.request.patience } else { self.request.patience * UNINFORMED }
    }

    /// Times a batch of checked candidates, in turn with the yardstick.
    fn measure(&mut self, held: &[usize]) -> Result<()> {
        let Some(&first) = held.first() else { return Ok(()) };
        let mut contestants = held.to_vec();
        if let Some(yardstick) = self.yardstick {
            contestants.push(yardstick);
        }
        let seconds = self.yardstick.and_then(|y| self.candidates[y].seconds()).unwrap_or(0.0);
        let rounds = Rounds {
            least: if seconds > 0.1 { 3 } else { 5 },
            most: 25,
            seconds: 0.08 * contestants.len() as f64,
        };
        let timed = self.time(&contestants, rounds)?;
        let yardstick = *self.yardstick.get_or_insert(first);
        let reference = timed.iter().find(|(i, _)| *i == yardstick).map(|(_, t)| t.seconds.clone());
        if reference.is_none() && self.candidates[yardstick].seconds().is_none() {
            self.yardstick = None;
        }
        for (i, t) in timed {
            let score = reference.as_ref().map(|r| relative(&t.seconds, r));
            if held.contains(&i) {
                self.candidates[i].fate = Fate::Measured { seconds: median(&t.seconds), score };
                self.records.keep(&self.candidates[i], Role::Screened)?;
            }
        }
        Ok(())
    }
}

/// Bytes that the system says are available.
fn available_bytes() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok().map(|kib| kib * 1024.0)
}
