//! The words: what an elasticity says of a suspect, and of its rivals.
//!
//! | word | condition |
//! |---|---|
//! | limits | the interval lies above 0.5, and those of all rivals below 0.25 |
//! | shared | the interval lies above 0.25: throughput follows it for certain, perhaps not alone |
//! | cleared | the interval lies below 0.25 |
//! | suspected | everything else |
//!
//! Where no rival was tried, nothing is more than suspected. Resources of which one is a part of the other are no rivals. The bounds leave a gap, so that noise does not turn one word into
//! its opposite.

use archive::model::SuspectWord;
use stats::confidence::ConfidenceInterval;

/// Above it, throughput follows mainly this resource.
pub(crate) const LIMITS_ABOVE: f64 = 0.5;
/// Below it, throughput hardly follows a resource.
pub(crate) const CLEARED_BELOW: f64 = 0.25;

/// Whether more pairs would not change the word of this interval.
pub(crate) fn is_decided(interval: ConfidenceInterval) -> bool {
    interval.high < CLEARED_BELOW
        || interval.low > LIMITS_ABOVE
        || (interval.low > CLEARED_BELOW && interval.high < LIMITS_ABOVE)
}

/// The word for a suspect with this interval, none where it was not tried, and the intervals of its rivals.
pub(crate) fn word(own: Option<ConfidenceInterval>, rivals: &[ConfidenceInterval]) -> SuspectWord {
    let Some(own) = own else { return SuspectWord::Suspected };
    if own.high < CLEARED_BELOW {
        SuspectWord::Cleared
    } else if own.low <= CLEARED_BELOW || rivals.is_empty() {
        SuspectWord::Suspected
    } else if own.low > LIMITS_ABOVE && rivals.iter().all(|rival| rival.high < CLEARED_BELOW) {
        SuspectWord::Limits
    } else {
        SuspectWord::Shared
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn interval(low: f64, high: f64) -> ConfidenceInterval {
        ConfidenceInterval { low, high }
    }

    #[test]
    fn the_intervals_decide_the_word() {
        let [clear, follows, half, wide] =
            [interval(-0.1, 0.2), interval(0.8, 1.1), interval(0.3, 0.6), interval(0.1, 0.9)];
        let cases = [
            (None, vec![clear], SuspectWord::Suspected),
            (Some(follows), vec![clear, clear], SuspectWord::Limits),
            // It limits for certain, and perhaps not alone.
            (Some(follows), vec![clear, wide], SuspectWord::Shared),
            (Some(follows), vec![clear, half], SuspectWord::Shared),
            (Some(half), vec![follows], SuspectWord::Shared),
            (Some(half), vec![clear], SuspectWord::Shared),
            (Some(half), vec![], SuspectWord::Suspected),
            (Some(wide), vec![clear], SuspectWord::Suspected),
            (Some(clear), vec![follows], SuspectWord::Cleared),
            // Without a rival that was tried, nothing excludes that throughput follows another resource as well.
            (Some(follows), vec![], SuspectWord::Suspected),
        ];
        for (own, rivals, expected) in cases {
            assert_eq!(word(own, &rivals), expected, "{own:?} {rivals:?}");
        }
        assert_eq!([clear, follows, half, wide].map(is_decided), [true, true, false, false]);
        assert!(is_decided(interval(0.3, 0.45)));
    }

    proptest! {
        /// At most one of several rivals limits.
        #[test]
        fn only_one_limits(bounds in prop::collection::vec((-1.0..2.0_f64, 0.0..1.0_f64), 2..5)) {
            let intervals: Vec<_> = bounds.iter().map(|(low, width)| interval(*low, low + width)).collect();
            let limits = (0..intervals.len()).filter(|at| {
                let rivals: Vec<_> = intervals.iter().enumerate().filter(|(i, _)| i != at).map(|(_, i)| *i).collect();
                word(Some(intervals[*at]), &rivals) == SuspectWord::Limits
            });
            prop_assert!(limits.count() <= 1);
        }
    }
}
