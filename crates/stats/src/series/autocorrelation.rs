//! Autocorrelation and the effective sample size of a series.
//!
//! The throughput of one second depends on that of the second before. A confidence interval that assumes independence is
//! too narrow. The effective sample size is the number of independent values with as much information about the mean. It
//! is for intervals *within* one trial; between variants the unit is the restart ([`crate::comparison::ratio`]).

use crate::confidence::{Confidence, ConfidenceInterval};
use crate::sample::describe::{SampleError, finite, mean, sum_of_squares};
use crate::sample::location::t_quantile;

/// Autocorrelation of the series at `lag`, between −1 and 1.
///
/// The divisor is the sum of squares of the whole series, which keeps the sequence positive definite: G. E. P. Box
/// & G. M. Jenkins, *Time Series Analysis*, §2.1. Zero for a constant series and for a lag beyond the series.
pub fn autocorrelation(series: &[f64], lag: usize) -> Result<f64, SampleError> {
    finite(series)?;
    Ok(autocorrelation_around(series, mean(series), sum_of_squares(series), lag))
}

/// The autocorrelation of a finite series with a known mean and sum of squares.
fn autocorrelation_around(series: &[f64], mean: f64, squares: f64, lag: usize) -> f64 {
    if squares == 0.0 || lag >= series.len() {
        return 0.0;
    }
    let products: f64 = series.iter().zip(&series[lag..]).map(|(a, b)| (a - mean) * (b - mean)).sum();
    products / squares
}

/// The number of independent values with as much information about the mean as this series, from 1 to its length.
///
/// `n / (1 + 2 Σ ρ_k)`, with the sum stopped by the initial monotone positive sequence of C. J. Geyer,
/// "Practical Markov chain Monte Carlo", Statistical Science 7 (1992), §3.3: sums of neighbouring pairs of
/// autocorrelations are added while positive, each no larger than the one before. The size is at most the length, also for
/// a series whose values alternate. The size of a constant series is its length.
///
/// ```
/// use stats::autocorrelation::effective_sample_size;
/// let saw: Vec<f64> = (0..100).map(|i| f64::from(i / 10 % 2)).collect();
/// assert!(effective_sample_size(&saw)? < 30.0);
/// # Ok::<(), stats::describe::SampleError>(())
/// ```
pub fn effective_sample_size(series: &[f64]) -> Result<f64, SampleError> {
    finite(series)?;
    let (mean, squares) = (mean(series), sum_of_squares(series));
    let rho = |lag| autocorrelation_around(series, mean, squares, lag);
    let n = series.len() as f64;
    let mut ceiling = f64::INFINITY;
    let pairs: f64 = (0..series.len().div_ceil(2))
        .map(|pair| rho(2 * pair) + rho(2 * pair + 1))
        .map_while(|pair| {
            ceiling = ceiling.min(pair);
            (pair > 0.0).then_some(ceiling)
        })
        .sum();
    // Σ over pairs from lag 0 is 1 + ρ₁ + ρ₂ + …, hence 1 + 2 Σ ρ_k = 2 Σ pairs − 1.
    Ok((n / (2.0 * pairs - 1.0).max(1.0)).clamp(1.0, n))
}

/// The confidence interval of the mean of a stationary series, from the effective sample size.
///
/// `None` with an effective sample size below two.
pub fn mean_interval(
    series: &[f64],
    confidence: Confidence,
) -> Result<Option<ConfidenceInterval>, SampleError> {
    let effective = effective_sample_size(series)?;
    let centre = mean(series);
    let interval = t_quantile((effective - 1.0) as usize, 1.0 - confidence.alpha() / 2.0).map(|quantile| {
        let variance = sum_of_squares(series) / (series.len() as f64 - 1.0);
        let half = quantile * (variance / effective).sqrt();
        ConfidenceInterval { low: centre - half, high: centre + half }
    });
    Ok(interval)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand_distr::{Distribution, Normal};
    use rand_pcg::Pcg64;

    fn first_order(n: usize, rho: f64, rng: &mut Pcg64) -> Vec<f64> {
        let law = Normal::new(0.0, 1.0).unwrap();
        let mut last = law.sample(rng);
        let mut next = || {
            last = rho * last + (1.0 - rho * rho).sqrt() * law.sample(rng);
            last
        };
        (0..n).map(|_| next()).collect()
    }

    #[test]
    fn lags_of_a_worked_example() {
        // R: acf(1:5, plot = FALSE): 1.0, 0.4, -0.1, -0.4, -0.4
        let ramp = [1.0, 2.0, 3.0, 4.0, 5.0];
        for (lag, want) in [1.0, 0.4, -0.1, -0.4, -0.4, 0.0].into_iter().enumerate() {
            assert!((autocorrelation(&ramp, lag).unwrap() - want).abs() < 1e-12, "lag {lag}");
        }
    }

    #[test]
    fn the_effective_size_of_a_first_order_series_agrees_with_theory() {
        let rng = &mut Pcg64::seed_from_u64(8);
        for rho in [0.0_f64, 0.5, 0.8] {
            let theory = 4000.0 * (1.0 - rho) / (1.0 + rho);
            let found = effective_sample_size(&first_order(4000, rho, rng)).unwrap();
            assert!((found / theory - 1.0).abs() < 0.2, "ρ = {rho}: {found} of {theory}");
        }
    }

    #[test]
    fn the_interval_of_an_autocorrelated_series_has_its_coverage() {
        let rng = &mut Pcg64::seed_from_u64(9);
        let runs = 500;
        let covers = |interval: ConfidenceInterval| u32::from(interval.contains(0.0));
        let (mut corrected, mut naive) = (0, 0);
        for _ in 0..runs {
            let series = first_order(200, 0.7, rng);
            corrected += mean_interval(&series, Confidence::P95).unwrap().map_or(0, covers);
            naive += crate::sample::location::student_t(&series, Confidence::P95)
                .map_or(0, |found| covers(found.interval));
        }
        assert!(corrected >= runs * 92 / 100, "{corrected} of {runs}");
        assert!(naive < runs * 70 / 100, "an interval that assumes independence covers {naive} of {runs}");
    }

    #[test]
    fn a_ramp_has_a_small_effective_size() {
        let ramp: Vec<f64> = (0..100).map(f64::from).collect();
        assert!(effective_sample_size(&ramp).unwrap() < 4.0);
        assert_eq!(mean_interval(&[1.0], Confidence::P95), Ok(None));
    }

    proptest! {
        #[test]
        fn the_effective_size_is_between_one_and_the_length(
            values in prop::collection::vec(-1e6..1e6_f64, 1..80),
        ) {
            let size = effective_sample_size(&values).unwrap();
            prop_assert!(1.0 <= size && size <= values.len() as f64);
        }
    }
}
