//! Distribution-free statistics of small samples: nothing here assumes that times are normal, because they are not.

use serde::{Deserialize, Serialize};

/// A confidence interval and how much it really covers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
    /// The probability that the interval holds the truth; below the confidence asked for when the sample is too small.
    pub coverage: f64,
}

/// The median of `values` (the mean of the middle two when their number is even); NaN when there are none.
pub fn median(values: &[f64]) -> f64 {
    let sorted = sorted(values);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

/// Median absolute deviation from the median, unscaled; NaN when there are no values.
pub fn mad(values: &[f64]) -> f64 {
    let m = median(values);
    median(&values.iter().map(|v| (v - m).abs()).collect::<Vec<_>>())
}

/// The order-statistic confidence interval of the median (David and Nagaraja, *Order Statistics*, §7.1): the r-th
/// smallest to the r-th largest value, with the largest r whose binomial coverage reaches `confidence`. When even the
/// whole range covers less, the range is returned with the coverage that it has. NaN ends when there are no values.
pub fn median_interval(values: &[f64], confidence: f64) -> Interval {
    let sorted = sorted(values);
    let n = sorted.len();
    if n == 0 {
        return Interval { lo: f64::NAN, hi: f64::NAN, coverage: 0.0 };
    }
    // Coverage of [x(r), x(n+1-r)] is 1 − 2·P(Bin(n, ½) < r).
    let mut log_term = -(n as f64) * std::f64::consts::LN_2;
    let mut below = log_term.exp();
    let mut best = (1, 1.0 - 2.0 * below);
    for r in 2..=n.div_ceil(2) {
        log_term += ((n + 2 - r) as f64 / (r - 1) as f64).ln();
        below += log_term.exp();
        let coverage = 1.0 - 2.0 * below;
        if coverage < confidence {
            break;
        }
        best = (r, coverage);
    }
    Interval { lo: sorted[best.0 - 1], hi: sorted[n - best.0], coverage: best.1.max(0.0) }
}

/// The Hodges–Lehmann estimate of the centre of a symmetric sample, and its signed-rank confidence interval
/// (Hollander and Wolfe, *Nonparametric Statistical Methods*, §3.2–3.3): exact up to 60 values, by the normal
/// approximation beyond. `None` when the sample is too small for `confidence`.
///
/// Differences of two exchangeable series are symmetric about zero, so for paired times this needs no assumption on
/// their distribution, and it needs half as many rounds as the sign test for the same power.
pub fn signed_rank(values: &[f64], confidence: f64) -> Option<(f64, Interval)> {
    let n = values.len();
    let mut walsh = Vec::with_capacity(n * (n + 1) / 2);
    for (i, a) in values.iter().enumerate() {
        walsh.extend(values[i..].iter().map(|b| (a + b) / 2.0));
    }
    let walsh = sorted(&walsh);
    let tail = (1.0 - confidence) / 2.0;
    let (rank, outside) = if n <= 60 { exact_rank(n, tail)? } else { normal_rank(n, tail)? };
    let interval =
        Interval { lo: walsh[rank - 1], hi: walsh[walsh.len() - rank], coverage: 1.0 - 2.0 * outside };
    Some((median(&walsh), interval))
}

/// The largest rank c with P(T⁺ < c) ≤ `tail` under the null, and that probability.
fn exact_rank(n: usize, tail: f64) -> Option<(usize, f64)> {
    let total = n * (n + 1) / 2;
    // probability[t] = P(T⁺ = t): each rank joins the sum with probability one half.
    let mut probability = vec![0.0; total + 1];
    probability[0] = 1.0;
    for rank in 1..=n {
        for t in (0..=total).rev() {
            let joined = if t >= rank { probability[t - rank] } else { 0.0 };
            probability[t] = (probability[t] + joined) / 2.0;
        }
    }
    let mut below = 0.0;
    let mut found = None;
    for (t, p) in probability.iter().enumerate() {
        below += p;
        if below > tail {
            break;
        }
        found = Some((t + 1, below));
    }
    found
}

fn normal_rank(n: usize, tail: f64) -> Option<(usize, f64)> {
    let n = n as f64;
    let mean = n * (n + 1.0) / 4.0;
    let deviation = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
    let rank = mean - normal_quantile(1.0 - tail) * deviation;
    (rank >= 1.0).then_some((rank as usize, tail))
}

/// The standard normal quantile, within 4.5e-4 (Abramowitz and Stegun 26.2.23); `p` in `[0.5, 1)`.
fn normal_quantile(p: f64) -> f64 {
    let t = (-2.0 * (1.0 - p).ln()).sqrt();
    let numerator = 2.515517 + t * (0.802853 + t * 0.010328);
    let denominator = 1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308));
    t - numerator / denominator
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_interval_matches_the_tables() {
        // n = 10, 95 %: ranks 2 and 9, coverage 0.9785 (Conover, table A3).
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        let interval = median_interval(&values, 0.95);
        assert_eq!((interval.lo, interval.hi), (2.0, 9.0));
        assert!((interval.coverage - 0.978515625).abs() < 1e-12);
        assert_eq!(median(&values), 5.5);
        assert_eq!(mad(&values), 2.5);
    }

    #[test]
    fn a_small_sample_admits_its_coverage() {
        let interval = median_interval(&[3.0, 1.0, 2.0], 0.95);
        assert_eq!((interval.lo, interval.hi), (1.0, 3.0));
        assert!((interval.coverage - 0.75).abs() < 1e-12);
        assert_eq!(median_interval(&[1.0], 0.95).coverage, 0.0);
        assert!(median(&[]).is_nan());
        assert!(signed_rank(&[1.0, 2.0, 3.0], 0.95).is_none());
    }

    #[test]
    fn signed_rank_matches_the_tables() {
        // n = 8, two-sided 95 %: the critical value of T is 3, so the interval starts at the 4th Walsh average.
        assert_eq!(exact_rank(8, 0.025).map(|r| r.0), Some(4));
        // Both branches agree where they meet.
        let (exact, normal) = (exact_rank(60, 0.025), normal_rank(60, 0.025));
        let (exact, normal) = (exact.map_or(0, |r| r.0), normal.map_or(0, |r| r.0));
        assert!(exact.abs_diff(normal) <= 2, "{exact} {normal}");
        let values: Vec<f64> = (0..100).map(|i| f64::from(i) / 100.0).collect();
        let (centre, interval) = signed_rank(&values, 0.95).expect("large enough");
        assert!((centre - 0.495).abs() < 1e-12);
        assert!(interval.lo < centre && centre < interval.hi && interval.hi - interval.lo < 0.15);
    }
}
