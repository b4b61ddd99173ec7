//! From an estimate of a ratio to what may be said: a difference, none shown, or nothing.
//!
//! The interval alone decides. It is held against a zone around 1 that nobody would act on and that the
//! instrument cannot vouch for, [`VerdictRule::negligible`]:
//!
//! ```text
//!                      zone of the negligible
//!                           ├──┼──┤
//!                              1
//!   Difference                        ├────┤         wholly outside the zone: the direction is known
//!   NoDifferenceShown        ├───┤                   reaches into it, and rules out what is worth having
//!   Inconclusive      ├───────────────────┤          reaches into it, and rules out nothing of use
//! ```
//!
//! Validity of the trials comes before: blocks with an invalid trial are left out by the caller. Words, names
//! and units come after: they are the report's.

use crate::confidence::Confidence;
use crate::ratio::{RatioError, RatioEstimate, estimate};
use serde::{Deserialize, Serialize};

/// What an interval must show.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct VerdictRule {
    /// Level of the interval.
    pub confidence: Confidence,
    /// Relative difference that is not worth naming, such as 0.005 for 0.5 %: a difference is called when the
    /// whole interval lies outside `1 / (1 + negligible) ..= 1 + negligible`. Zero asks only that 1 is
    /// excluded.
    ///
    /// Two copies of one program differ for good by some tenths of a percent, by the length of a path or the
    /// layout of memory (Mytkowicz et al., "Producing wrong data without doing anything obviously wrong!",
    /// ASPLOS 2009), and no number of blocks averages that away. It also keeps the rate of false verdicts
    /// well under `confidence.alpha()` where blocks are quiet.
    pub negligible: f64,
    /// Relative difference that a comparison without a winner must rule out to be of use, such as 0.10: an
    /// interval that shows no difference and still allows a larger one is inconclusive.
    pub useful: f64,
}

impl Default for VerdictRule {
    /// 95 %, half a percent is negligible, and 10 % must be ruled out.
    ///
    /// 10 % because that is where choices of machines and servers begin to pay for the change; measured
    /// effect of the half percent: `docs/decisions/0002-verdict-statistics.md`.
    fn default() -> Self {
        Self { confidence: Confidence::P95, negligible: 0.005, useful: 0.10 }
    }
}

/// One of the two variants of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The numerator of the ratio.
    A,
    /// The denominator of the ratio.
    B,
}

/// What may be said of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum RatioVerdict {
    /// One side has more. Which is better is the metric's to say.
    Difference {
        /// The side with the larger value.
        higher: Side,
        /// The least relative difference in the interval: 0.55 when the larger is at least 1.55 times the
        /// other.
        at_least: f64,
    },
    /// No difference was shown, and any that there is is small: "within ±2.1 %".
    NoDifferenceShown {
        /// The largest relative difference in the interval: 0.021 when neither side is more than 1.021 times
        /// the other.
        within: f64,
    },
    /// Nothing may be said.
    Inconclusive {
        /// The reason.
        why: InconclusiveReason,
    },
}

/// Why a comparison says nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InconclusiveReason {
    /// The interval shows no difference, and allows one of this size.
    TooWide {
        /// The largest relative difference in the interval.
        within: f64,
        /// What had to be ruled out: [`VerdictRule::useful`].
        useful: f64,
    },
    /// There is no ratio at all: too few blocks, or a value that has none.
    NoRatio(RatioError),
}

/// An estimate, where there is one, and its verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RatioComparison {
    /// The ratio of A to B.
    pub estimate: Option<RatioEstimate>,
    /// What may be said of it.
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
    match estimate(blocks, rule.confidence) {
        Ok(estimate) => RatioComparison { verdict: classify(&estimate, rule), estimate: Some(estimate) },
        Err(error) => RatioComparison {
            verdict: RatioVerdict::Inconclusive { why: InconclusiveReason::NoRatio(error) },
            estimate: None,
        },
    }
}

/// The verdict on an estimate whose interval was made at the level that the rule asks for.
pub fn classify(estimate: &RatioEstimate, rule: &VerdictRule) -> RatioVerdict {
    let RatioEstimate { low, high, .. } = *estimate;
    // Written so that no width of interval divides by zero: low > 0 always, 1 / low may be infinite.
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
    use crate::ratio::IntervalMethod;
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
    fn a_lead_of_b_reads_the_same_with_the_sides_swapped() {
        let RatioVerdict::Difference { higher: Side::B, at_least } = verdict(0.5, 0.8) else {
            panic!("no difference")
        };
        assert!((at_least - 0.25).abs() < 1e-12);
    }

    #[test]
    fn a_narrow_interval_around_one_says_within_what() {
        let RatioVerdict::NoDifferenceShown { within } = verdict(0.985, 1.021) else { panic!("not narrow") };
        assert!((within - 0.021).abs() < 1e-12);
    }

    #[test]
    fn an_interval_beside_one_but_in_the_negligible_zone_is_no_difference() {
        assert!(matches!(verdict(1.001, 1.004), RatioVerdict::NoDifferenceShown { .. }));
        let strict = VerdictRule { negligible: 0.0, ..VerdictRule::default() };
        assert!(matches!(classify(&estimate_of(1.001, 1.004), &strict), RatioVerdict::Difference { .. }));
    }

    #[test]
    fn an_interval_that_allows_a_large_difference_is_inconclusive() {
        assert!(matches!(
            verdict(0.93, 1.14),
            RatioVerdict::Inconclusive { why: InconclusiveReason::TooWide { within, .. } } if (within - 0.14).abs() < 1e-12
        ));
    }

    #[test]
    fn a_wide_interval_that_knows_the_direction_is_still_a_difference() {
        assert!(matches!(verdict(1.05, 4.0), RatioVerdict::Difference { higher: Side::A, .. }));
    }

    #[test]
    fn two_blocks_or_a_zero_are_inconclusive_with_the_reason() {
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

    #[test]
    fn a_comparison_reads_back_from_its_json() {
        for blocks in [vec![(2.0, 1.0); 6], vec![(1.0, f64::NAN); 6]] {
            let comparison = compare(&blocks, &VerdictRule::default());
            let json = serde_json::to_string(&comparison).unwrap();
            assert_eq!(serde_json::from_str::<RatioComparison>(&json).unwrap(), comparison, "{json}");
        }
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
                (one, other) => prop_assert!(false, "{one:?} against {other:?}"),
            }
        }

        #[test]
        fn no_pair_of_numbers_panics(blocks in prop::collection::vec((any::<f64>(), any::<f64>()), 0..12)) {
            compare(&blocks, &VerdictRule::default());
        }
    }
}
