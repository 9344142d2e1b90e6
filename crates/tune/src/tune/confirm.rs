//! The last comparison.

use tilewright_diag::Result;
use tilewright_measure::compare::{Verdict, faster};
use tilewright_measure::stats::median;

use super::{CONFIRM_MOST, Search, Watch, relative};
use crate::candidate::{Candidate, Fate};
use crate::job::{Rounds, Timed};
use crate::records::Role;
use crate::request::Stage;

/// Candidates of this run that go into it: of many that are timed under noise, the first few are hardly told apart.
const BEST_NEW: usize = 4;

impl Search<'_> {
    /// Times the best of this run, the best of earlier ones and the default together, and picks the winner. Where nothing
    /// is new, an earlier winner stays.
    pub(super) fn confirm(&mut self, watch: Watch<'_>) -> Result<()> {
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
        let rounds = Rounds { least: affordable.clamp(5, 11), most: 301, seconds: left };
        let timed = self.time(&finalists, rounds)?;
        self.decide(&timed)
    }

    /// The default, the earlier winner or else the two that earlier runs measured fastest, and the best of this run.
    fn finalists(&self, earlier: Option<usize>) -> Vec<usize> {
        let eligible = |i: &usize| self.candidates[*i].is_eligible(self.request.batch_invariant);
        let mut all: Vec<usize> = (0..self.candidates.len()).filter(eligible).collect();
        all.sort_by(|&a, &b| self.candidates[a].rank().total_cmp(&self.candidates[b].rank()));
        let (resumed, new): (Vec<usize>, Vec<usize>) = all.iter().partition(|&&i| self.candidates[i].resumed);
        let old: Vec<usize> = match earlier {
            Some(winner) => vec![winner],
            None => resumed.into_iter().take(2).collect(),
        };
        let default = self.candidates[0].seconds().map(|_| 0);
        let mut finalists: Vec<usize> = Vec::new();
        for i in default.into_iter().chain(old).chain(new.into_iter().take(BEST_NEW)) {
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
            self.candidates[*i].finalist = true;
        }
        let default = timed.iter().find(|(i, _)| *i == 0);
        let eligible = |i: usize| self.candidates[i].is_eligible(self.request.batch_invariant);
        let reference = default.or(timed.first()).map(|(_, t)| t);
        let Some(reference) = reference else { return Err(self.none_right()) };
        let ratio = |t: &Timed| relative(&t.seconds, &reference.seconds);
        let fastest =
            timed.iter().filter(|(i, _)| eligible(*i)).min_by(|a, b| ratio(&a.1).total_cmp(&ratio(&b.1)));
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
}
