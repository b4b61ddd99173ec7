//! What a ratio is at least, where the client was the limit for one variant of a pair. `comparison` has the ratios of valid
//! trials, and `stats` the statistics.
//!
//! A trial whose client was the limit is no measurement of its server, but the server did what the client asked of it: its
//! value is at least what was reached. So the ratio of what was reached to the other variant's value is at most the true
//! ratio in each block, and the low end of its interval bounds the true ratio at the same level.

use archive::model::{GateOutcome, Trial, TrialStatus};
use stats::ratio::RatioEstimate;
use stats::verdict::{RatioVerdict, Side, VerdictRule, compare};

use crate::gates;

/// The bound of the ratio of a limited variant to another one.
pub struct LowerBound {
    /// Of what was reached to the other's value.
    pub estimate: RatioEstimate,
    /// How much more than the other's value it is at least: 0.55 for "at least 1.55 times". None where the bound does not
    /// show a difference.
    pub at_least: Option<f64>,
}

impl LowerBound {
    /// The bound from blocks `(limited, other)` of what both reached.
    pub fn of(blocks: &[(f64, f64)], rule: &VerdictRule) -> Option<Self> {
        let found = compare(blocks, rule);
        let at_least = match found.verdict {
            RatioVerdict::Difference { higher: Side::A, at_least } => Some(at_least),
            _ => None,
        };
        found.estimate.map(|estimate| Self { estimate, at_least })
    }
}

/// Whether the client was the limit of a trial that has no other fault.
pub fn is_limited(trial: &Trial) -> bool {
    let mut failed = trial.gates.iter().filter(|gate| gate.outcome == GateOutcome::Failed).peekable();
    trial.status == TrialStatus::Invalid && failed.peek().is_some() && failed.all(|g| g.id == gates::CLIENT)
}

/// What the server of a trial carried, at least: the value of a valid trial, and what the client reached where it was the
/// limit.
pub fn reached(trial: &Trial) -> Option<f64> {
    trial.valid_value().or_else(|| trial.measured.as_ref().filter(|_| is_limited(trial)).map(|m| m.value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(blocks: &[(f64, f64)]) -> LowerBound {
        LowerBound::of(blocks, &VerdictRule::default()).expect("enough blocks")
    }

    #[test]
    fn a_client_that_reached_twice_the_other_variant_shows_a_difference() {
        let bound = bound(&[(200.0, 100.0), (200.0, 101.0), (200.0, 99.0), (200.0, 100.5)]);
        assert!(bound.at_least.is_some_and(|more| (0.95..1.0).contains(&more)), "{:?}", bound.at_least);
    }

    #[test]
    fn a_client_that_reached_less_than_the_other_variant_shows_nothing() {
        assert_eq!(bound(&[(50.0, 100.0), (50.0, 101.0), (50.0, 99.0)]).at_least, None);
        assert!(
            LowerBound::of(&[(200.0, 100.0)], &VerdictRule::default()).is_none(),
            "one block has no interval"
        );
    }
}
