//! Centre, spread and quantiles of a small sample.
//!
//! [`Sample`] accepts finite numbers only, so its methods need no further checks. Percentiles of response times come from
//! merged histograms, not from here.

use thiserror::Error;

use crate::confidence::{Confidence, ConfidenceInterval};

/// At least one finite number, kept in ascending order.
///
/// ```
/// use stats::describe::Sample;
/// let trials = Sample::new(&[125_100.0, 124_300.0, 250_900.0])?;
/// assert_eq!(trials.median(), 125_100.0);
/// # Ok::<(), stats::describe::SampleError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Sample(Vec<f64>);

/// Why some values are not a [`Sample`].
#[derive(Debug, Clone, PartialEq, Error)]
pub enum SampleError {
    /// There is no value.
    #[error("no value to describe: at least one is needed")]
    Empty,
    /// A value is NaN or infinite.
    #[error("value {index} (counted from 0) is {value}, not a finite number: leave it out and say why")]
    NotFinite {
        /// Its place in the input, from 0.
        index: usize,
        /// The value itself.
        value: f64,
    },
}

impl Sample {
    /// Takes the values in any order.
    pub fn new(values: &[f64]) -> Result<Self, SampleError> {
        Self::try_from(values.to_vec())
    }

    /// The values in ascending order.
    pub fn ascending(&self) -> &[f64] {
        &self.0
    }

    /// Number of values, at least 1.
    #[allow(clippy::len_without_is_empty, reason = "never empty by construction")]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Arithmetic mean.
    pub fn mean(&self) -> f64 {
        mean(&self.0)
    }

    /// Sample standard deviation (divisor `n - 1`); `None` for a single value.
    pub fn standard_deviation(&self) -> Option<f64> {
        let degrees = self.len() - 1;
        (degrees > 0).then(|| (sum_of_squares(&self.0) / degrees as f64).sqrt())
    }

    /// Standard deviation over mean; `None` for a single value or a mean of zero.
    pub fn coefficient_of_variation(&self) -> Option<f64> {
        let mean = self.mean();
        self.standard_deviation().filter(|_| mean != 0.0).map(|sd| sd / mean.abs())
    }

    /// The value below which a share `p` of the sample lies, `p` clamped to 0..=1: definition 7 of R. J.
    /// Hyndman & Y. Fan, "Sample quantiles in statistical packages", The American Statistician 50 (1996), the
    /// default of R and `NumPy`.
    pub fn quantile(&self, p: f64) -> f64 {
        let p = if p.is_nan() { 0.5 } else { p.clamp(0.0, 1.0) };
        let position = p * (self.len() - 1) as f64;
        let below = position.floor() as usize;
        let above = (below + 1).min(self.len() - 1);
        // Written as a weighted sum, it stays finite for values near ±f64::MAX.
        let weight = position - below as f64;
        self.0[below] * (1.0 - weight) + self.0[above] * weight
    }

    /// The middle value, or the mean of the two in the middle.
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// The confidence interval of the median, at least 95 %, from order statistics (Conover, Practical Nonparametric
    /// Statistics, 3.2). It is the narrowest symmetric pair of ranks whose binomial tails are each at most 2.5 %. None for
    /// fewer than six values, where no pair qualifies.
    pub fn median_interval(&self) -> Option<ConfidenceInterval> {
        let n = self.len();
        let tail = Confidence::P95.alpha() / 2.0;
        let (mut below, mut probability) = (0.0, 0.5_f64.powf(n as f64));
        let mut rank = None;
        for k in 0..n / 2 {
            below += probability;
            if below > tail {
                break;
            }
            rank = Some(k);
            probability *= (n - k) as f64 / (k + 1) as f64;
        }
        rank.map(|k| ConfidenceInterval { low: self.0[k], high: self.0[n - 1 - k] })
    }

    /// Median of the absolute distances to the median, not scaled; times 1.4826 it estimates the standard
    /// deviation of normal data. Source: F. R. Hampel, "The influence curve", JASA 69 (1974).
    pub fn median_absolute_deviation(&self) -> f64 {
        let median = self.median();
        let mut distances: Vec<f64> = self.0.iter().map(|value| (value - median).abs()).collect();
        distances.sort_by(f64::total_cmp);
        Self(distances).median()
    }

    /// Mean without the `share` smallest and the `share` largest values, rounded down to whole values; `share` is clamped to 0..=0.5, and at 0.5 this is the median. Source: J. W.
    /// Tukey & D. H. `McLaughlin`, Sankhyā A 25 (1963).
    pub fn trimmed_mean(&self, share: f64) -> f64 {
        let cut = (share.clamp(0.0, 0.5) * self.len() as f64) as usize;
        match self.0.get(cut..self.len() - cut) {
            Some(kept) if !kept.is_empty() => mean(kept),
            _ => self.median(),
        }
    }

    /// `exp` of the mean logarithm; `None` unless every value is positive.
    pub fn geometric_mean(&self) -> Option<f64> {
        (self.0[0] > 0.0)
            .then(|| (self.0.iter().map(|value| value.ln()).sum::<f64>() / self.len() as f64).exp())
    }
}

impl TryFrom<Vec<f64>> for Sample {
    type Error = SampleError;
    fn try_from(mut values: Vec<f64>) -> Result<Self, SampleError> {
        finite(&values)?;
        values.sort_by(f64::total_cmp);
        Ok(Self(values))
    }
}

/// Checks that there is at least one value and that all are finite, for functions that keep the order of their input.
pub(crate) fn finite(values: &[f64]) -> Result<(), SampleError> {
    if values.is_empty() {
        return Err(SampleError::Empty);
    }
    match values.iter().position(|value| !value.is_finite()) {
        Some(index) => Err(SampleError::NotFinite { index, value: values[index] }),
        None => Ok(()),
    }
}

/// Mean of at least one value. It is computed around the first value, so that the mean of a constant sample is exact.
pub(crate) fn mean(values: &[f64]) -> f64 {
    let origin = values[0];
    origin + values.iter().map(|value| (value - origin) / values.len() as f64).sum::<f64>()
}

/// Sum of the squared distances to the mean; exactly zero for a constant sample.
pub(crate) fn sum_of_squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample(values: &[f64]) -> Sample {
        Sample::new(values).unwrap()
    }

    #[test]
    fn a_value_that_is_not_finite_is_refused_with_its_index() {
        assert_eq!(Sample::new(&[]), Err(SampleError::Empty));
        let error = Sample::new(&[1.0, f64::INFINITY]).unwrap_err();
        assert_eq!(error, SampleError::NotFinite { index: 1, value: f64::INFINITY });
    }

    #[test]
    fn quantiles_agree_with_r_type_7() {
        // R: quantile(c(1, 2, 4, 8), c(.1, .25, .5, .9), type = 7)
        let powers = sample(&[8.0, 1.0, 4.0, 2.0]);
        for (p, want) in [(0.0, 1.0), (0.1, 1.3), (0.25, 1.75), (0.5, 3.0), (0.9, 6.8), (1.0, 8.0)] {
            assert!((powers.quantile(p) - want).abs() < 1e-12, "p = {p}");
        }
    }

    #[test]
    fn spread_and_centres_of_a_worked_example() {
        let nine = sample(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0, 50.0]);
        assert!((nine.mean() - 10.0).abs() < 1e-12);
        assert!((nine.median() - 5.0).abs() < 1e-12);
        assert!((nine.median_absolute_deviation() - 1.0).abs() < 1e-12);
        assert!((nine.trimmed_mean(0.2) - 38.0 / 7.0).abs() < 1e-12);
        assert!((nine.trimmed_mean(0.5) - 5.0).abs() < 1e-12);
        assert!((nine.standard_deviation().unwrap() - 229.0_f64.sqrt()).abs() < 1e-12);
        assert!((nine.coefficient_of_variation().unwrap() - 229.0_f64.sqrt() / 10.0).abs() < 1e-12);
        assert!((sample(&[1.0, 10.0, 100.0]).geometric_mean().unwrap() - 10.0).abs() < 1e-12);
    }

    #[test]
    fn an_undefined_statistic_is_none() {
        assert_eq!(sample(&[3.0]).standard_deviation(), None);
        assert_eq!(sample(&[-1.0, 1.0]).coefficient_of_variation(), None);
        assert_eq!(sample(&[0.0, 1.0]).geometric_mean(), None);
    }

    proptest! {
        #[test]
        fn centres_lie_inside_the_sample(values in prop::collection::vec(-1e9..1e9_f64, 1..40), p in 0.0..1.0) {
            let sample = sample(&values);
            let (least, most) = (sample.quantile(0.0), sample.quantile(1.0));
            let slack = 1e-6;
            for centre in [sample.mean(), sample.median(), sample.quantile(p), sample.trimmed_mean(p / 2.0)] {
                prop_assert!(least - slack <= centre && centre <= most + slack);
            }
        }

        #[test]
        fn a_constant_sample_has_no_spread(value in -1e9..1e9_f64, n in 2_usize..40) {
            let sample = sample(&vec![value; n]);
            prop_assert_eq!(sample.standard_deviation(), Some(0.0));
            prop_assert_eq!(sample.median_absolute_deviation(), 0.0);
        }
    }

    #[test]
    fn the_confidence_interval_of_a_median_needs_six_values() {
        let interval = |values: &[f64]| Sample::new(values).expect("values").median_interval();
        assert_eq!(interval(&[1.0, 2.0, 3.0, 4.0, 5.0]), None);
        let six = interval(&[6.0, 1.0, 2.0, 3.0, 4.0, 5.0]).expect("an interval");
        assert_eq!((six.low, six.high), (1.0, 6.0));
        // Ten values: ranks 2 and 9 leave 1.07 % on each side (Conover's table A3).
        let ten: Vec<f64> = (1..=10).map(f64::from).collect();
        let interval = interval(&ten).expect("an interval");
        assert_eq!((interval.low, interval.high), (2.0, 9.0));
    }
}
