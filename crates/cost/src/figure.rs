//! A figure with its confidence interval.

use serde::Serialize;
use stats::confidence::{Confidence, ConfidenceInterval};
use stats::describe::Sample;
use stats::ratio;

/// A figure, and where there is one its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Figure {
    /// The figure.
    pub value: f64,
    /// Lower bound of the interval.
    pub low: Option<f64>,
    /// Upper bound of the interval.
    pub high: Option<f64>,
}

impl Figure {
    /// A figure with this interval.
    pub(crate) fn new(value: f64, interval: Option<ConfidenceInterval>) -> Self {
        Self { value, low: interval.map(|i| i.low), high: interval.map(|i| i.high) }
    }

    /// The interval.
    pub fn interval(&self) -> Option<ConfidenceInterval> {
        Some(ConfidenceInterval { low: self.low?, high: self.high? })
    }

    /// The figure that follows from this one by a monotone formula.
    #[must_use]
    pub(crate) fn through(&self, formula: impl Fn(f64) -> f64) -> Self {
        Self::new(formula(self.value), self.interval().map(|interval| interval.through(&formula)))
    }
}

/// The interval of values of blocks. A verdict has one of the median from six values on; with three to five it is Student's
/// interval of the mean logarithm, as for ratios. `None` for fewer.
pub(crate) fn interval_of(
    values: &[f64],
    of_verdict: Option<ConfidenceInterval>,
) -> Option<ConfidenceInterval> {
    let of_median = || Sample::new(values).ok()?.median_interval();
    of_verdict.or_else(of_median).or_else(|| {
        let blocks: Vec<(f64, f64)> = values.iter().map(|value| (*value, 1.0)).collect();
        let estimate = ratio::estimate(&blocks, Confidence::P95).ok()?;
        Some(ConfidenceInterval { low: estimate.low, high: estimate.high })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_formula_takes_the_interval_with_it() {
        let rate = Figure { value: 200.0, low: Some(100.0), high: Some(250.0) };
        let cost = rate.through(|per_s| 50.0 / per_s);
        assert_eq!((cost.value, cost.low, cost.high), (0.25, Some(0.2), Some(0.5)));
        assert_eq!(Figure::new(2.0, None).through(|x| x * 2.0), Figure::new(4.0, None));
    }

    #[test]
    fn three_values_have_an_interval_and_two_have_none() {
        let three = interval_of(&[99.0, 100.0, 101.0], None).unwrap();
        assert!(three.low < 99.0 && three.contains(100.0) && three.high > 101.0);
        assert_eq!(interval_of(&[99.0, 100.0], None), None);
        let two_modes: Vec<f64> = [[1.0; 21].as_slice(), &[2.0; 19]].concat();
        assert!(interval_of(&two_modes, None).is_some_and(|interval| interval.contains(1.0)), "the median's");
        let given = ConfidenceInterval { low: 1.0, high: 2.0 };
        assert_eq!(interval_of(&[99.0, 100.0, 101.0], Some(given)), Some(given));
    }
}
