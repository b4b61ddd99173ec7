//! Confidence intervals of a proportion, such as "4 false verdicts in 100 comparisons".

use crate::confidence::{Confidence, ConfidenceInterval};
use statrs::distribution::{Beta, ContinuousCDF, Normal};
use thiserror::Error;

/// A proportion: `hits` of `trials`.
///
/// ```
/// use stats::{confidence::Confidence, proportion::Proportion};
/// let false_verdicts = Proportion::new(4, 100)?;
/// let exact = false_verdicts.clopper_pearson(Confidence::P95);
/// assert!((exact.low - 0.0110).abs() < 1e-4 && (exact.high - 0.0993).abs() < 1e-4);
/// # Ok::<(), stats::proportion::ProportionError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proportion {
    hits: u64,
    trials: u64,
}

/// Counts that are not a proportion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{hits} of {trials} is not a proportion: give at least one trial and no more hits than trials")]
pub struct ProportionError {
    hits: u64,
    trials: u64,
}

impl Proportion {
    /// A proportion of at least one trial.
    pub fn new(hits: u64, trials: u64) -> Result<Self, ProportionError> {
        if trials > 0 && hits <= trials {
            Ok(Self { hits, trials })
        } else {
            Err(ProportionError { hits, trials })
        }
    }

    /// The proportion as measured, 0 to 1.
    pub fn estimate(&self) -> f64 {
        self.hits as f64 / self.trials as f64
    }

    /// The interval that contains the true proportion with *at least* this confidence, for every proportion. Use it for a
    /// bar that must be met.
    ///
    /// Source: C. J. Clopper & E. S. Pearson, Biometrika 26 (1934), by quantiles of the beta distribution.
    pub fn clopper_pearson(&self, confidence: Confidence) -> ConfidenceInterval {
        let tail = confidence.alpha() / 2.0;
        let (hits, misses) = (self.hits as f64, (self.trials - self.hits) as f64);
        // There is no beta distribution with a shape of 0: the bound is then 0 or 1.
        let quantile = |a: f64, b: f64, p: f64| Beta::new(a, b).map(|law| law.inverse_cdf(p));
        ConfidenceInterval {
            low: quantile(hits, misses + 1.0, tail).unwrap_or(0.0),
            high: quantile(hits + 1.0, misses, 1.0 - tail).unwrap_or(1.0),
        }
    }

    /// The interval that contains the true proportion with this confidence on average over proportions. It is narrower;
    /// use it for estimates.
    ///
    /// Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22
    /// (1927); recommended by L. D. Brown, T. T. Cai & A. `DasGupta`, Statistical Science 16 (2001).
    pub fn wilson(&self, confidence: Confidence) -> ConfidenceInterval {
        let z = Normal::standard().inverse_cdf(1.0 - confidence.alpha() / 2.0);
        let (n, p) = (self.trials as f64, self.estimate());
        let scale = 1.0 + z * z / n;
        let centre = (p + z * z / (2.0 * n)) / scale;
        let half = z / scale * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
        ConfidenceInterval { low: (centre - half).max(0.0), high: (centre + half).min(1.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(interval: ConfidenceInterval, low: f64, high: f64) -> bool {
        (interval.low - low).abs() < 5e-5 && (interval.high - high).abs() < 5e-5
    }

    #[test]
    fn four_of_a_hundred() {
        // R: binom.test(4, 100)$conf.int and prop.test(4, 100, correct = FALSE)$conf.int
        let proportion = Proportion::new(4, 100).unwrap();
        assert!(close(proportion.clopper_pearson(Confidence::P95), 0.011_004, 0.099_257));
        assert!(close(proportion.wilson(Confidence::P95), 0.015_664, 0.098_371));
    }

    #[test]
    fn no_hits_and_all_hits_reach_0_and_1() {
        let none = Proportion::new(0, 40).unwrap();
        assert!(close(none.clopper_pearson(Confidence::P95), 0.0, 0.088_097));
        let all = Proportion::new(40, 40).unwrap();
        assert!(close(all.clopper_pearson(Confidence::P95), 1.0 - 0.088_097, 1.0));
    }

    #[test]
    fn invalid_counts_are_refused() {
        assert!(Proportion::new(0, 0).is_err());
        assert_eq!(
            Proportion::new(5, 4).unwrap_err().to_string(),
            "5 of 4 is not a proportion: give at least one trial and no more hits than trials"
        );
        assert_eq!(Proportion::new(3, 4).unwrap().estimate(), 0.75);
    }

    proptest! {
        #[test]
        fn both_intervals_contain_the_estimate(trials in 1..5000_u64, part in 0.0..=1.0_f64) {
            let proportion = Proportion::new((part * trials as f64) as u64, trials).unwrap();
            for interval in [proportion.clopper_pearson(Confidence::P95), proportion.wilson(Confidence::P95)] {
                prop_assert!(interval.low <= proportion.estimate() + 1e-12);
                prop_assert!(interval.high >= proportion.estimate() - 1e-12);
                prop_assert!(0.0 <= interval.low && interval.high <= 1.0);
            }
        }
    }
}
