//! The difference of two means, from independent values of two sides whose scatter may differ.
//!
//! Welch's t: B. L. Welch, "The generalization of 'Student's' problem when several different population variances are
//! involved", Biometrika 34 (1947); the degrees of freedom are those of Satterthwaite (1946).
//!
//! A few values may agree by chance, and then their own scatter is too small. Where the least possible variance is known, as
//! that of counts (Poisson), it is a lower bound here.

use crate::confidence::{Confidence, ConfidenceInterval};
use crate::sample::describe::{mean, sum_of_squares};
use crate::sample::moderated::Variance;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// With more degrees of freedom Student's t is a normal distribution to four digits.
const MOST_DEGREES: f64 = 1e5;

/// A difference of means, B − A.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeanDifference {
    /// Mean of A.
    pub a: f64,
    /// Mean of B.
    pub b: f64,
    /// The interval of B − A.
    pub interval: ConfidenceInterval,
    /// The probability of a difference at least as large if the means are equal, two-sided.
    pub p: f64,
}

/// The difference of the means of B and A. `least_variance` is a lower bound of the variance of one value of A and of one
/// value of B; zero where none is known. `None` with fewer than two values a side, or if one is not finite.
///
/// ```
/// use stats::{confidence::Confidence, welch::mean_difference};
/// let found = mean_difference(&[1.0, 2.0, 3.0], &[11.0, 12.0, 13.0], (0.0, 0.0), Confidence::P95).expect("six values");
/// assert!(found.interval.contains(10.0) && !found.interval.contains(0.0) && found.p < 0.001);
/// ```
pub fn mean_difference(
    a: &[f64],
    b: &[f64],
    least_variance: (f64, f64),
    confidence: Confidence,
) -> Option<MeanDifference> {
    if a.len() < 2 || b.len() < 2 || !a.iter().chain(b).all(|value| value.is_finite()) {
        return None;
    }
    // Variances of the means, each with its degrees of freedom.
    let variance = |values: &[f64], least: f64| {
        let n = values.len() as f64;
        (sum_of_squares(values) / (n - 1.0)).max(least) / n
    };
    let (of_a, of_b) = (variance(a, least_variance.0), variance(b, least_variance.1));
    let (mean_a, mean_b) = (mean(a), mean(b));
    let (difference, error) = (mean_b - mean_a, (of_a + of_b).sqrt());
    if error == 0.0 {
        // All values of a side are equal.
        let interval = ConfidenceInterval { low: difference, high: difference };
        return Some(MeanDifference { a: mean_a, b: mean_b, interval, p: f64::from(difference == 0.0) });
    }
    let part = |variance: f64, n: usize| variance * variance / (n - 1) as f64;
    let degrees = (of_a + of_b).powi(2) / (part(of_a, a.len()) + part(of_b, b.len()));
    of_means((mean_a, mean_b), Variance { value: of_a + of_b, degrees }, confidence)
}

/// The difference of two means, of which the variance of the difference is known otherwise, such as
/// [moderated](crate::sample::moderated). `None` if that is not positive, or if something is not finite but its degrees of freedom.
pub fn of_means((a, b): (f64, f64), variance: Variance, confidence: Confidence) -> Option<MeanDifference> {
    let (difference, error) = (b - a, variance.value.sqrt());
    if !(error > 0.0 && error.is_finite() && difference.is_finite()) {
        return None;
    }
    let t = StudentsT::new(0.0, 1.0, variance.degrees.min(MOST_DEGREES)).ok()?;
    let half = t.inverse_cdf(1.0 - confidence.alpha() / 2.0) * error;
    Some(MeanDifference {
        a,
        b,
        interval: ConfidenceInterval { low: difference - half, high: difference + half },
        p: (2.0 * t.sf((difference / error).abs())).clamp(0.0, 1.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand_distr::{Distribution, Normal};
    use rand_pcg::Pcg64;

    #[test]
    fn interval_of_students_sleep_data_as_two_samples() {
        // R: with(sleep, t.test(extra[group == 2], extra[group == 1])): t = 1.8608, df = 17.776, p = 0.07939,
        // interval -0.2054832 to 3.3654832.
        let drug_1 = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let drug_2 = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let found = mean_difference(&drug_1, &drug_2, (0.0, 0.0), Confidence::P95).unwrap();
        assert!((found.interval.low + 0.205_483_2).abs() < 1e-6, "{found:?}");
        assert!((found.interval.high - 3.365_483_2).abs() < 1e-6, "{found:?}");
        assert!((found.p - 0.079_394_14).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn a_known_variance_gives_a_normal_interval() {
        let known = |value| Variance { value, degrees: f64::INFINITY };
        let found = of_means((1.0, 3.0), known(1.0), Confidence::P95).unwrap();
        assert!((found.interval.low - 0.04).abs() < 1e-3 && (found.p - 0.0455).abs() < 1e-3, "{found:?}");
        assert_eq!(of_means((1.0, 3.0), known(0.0), Confidence::P95), None);
        assert_eq!(of_means((1.0, f64::NAN), known(1.0), Confidence::P95), None);
    }

    #[test]
    fn values_that_agree_by_chance_are_no_proof() {
        let (one, none) = ([1.0; 3], [0.0; 3]);
        assert_eq!(mean_difference(&none, &one, (0.0, 0.0), Confidence::P95).unwrap().p, 0.0);
        assert!(mean_difference(&none, &one, (0.0, 1.0), Confidence::P95).unwrap().p > 0.1);
        assert_eq!(mean_difference(&one, &one, (0.0, 0.0), Confidence::P95).unwrap().p, 1.0);
        assert_eq!(mean_difference(&one, &[1.0], (0.0, 0.0), Confidence::P95), None);
    }

    #[test]
    fn equal_means_differ_in_one_of_twenty() {
        let rng = &mut Pcg64::seed_from_u64(17);
        let (narrow, wide) = (Normal::new(10.0, 1.0).unwrap(), Normal::new(10.0, 3.0).unwrap());
        let runs = 4000;
        let found = (0..runs)
            .filter(|_| {
                let a: Vec<f64> = (0..5).map(|_| narrow.sample(rng)).collect();
                let b: Vec<f64> = (0..4).map(|_| wide.sample(rng)).collect();
                mean_difference(&a, &b, (0.0, 0.0), Confidence::P95).unwrap().p < 0.05
            })
            .count();
        assert!((runs / 40..=runs / 14).contains(&found), "{found} of {runs}");
    }

    proptest! {
        #[test]
        fn the_p_value_and_the_interval_agree(
            a in prop::collection::vec(-100.0..100.0_f64, 2..8),
            b in prop::collection::vec(-100.0..100.0_f64, 2..8),
            least in 0.0..10.0_f64,
        ) {
            let found = mean_difference(&a, &b, (least, least), Confidence::P95).unwrap();
            prop_assert!(found.interval.low <= found.b - found.a && found.b - found.a <= found.interval.high);
            if (found.p - 0.05).abs() > 1e-6 {
                prop_assert_eq!(found.p < 0.05, !found.interval.contains(0.0));
            }
        }
    }
}
