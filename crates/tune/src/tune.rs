//! The search: rank, screen, confirm.

use std::time::{Duration, Instant};

use tilewright_diag::{Diagnostic, Result};
use tilewright_kernels::Config;
use tilewright_measure::compare::{Verdict, faster};
use tilewright_measure::floor::{Floor, refuse_below};
use tilewright_measure::stats::median;
use tilewright_run::tools;
use tilewright_store::{Outcome, Store};

use crate::candidate::{Candidate, Fate, rejected};
use crate::children::{Children, Ended};
use crate::job::{Answer, Checked, Rounds, Task, Timed};
use crate::model::Model;
use crate::records::{Known, Records, Role};
use crate::report::Report;
use crate::request::{Progress, Request, Stage};

/// Candidates that are timed together, beside the yardstick.
const TOGETHER: usize = 4;

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
/// configs whose code it has not met.
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
    /// What all others are compared with: an index, and its seconds where they are known.
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
        let records = Records::new(request, store, tools::clang()?.version)?;
        let known = records.known()?;
        let space = request.family.space(request.problem, request.machine);
        records.keep_pruned(&space.pruned, &known)?;
        let default = request.family.default_config(request.problem, request.machine);
        let model = Model::new(request.ceilings, request.features, request.threads);
        let others = space.configs.into_iter().filter(|c| *c != default);
        let mut candidates: Vec<Candidate> =
            others.map(|config| Candidate::new(request, &model, config)).collect();
        candidates.sort_by(|a, b| a.estimated().total_cmp(&b.estimated()));
        candidates.insert(0, Candidate::new(request, &model, default));
        for candidate in &mut candidates {
            match candidate.fate {
                Fate::Untried => known.resume(candidate, request.batch_invariant),
                _ => records.keep(candidate, Role::Screened)?,
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
            pruned: space.pruned,
            yardstick,
            slowest_check: None,
            tried: 0,
            winner: None,
        })
    }

    /// Checks and times candidates until the budget, less what the last comparison needs, is used up.
    fn screen(&mut self, watch: Watch<'_>) -> Result<()> {
        let budget = self.request.budget.as_secs_f64();
        let until = budget - (budget * CONFIRM_SHARE).min(CONFIRM_MOST);
        let mut first = true;
        while first || self.elapsed() < until {
            // The first goes alone: it shows how long the others may take.
            let alone = self.slowest_check.is_none() && self.yardstick.is_none();
            let batch: Vec<usize> =
                self.undecided().take(if alone { 1 } else { self.together() }).collect();
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
        let open = move |c: &Candidate| c.is_untried() || (asked && c.seconds().is_some() && c.invariant.is_none());
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
        let begun = Instant::now();
        let ended = self.children.run_all(tasks.collect(), limit)?;
        self.tried += batch.len();
        if ended.iter().any(|e| matches!(e, Ended::Answered(_))) {
            self.slowest_check = self.slowest_check.max(Some(begun.elapsed()));
        }
        let mut held = Vec::new();
        for (&i, ended) in batch.iter().zip(ended) {
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
                Ended::Answered(Answer::Refused { reason }) => Outcome::Rejected { reason },
                Ended::Answered(Answer::Timed(_)) => Outcome::Crashed { detail: NO_ANSWER.to_string() },
                Ended::Crashed(detail) => Outcome::Crashed { detail },
                Ended::Hung => Outcome::Hung,
            };
            self.reject(i, outcome)?;
        }
        Ok(held)
    }

    /// Ten times as long as any check so far took, within the budget; but never less than the caller's patience.
    fn check_limit(&self) -> Duration {
        let left = self.request.budget.saturating_sub(self.start.elapsed());
        let usual = self.slowest_check.map_or(left, |slowest| (slowest * 10).min(left));
        usual.max(self.request.patience)
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
            let is_new = held.contains(&i);
            if is_new {
                self.candidates[i].fate = Fate::Measured { seconds: median(&t.seconds), score };
                self.records.keep(&self.candidates[i], Role::Screened)?;
            }
        }
        Ok(())
    }

    /// Times configs in one process, which take turns. One that crashes, hangs, disturbs its arrays or is faster than the
    /// machine can be is rejected; the times of the others come back.
    fn time(&mut self, contestants: &[usize], rounds: Rounds) -> Result<Vec<(usize, Timed)>> {
        let mut left = contestants.to_vec();
        while !left.is_empty() {
            match self.time_once(&left, rounds)? {
                Ended::Answered(Answer::Timed(timed)) if timed.len() == left.len() => {
                    return self.accept(&left, timed);
                }
                ended if left.len() == 1 => {
                    self.reject(left[0], outcome(ended))?;
                    left.clear();
                }
                _ => left = self.survivors(&left)?,
            }
        }
        Ok(Vec::new())
    }

    /// Of contestants that brought their process down together, those that do not alone. Where none does, each is given
    /// the benefit of the doubt once: two rounds of this and the batch is left for another run.
    fn survivors(&mut self, contestants: &[usize]) -> Result<Vec<usize>> {
        let quick = Rounds { least: 2, most: 2, seconds: 0.0 };
        let mut survivors = Vec::new();
        for &i in contestants {
            match self.time_once(&[i], quick)? {
                Ended::Answered(Answer::Timed(_)) => survivors.push(i),
                ended => self.reject(i, outcome(ended))?,
            }
        }
        // All well alone: what one does to the memory of the process shows only in another.
        Ok(if survivors.len() == contestants.len() { Vec::new() } else { survivors })
    }

    fn time_once(&self, contestants: &[usize], rounds: Rounds) -> Result<Ended> {
        let configs: Vec<Config> = contestants.iter().map(|&i| self.candidates[i].config.clone()).collect();
        let known = self.yardstick.and_then(|y| self.candidates[y].seconds()).unwrap_or(0.0);
        let runs = (configs.len() * (rounds.least + 3)) as f64;
        let usual = Duration::from_secs_f64((10.0 * rounds.seconds + 20.0 * known * runs).min(1e6));
        let limit = usual + self.request.patience.max(self.slowest_check.unwrap_or_default());
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

    fn reject(&mut self, i: usize, outcome: Outcome) -> Result<()> {
        self.candidates[i].fate = Fate::Rejected(outcome);
        self.candidates[i].resumed = false;
        if self.yardstick == Some(i) {
            self.yardstick = None;
        }
        self.records.keep(&self.candidates[i], Role::Screened)
    }

    /// Times the best of this run, the best of earlier ones and the default together, and picks the winner. Where nothing
    /// is new, an earlier winner stays.
    fn confirm(&mut self, watch: Watch<'_>) -> Result<()> {
        let is_new = |c: &Candidate| c.seconds().is_some() && !c.resumed;
        let earlier = self.earlier_winner();
        if let Some(winner) = earlier.filter(|_| !self.candidates.iter().any(is_new)) {
            self.winner = Some((winner, None));
            return Ok(());
        }
        let finalists = self.finalists(earlier);
        if finalists.is_empty() {
            return Err(self.none_right());
        }
        self.tell(Stage::Confirming, watch);
        let seconds = finalists.iter().filter_map(|&i| self.candidates[i].seconds()).fold(0.0, f64::max);
        let left = (self.request.budget.as_secs_f64() - self.elapsed()).clamp(0.5, CONFIRM_MOST);
        let affordable = (left / (seconds * finalists.len() as f64).max(1e-9)) as usize;
        let rounds = Rounds { least: affordable.clamp(5, 11), most: 101, seconds: left };
        let timed = self.time(&finalists, rounds)?;
        self.decide(&timed)
    }

    /// The default, the earlier winner or else the two that earlier runs measured fastest, and the two best of this run.
    fn finalists(&self, earlier: Option<usize>) -> Vec<usize> {
        let eligible = |i: &usize| self.candidates[*i].is_eligible(self.request.batch_invariant);
        let mut all: Vec<usize> = (0..self.candidates.len()).filter(eligible).collect();
        let relative = |i: usize| match self.candidates[i].fate {
            Fate::Measured { score: Some(score), .. } => score,
            // A time without a yardstick compares with none but its like.
            Fate::Measured { seconds, .. } => seconds,
            _ => f64::INFINITY,
        };
        all.sort_by(|&a, &b| relative(a).total_cmp(&relative(b)));
        let (resumed, new): (Vec<usize>, Vec<usize>) = all.iter().partition(|&&i| self.candidates[i].resumed);
        let old: Vec<usize> = match earlier {
            Some(winner) => vec![winner],
            None => resumed.into_iter().take(2).collect(),
        };
        let default = self.candidates[0].seconds().map(|_| 0);
        let mut finalists: Vec<usize> = Vec::new();
        for i in default.into_iter().chain(old).chain(new.into_iter().take(2)) {
            if !finalists.contains(&i) {
                finalists.push(i);
            }
        }
        if finalists.iter().any(eligible) { finalists } else { Vec::new() }
    }

    /// The candidate that won last in an earlier run, where it may win now.
    fn earlier_winner(&self) -> Option<usize> {
        let eligible = |i: &usize| {
            self.candidates[*i].resumed && self.candidates[*i].is_eligible(self.request.batch_invariant)
        };
        let won = |i: usize| Some((self.known.won(&self.candidates[i])?, i));
        (0..self.candidates.len()).filter(eligible).filter_map(won).max().map(|(_, i)| i)
    }

    /// Picks the fastest, unless it is not shown to be faster than the default.
    fn decide(&mut self, timed: &[(usize, Timed)]) -> Result<()> {
        for (i, t) in timed {
            let score = timed.iter().find(|(d, _)| *d == 0).map(|(_, d)| relative(&t.seconds, &d.seconds));
            self.candidates[*i].fate = Fate::Measured { seconds: median(&t.seconds), score };
        }
        let default = timed.iter().find(|(i, _)| *i == 0);
        let eligible = |i: usize| self.candidates[i].is_eligible(self.request.batch_invariant);
        let reference = default.or(timed.first()).map(|(_, t)| t);
        let Some(reference) = reference else { return Err(self.none_right()) };
        let ratio = |t: &Timed| relative(&t.seconds, &reference.seconds);
        let fastest = timed.iter().filter(|(i, _)| eligible(*i)).min_by(|a, b| ratio(&a.1).total_cmp(&ratio(&b.1)));
        let Some((mut winner, times)) = fastest.map(|(i, t)| (*i, t)) else { return Err(self.none_right()) };
        let mut speedup = default.map(|(_, d)| relative(&d.seconds, &times.seconds));
        if let Some((d, default)) = default.filter(|(d, _)| *d != winner && eligible(*d))
            && !self.is_faster((winner, times), (*d, default))
        {
            winner = *d;
            speedup = Some(1.0);
        }
        for (i, _) in timed.iter().filter(|(i, _)| *i != winner) {
            self.records.keep(&self.candidates[*i], Role::Finalist)?;
        }
        self.records.keep(&self.candidates[winner], Role::Best)?;
        self.winner = Some((winner, speedup));
        Ok(())
    }

    /// Whether one is shown to be faster than another: beyond noise, or, in so few rounds that nothing could be shown, in
    /// every one of them.
    fn is_faster(&self, a: (usize, &Timed), b: (usize, &Timed)) -> bool {
        let series = |(i, t): (usize, &Timed)| t.series(&self.candidates[i].config);
        let few = a.1.seconds.len() < 11;
        let always = a.1.seconds.iter().zip(&b.1.seconds).all(|(a, b)| a < b);
        faster(&series(a), &series(b)) == Verdict::Faster || (few && always)
    }

    fn report(self) -> Result<Report> {
        let Some((winner, speedup)) = self.winner else { return Err(self.none_right()) };
        let mut measured: Vec<_> = self.candidates.iter().filter(|c| c.seconds().is_some()).collect();
        measured.sort_by(|a, b| a.seconds().partial_cmp(&b.seconds()).unwrap_or(std::cmp::Ordering::Equal));
        let pruned = self.pruned.iter().map(|(config, reason)| {
            rejected(config, &Outcome::Pruned { reason: reason.clone() })
        });
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
        })
    }

    fn none_right(&self) -> Box<Diagnostic> {
        let (family, problem) = (self.request.family.name(), self.request.problem);
        let asked = if self.request.batch_invariant { "right and batch-invariant" } else { "right" };
        let message = format!("no config of `{family} {problem}` was found to be {asked}");
        let reasons = self.candidates.iter().filter_map(Candidate::rejected).take(5);
        let d = Diagnostic::verdict("tune/none-right", message).rule("a config is kept once its check has held");
        reasons.fold(d, |d, r| d.note(format!("{} {}: {}", r.config, r.outcome, r.reason)))
    }

    fn elapsed(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    fn tell(&self, stage: Stage, watch: Watch<'_>) {
        let decided = self.candidates.iter().filter(|c| !c.is_untried()).count();
        let of = self.candidates.len();
        let measured = self.candidates.iter().filter(|c| c.is_eligible(self.request.batch_invariant));
        let best = measured.filter_map(|c| Some((&c.config, c.seconds()?))).min_by(|a, b| a.1.total_cmp(&b.1));
        let by_time = self.elapsed() / self.request.budget.as_secs_f64().max(1e-9);
        let fraction = (decided as f64 / of as f64).max(by_time).min(1.0);
        watch(&Progress { stage, fraction, decided, of, best });
    }
}

const NO_ANSWER: &str = "it answered another question than it was asked";

fn outcome(ended: Ended) -> Outcome {
    match ended {
        Ended::Answered(Answer::Refused { reason }) => Outcome::Rejected { reason },
        Ended::Answered(_) => Outcome::Crashed { detail: NO_ANSWER.to_string() },
        Ended::Crashed(detail) => Outcome::Crashed { detail },
        Ended::Hung => Outcome::Hung,
    }
}

/// The median over rounds of one's seconds over another's: what drifts during a run drifts in both.
fn relative(seconds: &[f64], reference: &[f64]) -> f64 {
    let ratios: Vec<f64> = seconds.iter().zip(reference).map(|(s, r)| s / r).collect();
    median(&ratios)
}

/// Bytes that the system says are available.
fn available_bytes() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok().map(|kib| kib * 1024.0)
}
