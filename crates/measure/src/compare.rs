//! Two series against each other: the ratio of their times, and whether it is a difference or noise.

use serde::Serialize;

use crate::rng::Rng;
use crate::stats::{self, Interval, median};
use crate::timing::Series;

/// How much slower one series is than another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// First series' seconds over the second's: above 1, the first is slower.
    pub value: f64,
    /// Confidence interval of `value`.
    pub ci: Interval,
    /// Rounds in which both were measured.
    pub n: usize,
}

/// What can be said about two series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The first is faster, beyond noise and by more than [`MARGIN`].
    Faster,
    /// The first is slower, beyond noise and by more than [`MARGIN`].
    Slower,
    /// Neither was shown.
    Undecided,
}

/// A difference up to this share is never called one: code and buffer placement alone make as much.
pub const MARGIN: f64 = 0.01;

/// A verdict other than undecided is wrong at most once in this many comparisons of equals; [`MARGIN`] on top of it makes
/// it far rarer.
pub const ODDS: f64 = 1000.0;

/// The first series' median seconds over the second's, with a 95 % confidence interval by the percentile bootstrap (Efron
/// and Tibshirani, *An Introduction to the Bootstrap*, §13.3): whole rounds are drawn again, since both members of a round
/// saw the same state of the machine. `None` when there are too few rounds (under 6).
pub fn ratio(first: &Series, second: &Series) -> Option<Ratio> {
    const RESAMPLES: usize = 1000;
    const COVERAGE: f64 = 0.95;
    let n = first.seconds.len().min(second.seconds.len());
    if n < 6 {
        return None;
    }
    let value = median(&first.seconds) / median(&second.seconds);
    let mut rng = Rng::new(n as u64);
    let (mut a, mut b) = (vec![0.0; n], vec![0.0; n]);
    let mut drawn = || {
        for (a, b) in a.iter_mut().zip(&mut b) {
            let round = (rng.unit() * n as f64) as usize;
            (*a, *b) = (first.seconds[round], second.seconds[round]);
        }
        median(&a) / median(&b)
    };
    let mut ratios: Vec<f64> = (0..RESAMPLES).map(|_| drawn()).collect();
    ratios.sort_by(f64::total_cmp);
    let tail = ((1.0 - COVERAGE) / 2.0 * RESAMPLES as f64) as usize;
    let (lo, hi) = (ratios[tail].min(value), ratios[RESAMPLES - 1 - tail].max(value));
    Some(Ratio { value, ci: Interval { lo, hi, coverage: COVERAGE }, n })
}

/// Whether `first` is faster than `second`.
///
/// A signed-rank interval of the per-round log ratios at odds of 1 in [`ODDS`]; if the two are equal, log ratios are
/// symmetric about 0 whatever the distribution of the noise, so equals raise an alarm no more often than that.
pub fn faster(first: &Series, second: &Series) -> Verdict {
    let rounds = first.seconds.iter().zip(&second.seconds);
    let logs: Vec<f64> = rounds.map(|(a, b)| (a / b).ln()).filter(|log| log.is_finite()).collect();
    match stats::signed_rank(&logs, 1.0 - 1.0 / ODDS) {
        Some((_, ci)) if ci.hi.exp() < 1.0 - MARGIN => Verdict::Faster,
        Some((_, ci)) if ci.lo.exp() > 1.0 + MARGIN => Verdict::Slower,
        _ => Verdict::Undecided,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// A noisy machine: drift common to both, 2 % of log-normal noise each, and one measurement in twelve disturbed by
    /// up to a factor of three.
    fn noisy_pair(seed: u64, rounds: usize, slowdown: f64) -> (Series, Series) {
        let mut rng = Rng::new(seed);
        let mut normal = move || (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0;
        let mut spikes = Rng::new(!seed);
        let mut measure = |drift: f64, cost: f64| {
            let spike = if spikes.unit() < 1.0 / 12.0 { 1.0 + 2.0 * spikes.unit() } else { 1.0 };
            cost * drift * (0.02 * normal()).exp() * spike
        };
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for round in 0..rounds {
            let drift = 1.0 + 0.3 * (round as f64 / 9.0).sin();
            a.push(measure(drift, 1e-3 * slowdown));
            b.push(measure(drift, 1e-3));
        }
        let series =
            |name: &str, seconds| Series { name: name.into(), seconds, inner_repeats: 1, failure: None };
        (series("a", a), series("b", b))
    }

    #[test]
    fn equals_never_alarm_in_a_hundred_trials() {
        for rounds in [11, 41, 101] {
            for seed in 0..100 {
                let (a, b) = noisy_pair(seed, rounds, 1.0);
                assert_eq!(faster(&a, &b), Verdict::Undecided, "{rounds}, seed {seed}: {:?}", ratio(&a, &b));
            }
        }
    }

    #[test]
    fn a_slowdown_of_five_per_cent_is_found() {
        let found = (0..100)
            .filter(|&seed| {
                let (a, b) = noisy_pair(seed, 61, 1.05);
                assert_ne!(faster(&a, &b), Verdict::Faster);
                let mirrored = faster(&b, &a) == Verdict::Faster;
                assert_eq!(mirrored, faster(&a, &b) == Verdict::Slower);
                mirrored
            })
            .count();
        assert!(found >= 95, "found in {found} of 100 trials");
    }

    #[test]
    fn the_ratio_interval_holds_the_truth_at_least_as_often_as_it_says() {
        let held = (0..200)
            .filter(|&seed| {
                let (a, b) = noisy_pair(seed, 25, 1.3);
                let r = ratio(&a, &b).expect("enough rounds");
                r.ci.lo <= 1.3 && 1.3 <= r.ci.hi
            })
            .count();
        // Drift that both share widens it: it errs on the safe side.
        assert!(held >= 184, "{held} of 200");
    }

    #[test]
    fn too_few_rounds_decide_nothing() {
        let (a, b) = noisy_pair(1, 5, 2.0);
        assert_eq!(ratio(&a, &b), None);
        let (a, b) = noisy_pair(1, 10, 2.0);
        assert!(ratio(&a, &b).is_some());
        assert_eq!(faster(&a, &b), Verdict::Undecided);
    }
}
