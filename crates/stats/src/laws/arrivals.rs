//! Are arrivals Poisson? The Anderson–Darling test of the gaps between them.
//!
//! It tests the load engine's schedule, as planned and as sent. The statistic gives weight to the tails, where bunched or
//! rounded sends show. There are two cases, each with its own distribution: the rate is known (the schedule's target), or
//! estimated from the gaps (T. W. Anderson & D. A. Darling, "A test of
//! goodness of fit", JASA 49 (1954); M. A. Stephens, "EDF statistics for goodness of fit and some
//! comparisons", JASA 69 (1974)).
//!
//! With enough gaps every real sender fails: sends are late by microseconds, and a million gaps show it. Test windows of a
//! few thousand gaps, in any number.

use std::time::Duration;
use thiserror::Error;

/// Least number of gaps: with fewer, the tabulated distributions do not apply.
pub const FEWEST_GAPS: usize = 10;

/// Result of a test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AndersonDarling {
    /// A², with the correction for the number of gaps where the rate is estimated.
    pub statistic: f64,
    /// Probability of a statistic at least this large from a Poisson process. At 0.05, one Poisson schedule in twenty
    /// fails.
    pub p_value: f64,
    /// Number of gaps tested.
    pub gaps: usize,
}

/// Why gaps cannot be tested.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ArrivalsError {
    /// Too few gaps.
    #[error("{gaps} gaps are too few to test: record at least {FEWEST_GAPS}")]
    TooFew {
        /// Number of gaps.
        gaps: usize,
    },
    /// The target rate is not a positive number.
    #[error("a rate of {0} arrivals/s is not a positive number")]
    Rate(f64),
    /// All gaps are zero, so there is no rate to estimate.
    #[error("all gaps are zero: use a clock with a finer resolution")]
    NoTime,
}

/// Tests gaps against a Poisson process of a *known* rate: shape and rate must both agree.
///
/// ```
/// use std::time::Duration;
/// let constant = [Duration::from_millis(1); 100];
/// let found = stats::arrivals::test_known_rate(&constant, 1000.0)?;
/// assert!(found.p_value < 0.001, "a constant rate is not Poisson");
/// # Ok::<(), stats::arrivals::ArrivalsError>(())
/// ```
pub fn test_known_rate(gaps: &[Duration], rate_per_s: f64) -> Result<AndersonDarling, ArrivalsError> {
    if !(rate_per_s.is_finite() && rate_per_s > 0.0) {
        return Err(ArrivalsError::Rate(rate_per_s));
    }
    let statistic = a_squared(gaps, rate_per_s)?;
    Ok(AndersonDarling { statistic, p_value: 1.0 - asymptotic_cdf(statistic), gaps: gaps.len() })
}

/// Tests gaps against a Poisson process whose rate is *estimated* from them: only the shape must agree.
pub fn test_estimated_rate(gaps: &[Duration]) -> Result<AndersonDarling, ArrivalsError> {
    let total: f64 = gaps.iter().map(Duration::as_secs_f64).sum();
    if total == 0.0 && gaps.len() >= FEWEST_GAPS {
        return Err(ArrivalsError::NoTime);
    }
    let n = gaps.len() as f64;
    // Stephens' correction makes the distribution independent of the number of gaps.
    let statistic = a_squared(gaps, n / total)? * (1.0 + 0.6 / n);
    Ok(AndersonDarling { statistic, p_value: p_value_estimated_rate(statistic), gaps: gaps.len() })
}

/// A² = −n − (1/n) Σ (2i − 1) (ln uᵢ + ln(1 − u₍ₙ₊₁₋ᵢ₎)), where u is the probability of each gap under the exponential
/// distribution.
fn a_squared(gaps: &[Duration], rate_per_s: f64) -> Result<f64, ArrivalsError> {
    if gaps.len() < FEWEST_GAPS {
        return Err(ArrivalsError::TooFew { gaps: gaps.len() });
    }
    let mut ascending = gaps.to_vec();
    ascending.sort_unstable();
    // Two arrivals in one nanosecond count as half of it apart: a gap of zero would make the statistic infinite.
    let scaled = |gap: Duration| gap.as_secs_f64().max(0.5e-9) * rate_per_s;
    let n = ascending.len() as f64;
    let sum: f64 = ascending
        .iter()
        .zip(ascending.iter().rev())
        .enumerate()
        // ln u = ln(1 − e⁻ˣ), and ln(1 − u) is exactly −x.
        .map(|(i, (low, high))| (2.0 * i as f64 + 1.0) * ((-(-scaled(*low)).exp_m1()).ln() - scaled(*high)))
        .sum();
    Ok(-n - sum / n)
}

/// The limiting distribution of A² for a fully known distribution, within 2 · 10⁻⁶.
///
/// Source: G. Marsaglia & J. Marsaglia, "Evaluating the Anderson-Darling distribution", Journal of
/// Statistical Software 9 (2004), function `adinf`. From ten values on, the exact distribution differs by less than 0.003.
fn asymptotic_cdf(z: f64) -> f64 {
    if z <= 0.0 {
        return 0.0;
    }
    let horner = |coefficients: &[f64]| coefficients.iter().rev().fold(0.0, |sum, c| sum * z + c);
    if z < 2.0 {
        let series = horner(&[2.000_12, 0.247_105, -0.064_982_1, 0.034_796_2, -0.011_672_0, 0.001_686_91]);
        (-1.233_714_1 / z).exp() / z.sqrt() * series
    } else {
        (-horner(&[1.0776, -2.306_95, 0.434_24, -0.082_433, 0.008_056, -0.000_314_6]).exp()).exp()
    }
}

/// P-value of the corrected A² with the rate estimated.
///
/// Source: R. B. D'Agostino & M. A. Stephens (eds.), *Goodness-of-Fit Techniques* (1986), §4.9, formulas of
/// the exponential case. Its table has 10 % at 1.062, 5 % at 1.321 and 1 % at 1.959.
fn p_value_estimated_rate(a: f64) -> f64 {
    let quadratic = |c: [f64; 3]| c[0] + c[1] * a + c[2] * a * a;
    let p = match a {
        _ if a < 0.26 => 1.0 - quadratic([-12.2204, 67.459, -110.3]).exp(),
        _ if a < 0.51 => 1.0 - quadratic([-6.1327, 20.218, -18.663]).exp(),
        _ if a < 0.95 => quadratic([0.9209, -3.353, 0.300]).exp(),
        // The quadratic rises from 10 on, where p is 10⁻⁶.
        _ if a < 10.0 => quadratic([0.731, -3.009, 0.15]).exp(),
        _ => 0.0,
    };
    p.clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand_distr::{Distribution, Exp, Gamma};
    use rand_pcg::Pcg64;

    fn gaps(n: usize, law: &impl Distribution<f64>, rng: &mut Pcg64) -> Vec<Duration> {
        (0..n).map(|_| Duration::from_secs_f64(law.sample(rng))).collect()
    }

    /// The shares of 1000 Poisson schedules that fail at p < 0.05 and p < 0.01.
    fn failing(n: usize, test: impl Fn(&[Duration]) -> f64) -> (f64, f64) {
        let rng = &mut Pcg64::seed_from_u64(3);
        let law = Exp::new(1000.0).unwrap();
        let p_values: Vec<f64> = (0..1000).map(|_| test(&gaps(n, &law, rng))).collect();
        let share = |level: f64| p_values.iter().filter(|p| **p < level).count() as f64 / 1000.0;
        (share(0.05), share(0.01))
    }

    #[test]
    fn a_poisson_schedule_fails_at_the_rate_of_the_p_value() {
        for n in [10, 100, 400] {
            for (five, one) in [
                failing(n, |gaps| test_known_rate(gaps, 1000.0).unwrap().p_value),
                failing(n, |gaps| test_estimated_rate(gaps).unwrap().p_value),
            ] {
                assert!((0.03..=0.07).contains(&five) && (0.002..=0.02).contains(&one), "{n}: {five} {one}");
            }
        }
    }

    #[test]
    fn critical_values_agree_with_the_tables() {
        // Known rate: 10 % at 1.933, 5 % at 2.492, 1 % at 3.857 (Stephens 1974, table 1).
        for (critical, level) in [(1.933, 0.10), (2.492, 0.05), (3.857, 0.01)] {
            assert!((1.0 - asymptotic_cdf(critical) - level).abs() < 5e-4, "{critical}");
        }
        for (critical, level) in [(1.062, 0.10), (1.321, 0.05), (1.959, 0.01)] {
            assert!((p_value_estimated_rate(critical) - level).abs() < 0.05 * level, "{critical}");
        }
    }

    #[test]
    fn even_and_bunched_gaps_fail() {
        let rng = &mut Pcg64::seed_from_u64(4);
        let even = gaps(1000, &Gamma::new(2.0, 0.0005).unwrap(), rng);
        let bunched = gaps(1000, &Gamma::new(0.5, 0.002).unwrap(), rng);
        for schedule in [even, bunched] {
            assert!(test_estimated_rate(&schedule).unwrap().p_value < 0.001);
            assert!(test_known_rate(&schedule, 1000.0).unwrap().p_value < 0.001);
        }
    }

    #[test]
    fn a_wrong_rate_fails_only_where_the_rate_is_known() {
        let schedule = gaps(2000, &Exp::new(1100.0).unwrap(), &mut Pcg64::seed_from_u64(5));
        assert!(test_known_rate(&schedule, 1000.0).unwrap().p_value < 0.01);
        assert!(test_estimated_rate(&schedule).unwrap().p_value > 0.05);
    }

    #[test]
    fn two_arrivals_in_one_nanosecond_do_not_fail_a_schedule() {
        let mut schedule = gaps(5000, &Exp::new(50_000.0).unwrap(), &mut Pcg64::seed_from_u64(6));
        schedule[17] = Duration::ZERO;
        assert!(test_known_rate(&schedule, 50_000.0).unwrap().p_value > 0.05);
    }

    #[test]
    fn gaps_that_cannot_be_tested_are_refused() {
        assert_eq!(test_estimated_rate(&[Duration::ZERO; 9]), Err(ArrivalsError::TooFew { gaps: 9 }));
        assert_eq!(test_estimated_rate(&[Duration::ZERO; 10]), Err(ArrivalsError::NoTime));
        assert_eq!(test_known_rate(&[Duration::ZERO; 10], -5.0), Err(ArrivalsError::Rate(-5.0)));
    }

    proptest! {
        #[test]
        fn p_is_a_probability(
            nanos in prop::collection::vec(0..u64::from(u32::MAX), 10..60),
            rate in 1e-3..1e9_f64,
        ) {
            let schedule: Vec<_> = nanos.into_iter().map(Duration::from_nanos).collect();
            let p = test_known_rate(&schedule, rate).unwrap().p_value;
            prop_assert!((0.0..=1.0).contains(&p));
        }
    }
}
