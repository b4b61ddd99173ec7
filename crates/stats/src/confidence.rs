//! Confidence levels and confidence intervals.
//!
//! Every interval of the crate is two-sided with equal tails. The type that contains an interval defines its quantity: a
//! ratio, a proportion, a mean.

use std::fmt;

use thiserror::Error;

/// A confidence level strictly between 0 and 1, such as 0.95.
///
/// ```
/// use stats::confidence::Confidence;
/// assert_eq!(Confidence::P95.level(), 0.95);
/// assert!(Confidence::new(95.0).is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Confidence(f64);

/// A level that is not strictly between 0 and 1.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("confidence level {0} is not strictly between 0 and 1: write 0.95 for 95 %")]
pub struct ConfidenceError(f64);

impl Confidence {
    /// 95 %, the level of every verdict unless asked otherwise.
    pub const P95: Self = Self(0.95);

    /// A level strictly between 0 and 1.
    pub fn new(level: f64) -> Result<Self, ConfidenceError> {
        if level > 0.0 && level < 1.0 { Ok(Self(level)) } else { Err(ConfidenceError(level)) }
    }

    /// The level with this probability of error, rounded towards certainty. An error where no number below 1 is that certain.
    ///
    /// ```
    /// use stats::confidence::Confidence;
    /// assert_eq!(Confidence::of_alpha(0.05).unwrap(), Confidence::P95);
    /// assert!(Confidence::of_alpha(1e-15).unwrap().alpha() <= 1e-15);
    /// assert!(Confidence::of_alpha(1e-17).is_err());
    /// ```
    pub fn of_alpha(alpha: f64) -> Result<Self, ConfidenceError> {
        let level = 1.0 - alpha;
        // Of a small alpha, the last digit of the level is a part that counts.
        let is_laxer = 1.0 - level > alpha * (1.0 + 1e-9);
        Self::new(if is_laxer { level.next_up() } else { level })
    }

    /// The level as a probability, such as 0.95.
    pub fn level(self) -> f64 {
        self.0
    }

    /// The probability of error, such as 0.05.
    pub fn alpha(self) -> f64 {
        1.0 - self.0
    }

    /// The level that each of `comparisons` intervals needs so that *all* of them together have this level.
    ///
    /// Bonferroni's inequality: each gets `alpha / comparisons`. It holds for any dependence between the
    /// comparisons. Here they are dependent, because pairs of variants share trials.
    /// Source: O. J. Dunn, "Multiple comparisons among means", JASA 56 (1961).
    #[must_use]
    pub fn shared_by(self, comparisons: usize) -> Self {
        Self(1.0 - self.alpha() / comparisons.max(1) as f64)
    }
}

/// `95 %`, and `99.9 %` where fewer digits would read as certainty.
impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let written = (0..4).map(|digits| format!("{:.digits$}", self.0 * 100.0));
        let short = written.into_iter().find(|text| text.parse().is_ok_and(|percent: f64| percent < 100.0));
        write!(f, "{} %", short.unwrap_or_else(|| format!("{:.4}", self.0 * 100.0)))
    }
}

/// A closed interval, `low <= high`, in the unit of its quantity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ConfidenceInterval {
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

impl ConfidenceInterval {
    /// Whether `value` lies in the interval, bounds included.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// The interval of a figure that is a monotone function of the quantity, rising or falling: the figures of the bounds. It
    /// contains the figure exactly where this interval contains the quantity, so its confidence level is the same.
    ///
    /// ```
    /// use stats::confidence::ConfidenceInterval;
    /// let rate = ConfidenceInterval { low: 100.0, high: 125.0 };
    /// let cost = rate.through(|per_s| 5.0 / per_s);
    /// assert_eq!((cost.low, cost.high), (0.04, 0.05));
    /// ```
    #[must_use]
    pub fn through(&self, figure: impl Fn(f64) -> f64) -> Self {
        let (a, b) = (figure(self.low), figure(self.high));
        Self { low: a.min(b), high: a.max(b) }
    }

    /// Half the distance between the bounds.
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A quotient contains its figure exactly where the interval contains the quantity.
        #[test]
        fn a_monotone_figure_keeps_the_level(low in 1.0..1e3, width in 0.0..1e3, truth in 1.0..3e3, cost in 0.1..1e6) {
            let interval = ConfidenceInterval { low, high: low + width };
            let divided = interval.through(|value| cost / value);
            prop_assert!(divided.low <= divided.high);
            prop_assert_eq!(divided.contains(cost / truth), interval.contains(truth));
        }
    }

    #[test]
    fn a_level_in_percent_is_refused_with_the_remedy() {
        let message = Confidence::new(95.0).unwrap_err().to_string();
        assert_eq!(message, "confidence level 95 is not strictly between 0 and 1: write 0.95 for 95 %");
        assert!(Confidence::new(f64::NAN).is_err());
        assert!(Confidence::new(1.0).is_err());
    }

    #[test]
    fn three_comparisons_share_five_percent_of_error() {
        let each = Confidence::P95.shared_by(3);
        assert!((each.alpha() - 0.05 / 3.0).abs() < 1e-12);
        assert_eq!(Confidence::P95.shared_by(0), Confidence::P95);
    }

    #[test]
    fn a_level_is_never_written_as_certainty() {
        let written = [0.95, 0.983, 0.9992, 0.99999].map(|level| Confidence(level).to_string());
        assert_eq!(written, ["95 %", "98 %", "99.9 %", "99.999 %"]);
    }

    #[test]
    fn a_level_out_of_range_is_refused() {
        assert!(Confidence::new(0.95).is_ok());
        assert!(Confidence::new(1.5).is_err());
    }
}
