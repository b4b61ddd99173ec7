//! Bootstrap intervals for a mean. The verdict does not use them; they are here so that the comparison can be repeated.
//!
//! Source: B. Efron & R. J. Tibshirani, *An Introduction to the Bootstrap* (1993), chapters 12 to 14.

use rand::{Rng, RngExt};
use statrs::distribution::{ContinuousCDF, Normal};
use stats::confidence::{Confidence, ConfidenceInterval};
use stats::describe::Sample;

const RESAMPLES: usize = 999;

struct Moments {
    mean: f64,
    standard_error: f64,
}

fn moments(values: &[f64]) -> Moments {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    Moments { mean, standard_error: (squares / (n - 1.0) / n).sqrt() }
}

fn resampled(values: &[f64], rng: &mut impl Rng) -> Vec<Moments> {
    let mut resample = vec![0.0; values.len()];
    (0..RESAMPLES)
        .map(|_| {
            resample.fill_with(|| values[rng.random_range(0..values.len())]);
            moments(&resample)
        })
        .collect()
}

/// The quantiles of the resampled means.
pub fn percentile(values: &[f64], confidence: Confidence, rng: &mut impl Rng) -> ConfidenceInterval {
    let means = sample(resampled(values, rng).iter().map(|m| m.mean));
    let tail = confidence.alpha() / 2.0;
    ConfidenceInterval { low: means.quantile(tail), high: means.quantile(1.0 - tail) }
}

/// Percentiles corrected for bias and for a variance that changes with the mean (ibid., chapter 14.3).
pub fn bca(values: &[f64], confidence: Confidence, rng: &mut impl Rng) -> ConfidenceInterval {
    let centre = moments(values).mean;
    let means = sample(resampled(values, rng).iter().map(|m| m.mean));
    let below = means.ascending().iter().filter(|mean| **mean < centre).count() as f64;
    let not_above = means.ascending().iter().filter(|mean| **mean <= centre).count() as f64;
    let normal = Normal::standard();
    let bias =
        normal.inverse_cdf((f64::midpoint(below, not_above) / RESAMPLES as f64).clamp(1e-3, 1.0 - 1e-3));
    // The jackknife's acceleration of a mean is its skewness over 6 √n.
    let third: f64 = values.iter().map(|v| (v - centre).powi(3)).sum();
    let second: f64 = values.iter().map(|v| (v - centre).powi(2)).sum();
    let acceleration = if second > 0.0 { third / (6.0 * second.powf(1.5)) } else { 0.0 };
    let adjusted = |tail: f64| {
        let z = bias + normal.inverse_cdf(tail);
        means.quantile(normal.cdf(bias + z / (1.0 - acceleration * z)))
    };
    let tail = confidence.alpha() / 2.0;
    ConfidenceInterval { low: adjusted(tail), high: adjusted(1.0 - tail) }
}

/// Bootstrap-t: the quantiles of (resampled mean − mean) / resampled standard error replace Student's.
///
/// A resample without variance (one in nine with three blocks) has no t and is left out.
pub fn studentised(values: &[f64], confidence: Confidence, rng: &mut impl Rng) -> ConfidenceInterval {
    let Moments { mean, standard_error } = moments(values);
    let t = sample(
        resampled(values, rng)
            .iter()
            .filter(|m| m.standard_error > 1e-12)
            .map(|m| (m.mean - mean) / m.standard_error),
    );
    let tail = confidence.alpha() / 2.0;
    ConfidenceInterval {
        low: mean - t.quantile(1.0 - tail) * standard_error,
        high: mean - t.quantile(tail) * standard_error,
    }
}

fn sample(values: impl Iterator<Item = f64>) -> Sample {
    Sample::try_from(values.collect::<Vec<_>>()).expect("at least one finite value")
}
