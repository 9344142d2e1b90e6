//! The smallest problem that still fails: sizes are made smaller one at a time, and the failing case is run again.

use std::time::Instant;

use tilewright_diag::Result;
use tilewright_kernels::{Config, Problem};

use crate::case::{Source, Subject};
use crate::executor::Executor;
use crate::problems;
use crate::report::{Failure, Smallest};

/// However cheap they are, no more problems than this are tried.
const MOST: usize = 200;

/// Searches below a failing subject until `deadline`. `None` where nothing smaller fails.
pub(crate) fn smallest(
    failing: &Subject<'_>,
    config: &Config,
    executor: &dyn Executor,
    source: Source<'_>,
    deadline: Instant,
) -> Result<Option<Smallest>> {
    // Given operands have the sizes of the problem that was asked for.
    if !source.given.is_empty() {
        return Ok(None);
    }
    let mut search = Search { failing, config, executor, source, deadline, tried: Vec::new() };
    let mut best: Option<(Problem, Failure)> = None;
    let mut current = failing.problem.clone();
    while let Some((smaller, failure)) = search.step(&current)? {
        current = smaller.clone();
        best = Some((smaller, failure));
    }
    let tried = search.tried.len();
    Ok(best.map(|(problem, failure)| {
        let problem = problems::text(failing.family, &problem);
        Smallest { problem, failure, tried }
    }))
}

struct Search<'a> {
    failing: &'a Subject<'a>,
    config: &'a Config,
    executor: &'a dyn Executor,
    source: Source<'a>,
    deadline: Instant,
    tried: Vec<Problem>,
}

impl Search<'_> {
    /// The first failing problem with one size smaller.
    fn step(&mut self, from: &Problem) -> Result<Option<(Problem, Failure)>> {
        let family = self.failing.family;
        let dims: Vec<(&str, usize)> = problems::dims(family, from).collect();
        for (name, size) in dims {
            for smaller in candidates(name, size, self.config) {
                let Some(problem) = problems::legal(family, from.with_dim(name, smaller)) else { continue };
                if self.tried.contains(&problem) {
                    continue;
                }
                if self.tried.len() >= MOST || Instant::now() > self.deadline {
                    return Ok(None);
                }
                self.tried.push(problem.clone());
                if let Some(failure) = self.fails(&problem) {
                    return Ok(Some((problem, failure)));
                }
            }
        }
        Ok(None)
    }

    fn fails(&self, problem: &Problem) -> Option<Failure> {
        // A problem that cannot be built or run is no smaller instance of the failure.
        let subject = Subject::new(self.failing.family, problem.clone(), self.config, self.executor).ok()?;
        subject.run(Source { turn: 0, ..self.source }).ok()?.failure
    }
}

/// Smaller sizes, the smallest first: ones, around the tiles, half, one less.
fn candidates(name: &str, size: usize, config: &Config) -> Vec<usize> {
    let tiles = problems::tiles(name, config).into_iter().flat_map(|t| [t.saturating_sub(1), t, t + 1]);
    let mut all: Vec<usize> = [1, 2, 3, size / 2, size.saturating_sub(1)].into_iter().chain(tiles).collect();
    all.retain(|&s| s >= 1 && s < size);
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_shrink_and_reach_one() {
        let config = Config::of(&[("bm", 64), ("bk", 16)]);
        assert_eq!(candidates("m", 1000, &config), [1, 2, 3, 63, 64, 65, 500, 999]);
        assert_eq!(candidates("k", 2, &config), [1]);
        assert!(candidates("k", 1, &config).is_empty());
    }
}
