//! Confidence intervals for the centre of a few values with a symmetric distribution.
//!
//! There are two methods, and [`crate::comparison::ratio`] chooses between them: Student's t assumes a normal distribution. The
//! Wilcoxon signed rank assumes symmetry only and needs six values at 95 %. Others were measured and rejected; the figures
//! are in `docs/decisions/0002-verdict-statistics.md` and come from `examples/coverage`.

use crate::confidence::{Confidence, ConfidenceInterval};
use crate::sample::describe::{Sample, mean, sum_of_squares};
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// Above this number of values, the normal approximation of the rank statistic is close to exact.
const EXACT_UP_TO: usize = 100;

/// An estimate of the centre with its confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CentreEstimate {
    pub centre: f64,
    pub interval: ConfidenceInterval,
}

/// The mean and Student's t interval, `mean ± t · s / √n`; `None` under two values.
///
/// Source: Student (W. S. Gosset), "The probable error of a mean", Biometrika 6 (1908).
pub(crate) fn student_t(values: &[f64], confidence: Confidence) -> Option<CentreEstimate> {
    let n = values.len() as f64;
    let quantile = t_quantile(values.len().checked_sub(1)?, 1.0 - confidence.alpha() / 2.0)?;
    let half = quantile * (sum_of_squares(values) / (n - 1.0) / n).sqrt();
    let centre = mean(values);
    Some(CentreEstimate { centre, interval: ConfidenceInterval { low: centre - half, high: centre + half } })
}

/// The `p` quantile of Student's t distribution; `None` with no degree of freedom.
pub(crate) fn t_quantile(degrees: usize, p: f64) -> Option<f64> {
    StudentsT::new(0.0, 1.0, degrees as f64).ok().map(|t| t.inverse_cdf(p))
}

/// The Hodges–Lehmann estimate (median of the means of all pairs, each value with itself included) and the
/// interval of the values that Wilcoxon's signed-rank test does not reject. `None` if there are so few values that even
/// their whole range does not reach this confidence (under 6 at 95 %).
///
/// The level is exact for a continuous symmetric distribution, and a lower bound for any other symmetric one. Source: M. Hollander, D. A. Wolfe & E. Chicken, *Nonparametric Statistical Methods*, 3rd ed.,
/// §3.1–3.3.
pub(crate) fn signed_rank(values: &[f64], confidence: Confidence) -> Option<CentreEstimate> {
    let rank = signed_rank_critical(values.len(), confidence)?;
    let walsh = Sample::try_from(walsh_averages(values)).ok()?;
    let ascending = walsh.ascending();
    let interval = ConfidenceInterval { low: ascending[rank - 1], high: ascending[ascending.len() - rank] };
    Some(CentreEstimate { centre: walsh.median(), interval })
}

/// The means of all pairs of values, each value with itself included: n (n + 1) / 2 of them.
fn walsh_averages(values: &[f64]) -> Vec<f64> {
    values
        .iter()
        .enumerate()
        .flat_map(|(i, a)| values[i..].iter().map(move |b| f64::midpoint(*a, *b)))
        .collect()
}

/// The rank of the Walsh average that bounds the interval, from 1 and from either end; `None` if no rank qualifies.
///
/// It is the largest k with P(W⁺ ≤ k − 1) ≤ α/2 under symmetry around zero.
pub(crate) fn signed_rank_critical(n: usize, confidence: Confidence) -> Option<usize> {
    let tail = confidence.alpha() / 2.0;
    if n > EXACT_UP_TO {
        let n = n as f64;
        let z = Normal::standard().inverse_cdf(tail);
        let sd = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
        return Some((n * (n + 1.0) / 4.0 + z * sd).floor().max(1.0) as usize);
    }
    let mut cumulative = 0.0;
    let fitting = signed_rank_probabilities(n)
        .into_iter()
        .take_while(|probability| {
            cumulative += probability;
            cumulative <= tail
        })
        .count();
    (fitting > 0).then_some(fitting)
}

/// The error that the interval actually has, at most α, because ranks are whole numbers: 2 P(W⁺ ≤ k − 1); 0.049 for ten
/// values at 95 %.
pub(crate) fn signed_rank_attained(n: usize, confidence: Confidence) -> Option<f64> {
    let critical = signed_rank_critical(n, confidence)?;
    let exact = || 2.0 * signed_rank_probabilities(n)[..critical].iter().sum::<f64>();
    Some(if n > EXACT_UP_TO { confidence.alpha() } else { exact() })
}

/// P(W⁺ = s) for s = 0, 1, …: each rank from 1 to n is in the sum with probability ½.
fn signed_rank_probabilities(n: usize) -> Vec<f64> {
    let mut probabilities = vec![0.0; n * (n + 1) / 2 + 1];
    probabilities[0] = 1.0;
    for rank in 1..=n {
        for sum in (0..probabilities.len()).rev() {
            let with_rank = if sum >= rank { probabilities[sum - rank] } else { 0.0 };
            probabilities[sum] = f64::midpoint(probabilities[sum], with_rank);
        }
    }
    probabilities
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-6
    }

    #[test]
    fn t_interval_of_students_own_sleep_data() {
        // R: with(sleep, t.test(extra[group == 2] - extra[group == 1]))
        let hours = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4];
        let CentreEstimate { centre, interval } = student_t(&hours, Confidence::P95).unwrap();
        assert!(close(centre, 1.58) && close(interval.low, 0.700_114_2) && close(interval.high, 2.459_885_8));
    }

    #[test]
    fn signed_rank_interval_of_hollander_and_wolfes_depression_data() {
        // The data of example 3.1; the interval is from the 6th and the 40th of the 45 Walsh averages (96.1
        // %).
        let change = [0.952, -0.147, 1.022, 0.430, 0.620, 0.590, 0.490, -0.080, 0.010];
        let CentreEstimate { centre, interval } = signed_rank(&change, Confidence::P95).unwrap();
        assert!(close(centre, 0.46) && close(interval.low, 0.010) && close(interval.high, 0.786));
    }

    #[test]
    fn signed_rank_critical_values_are_those_of_the_tables() {
        // Largest W with two-sided P ≤ 0.05 in Wilcoxon's table: n = 6: 0, 7: 2, 8: 3, 9: 5, 10: 8, 12: 13,
        // 15: 25, 20: 52, 25: 89, 30: 137. The bounding Walsh average is the next one.
        for (n, table) in
            [(6, 0), (7, 2), (8, 3), (9, 5), (10, 8), (12, 13), (15, 25), (20, 52), (25, 89), (30, 137)]
        {
            assert_eq!(signed_rank_critical(n, Confidence::P95), Some(table + 1), "n = {n}");
        }
        assert_eq!(signed_rank_critical(5, Confidence::P95), None);
    }

    #[test]
    fn the_normal_limit_continues_the_exact_critical_values() {
        let step = |n| signed_rank_critical(n, Confidence::P95).unwrap() as f64;
        // The second difference of the critical value is nearly constant, also across the change of method.
        let jump = (step(102) - step(101)) - (step(100) - step(99));
        assert!(jump.abs() <= 2.0, "jump {jump}");
    }

    #[test]
    fn the_hodges_lehmann_centre_resists_one_outlier() {
        let found = signed_rank(&[1.0, 1.1, 0.9, 1.05, 0.95, 1.02, 0.98, 40.0], Confidence::P95).unwrap();
        assert!((found.centre - 1.0).abs() < 0.1, "{found:?}");
    }

    #[test]
    fn probabilities_sum_to_one_and_are_symmetric() {
        let p = signed_rank_probabilities(9);
        assert!(close(p.iter().sum(), 1.0));
        assert!(close(p[3], p[p.len() - 4]) && close(p[3], 2.0 / 512.0));
    }

    #[test]
    fn a_constant_sample_has_an_interval_of_no_width() {
        for found in [student_t(&[0.3; 7], Confidence::P95), signed_rank(&[0.3; 7], Confidence::P95)] {
            let found = found.unwrap();
            assert_eq!((found.interval.low, found.centre, found.interval.high), (0.3, 0.3, 0.3));
        }
    }
}
