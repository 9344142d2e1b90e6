//! Configs that are timed in one process, and what becomes of those that bring it down.

use std::time::Duration;

use tilewright_diag::Result;
use tilewright_kernels::Config;
use tilewright_measure::floor::{Floor, refuse_below};
use tilewright_measure::stats::median;
use tilewright_store::Outcome;

use super::Search;
use crate::candidate::Fate;
use crate::children::Ended;
use crate::job::{Answer, Rounds, Task, Timed};
use crate::records::Role;

impl Search<'_> {
    /// Times configs in one process, which take turns. One that crashes, hangs, disturbs its arrays or is faster than the
    /// machine can be is rejected; the times of the others come back.
    pub(super) fn time(&mut self, contestants: &[usize], rounds: Rounds) -> Result<Vec<(usize, Timed)>> {
        let mut left = contestants.to_vec();
        while !left.is_empty() {
            match self.time_once(&left, rounds)? {
                Ended::Answered(Answer::Timed(timed)) if timed.len() == left.len() => {
                    return self.accept(&left, timed);
                }
                ended if left.len() == 1 => {
                    self.end(left[0], ended)?;
                    left.clear();
                }
                _ => left = self.survivors(&left)?,
            }
        }
        Ok(Vec::new())
    }

    /// Of contestants that brought their process down together, those that do not alone. Where none does, what one does to
    /// the memory of a process shows only in another: all are left for another run.
    fn survivors(&mut self, contestants: &[usize]) -> Result<Vec<usize>> {
        let quick = Rounds { least: 2, most: 2, seconds: 0.0 };
        let mut survivors = Vec::new();
        for &i in contestants {
            match self.time_once(&[i], quick)? {
                Ended::Answered(Answer::Timed(_)) => survivors.push(i),
                ended => self.end(i, ended)?,
            }
        }
        Ok(if survivors.len() == contestants.len() { Vec::new() } else { survivors })
    }

    fn time_once(&self, contestants: &[usize], rounds: Rounds) -> Result<Ended> {
        let configs: Vec<Config> = contestants.iter().map(|&i| self.candidates[i].config.clone()).collect();
        let known = self.yardstick.and_then(|y| self.candidates[y].seconds());
        let runs = (configs.len() * (rounds.least + 3)) as f64;
        let usual = 10.0 * rounds.seconds + 20.0 * known.unwrap_or(0.0) * runs;
        let patience = self.patience(known.is_some()).max(self.slowest_check.unwrap_or_default());
        let limit = Duration::from_secs_f64(usual.min(1e6)) + patience;
        self.children.run(Task::Time { configs, rounds }, limit)
    }

    fn accept(&mut self, contestants: &[usize], timed: Vec<Timed>) -> Result<Vec<(usize, Timed)>> {
        let work = self.request.family.work(self.request.problem);
        let dtype = self.request.problem.dtype();
        let floor = Floor::new(self.request.ceilings, work.flops, work.bytes, dtype, self.request.threads);
        let mut accepted = Vec::new();
        for (&i, t) in contestants.iter().zip(timed) {
            if let Some(detail) = t.fault {
                self.reject(i, Outcome::Wrong { detail })?;
            } else if let Err(refusal) = refuse_below(&floor, median(&t.seconds)) {
                self.reject(i, Outcome::Rejected { reason: refusal.message })?;
            } else {
                accepted.push((i, t));
            }
        }
        Ok(accepted)
    }

    /// Ends a candidate whose job gave no answer to what it was asked.
    pub(super) fn end(&mut self, i: usize, ended: Ended) -> Result<()> {
        match ended {
            Ended::Answered(Answer::Refused { reason }) => self.reject(i, Outcome::Rejected { reason }),
            Ended::Answered(Answer::Faulted { reason }) => self.fault(i, reason),
            Ended::Answered(_) => self.reject(
                i,
                Outcome::Crashed { detail: "it answered another question than it was asked".into() },
            ),
            // No code of a candidate's sends this signal: the system does, when memory runs out.
            Ended::Crashed(detail) if detail.starts_with("SIGKILL") => self
                .fault(i, "its process was killed from outside, as happens when memory runs out".to_string()),
            Ended::Crashed(detail) => self.reject(i, Outcome::Crashed { detail }),
            Ended::Hung => self.reject(i, Outcome::Hung),
        }
    }

    /// Leaves a candidate to another run: nothing was found out about it.
    fn fault(&mut self, i: usize, reason: String) -> Result<()> {
        self.candidates[i].fate = Fate::Faulted(reason);
        self.forget_yardstick(i);
        Ok(())
    }

    fn forget_yardstick(&mut self, i: usize) {
        self.candidates[i].resumed = false;
        if self.yardstick == Some(i) {
            self.yardstick = None;
        }
    }

    pub(super) fn reject(&mut self, i: usize, outcome: Outcome) -> Result<()> {
        self.candidates[i].fate = Fate::Rejected(outcome);
        self.forget_yardstick(i);
        self.records.keep(&self.candidates[i], Role::Screened)
    }
}
