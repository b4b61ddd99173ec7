//! The verdict on a ratio: a difference, no difference shown, or inconclusive.
//!
//! The confidence interval alone decides. It is compared with a zone around 1 that is negligible in practice and below the
//! accuracy of the instrument, [`VerdictRule::negligible`]:
//!
//! ```text
//!                      zone of the negligible
//!                           ├──┼──┤
//!                              1
//!   Difference                        ├────┤         entirely outside the zone: the direction is known
//!   NoDifferenceShown        ├───┤                   reaches into it, and excludes useful differences
//!   Inconclusive      ├───────────────────┤          reaches into it, and does not exclude them
//! ```
//!
//! The caller leaves out blocks with an invalid trial. Sentences, names and units are added later.

use crate::comparison::ratio::{IntervalMethod, RatioError, RatioEstimate, estimate_by};
use crate::confidence::Confidence;

/// The thresholds of a verdict.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VerdictRule {
    /// Level of the interval.
    pub confidence: Confidence,
    /// Relative difference that is negligible, such as 0.005 for 0.5 %. The verdict is a difference if the whole interval
    /// lies outside `1 / (1 + negligible) ..= 1 + negligible`. With zero it only has to exclude 1.
    ///
    /// Two copies of one program differ permanently by some tenths of a percent, because of the length of a path or the
    /// layout of memory (Mytkowicz et al., "Producing wrong data without doing anything obviously wrong!",
    /// ASPLOS 2009), and no number of blocks averages that away. The zone also keeps the rate of false verdicts
    /// well under `confidence.alpha()` where blocks are quiet.
    pub negligible: f64,
    /// How the interval is computed; by the number of blocks where it is not said.
    pub method: Option<IntervalMethod>,
    /// Relative difference that "no difference shown" must exclude, such as 0.10. An interval that shows no difference and
    /// contains a larger one is inconclusive.
    pub useful: f64,
}

impl Default for VerdictRule {
    /// 95 % confidence, 0.5 % is negligible, and 10 % must be excluded.
    ///
    /// 10 % is where a change of machine or server begins to pay off. `docs/decisions/0002-verdict-statistics.md` has the
    /// measured effect of the 0.5 %.
    fn default() -> Self {
        Self { confidence: Confidence::P95, negligible: 0.005, method: None, useful: 0.10 }
    }
}

/// One of the two variants of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// The numerator of the ratio.
    A,
    /// The denominator of the ratio.
    B,
}

/// The verdict of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub enum RatioVerdict {
    /// One side has a higher value. Whether higher is better depends on the measure.
    Difference {
        /// The side with the larger value.
        higher: Side,
        /// The least relative difference in the interval: 0.55 if the larger value is at least 1.55 times the other.
        at_least: f64,
    },
    /// No difference was shown, and a true difference is small: "within ±2.1 %".
    NoDifferenceShown {
        /// The largest relative difference in the interval: 0.021 if neither side is more than 1.021 times the other.
        within: f64,
    },
    /// The data support neither.
    Inconclusive {
        /// The reason.
        why: InconclusiveReason,
    },
}

/// Why a comparison is inconclusive.
#[derive(Debug, Clone, PartialEq)]
pub enum InconclusiveReason {
    /// The interval shows no difference and contains one that is too large.
    TooWide {
        /// The largest relative difference in the interval.
        within: f64,
        /// What it had to exclude: [`VerdictRule::useful`].
        useful: f64,
    },
    /// There is no ratio: too few blocks, or a value without a ratio.
    NoRatio(RatioError),
}

/// An estimate, if there is one, and its verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct RatioComparison {
    /// The ratio of A to B.
    pub estimate: Option<RatioEstimate>,
    /// The verdict on it.
    pub verdict: RatioVerdict,
}

/// Compares A with B over blocks `(a, b)` of valid trials.
///
/// ```
/// use stats::verdict::{VerdictRule, Side, RatioVerdict, compare};
/// let blocks = [(205.0, 100.0), (198.0, 101.0), (201.0, 102.0), (199.0, 99.0), (200.0, 101.0), (204.0, 99.0)];
/// let found = compare(&blocks, &VerdictRule::default());
/// assert!(matches!(found.verdict, RatioVerdict::Difference { higher: Side::A, at_least } if at_least > 0.9));
/// ```
pub fn compare(blocks: &[(f64, f64)], rule: &VerdictRule) -> RatioComparison {
    let method = rule.method.unwrap_or_else(|| IntervalMethod::for_blocks(blocks.len(), rule.confidence));
    match estimate_by(method, blocks, rule.confidence) {
        Ok(estimate) => RatioComparison { verdict: classify(&estimate, rule), estimate: Some(estimate) },
        Err(error) => RatioComparison {
            verdict: RatioVerdict::Inconclusive { why: InconclusiveReason::NoRatio(error) },
            estimate: None,
        },
    }
}

/// The verdict on an estimate whose interval has the rule's level.
pub fn classify(estimate: &RatioEstimate, rule: &VerdictRule) -> RatioVerdict {
    let RatioEstimate { low, high, .. } = *estimate;
    // No interval divides by zero: low is always positive, and 1 / low may be infinite.
    let (a_leads, b_leads) = (low - 1.0, 1.0 / high - 1.0);
    if a_leads > rule.negligible {
        return RatioVerdict::Difference { higher: Side::A, at_least: a_leads };
    }
    if b_leads > rule.negligible {
        return RatioVerdict::Difference { higher: Side::B, at_least: b_leads };
    }
    let within = (1.0 / low).max(high) - 1.0;
    if within <= rule.useful {
        RatioVerdict::NoDifferenceShown { within }
    } else {
        RatioVerdict::Inconclusive { why: InconclusiveReason::TooWide { within, useful: rule.useful } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::ratio::IntervalMethod;
    use proptest::prelude::*;

    fn estimate_of(low: f64, high: f64) -> RatioEstimate {
        RatioEstimate {
            ratio: (low * high).sqrt(),
            low,
            high,
            blocks: 10,
            confidence: Confidence::P95,
            method: IntervalMethod::SignedRank,
            log_sd: 0.02,
        }
    }

    fn verdict(low: f64, high: f64) -> RatioVerdict {
        classify(&estimate_of(low, high), &VerdictRule::default())
    }

    #[test]
    fn an_interval_above_one_is_a_difference_in_favour_of_a() {
        let RatioVerdict::Difference { higher: Side::A, at_least } = verdict(1.55, 1.70) else {
            panic!("no difference")
        };
        assert!((at_least - 0.55).abs() < 1e-12);
    }

    #[test]
    fn an_interval_below_one_is_a_difference_in_favour_of_b() {
        let RatioVerdict::Difference { higher: Side::B, at_least } = verdict(0.5, 0.8) else {
            panic!("no difference")
        };
        assert!((at_least - 0.25).abs() < 1e-12);
    }

    #[test]
    fn a_narrow_interval_around_one_states_its_largest_difference() {
        let RatioVerdict::NoDifferenceShown { within } = verdict(0.985, 1.021) else { panic!("not narrow") };
        assert!((within - 0.021).abs() < 1e-12);
    }

    #[test]
    fn an_interval_in_the_negligible_zone_is_no_difference() {
        assert!(matches!(verdict(1.001, 1.004), RatioVerdict::NoDifferenceShown { .. }));
        let strict = VerdictRule { negligible: 0.0, ..VerdictRule::default() };
        assert!(matches!(classify(&estimate_of(1.001, 1.004), &strict), RatioVerdict::Difference { .. }));
    }

    #[test]
    fn an_interval_with_a_large_difference_is_inconclusive() {
        assert!(matches!(
            verdict(0.93, 1.14),
            RatioVerdict::Inconclusive { why: InconclusiveReason::TooWide { within, .. } } if (within - 0.14).abs() < 1e-12
        ));
    }

    #[test]
    fn a_wide_interval_on_one_side_is_a_difference() {
        assert!(matches!(verdict(1.05, 4.0), RatioVerdict::Difference { higher: Side::A, .. }));
    }

    #[test]
    fn two_blocks_or_a_zero_are_inconclusive_with_a_reason() {
        let two = compare(&[(2.0, 1.0); 2], &VerdictRule::default());
        assert_eq!(
            two.verdict,
            RatioVerdict::Inconclusive {
                why: InconclusiveReason::NoRatio(RatioError::TooFewBlocks { blocks: 2, needed: 3 })
            }
        );
        let zero = compare(&[(2.0, 1.0), (0.0, 1.0), (2.0, 1.0)], &VerdictRule::default());
        assert!(matches!(
            zero.verdict,
            RatioVerdict::Inconclusive {
                why: InconclusiveReason::NoRatio(RatioError::NotPositive { block: 1, .. })
            }
        ));
    }

    proptest! {
        #[test]
        fn swapping_the_sides_swaps_the_verdict(
            blocks in prop::collection::vec((1.0..1e6_f64, 1.0..1e6_f64), 0..20),
        ) {
            let swapped: Vec<_> = blocks.iter().map(|&(a, b)| (b, a)).collect();
            let (here, there) = (compare(&blocks, &VerdictRule::default()), compare(&swapped, &VerdictRule::default()));
            match (here.verdict, there.verdict) {
                (RatioVerdict::Difference { higher: one, .. }, RatioVerdict::Difference { higher: other, .. }) => {
                    prop_assert_ne!(one, other);
                }
                (RatioVerdict::NoDifferenceShown { within: one }, RatioVerdict::NoDifferenceShown { within: other }) => {
                    prop_assert!((one - other).abs() < 1e-9);
                }
                (RatioVerdict::Inconclusive { .. }, RatioVerdict::Inconclusive { .. }) => {}
                (one, other) => prop_assert!(false, "{one:?} and {other:?}"),
            }
        }

        #[test]
        fn no_pair_of_numbers_panics(blocks in prop::collection::vec((any::<f64>(), any::<f64>()), 0..12)) {
            compare(&blocks, &VerdictRule::default());
        }
    }
}
