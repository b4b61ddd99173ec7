//! The words: what an elasticity says of a suspect, and of its rivals.
//!
//! | word | condition |
//! |---|---|
//! | limits | the interval lies above 0.5, that of half of the dose above 0.75, those of all rivals below 0.25, and it was so in three starts of the server |
//! | shared | the interval lies above 0.25: throughput follows it for certain, perhaps not alone |
//! | suspected | that of half of the dose lies below 0.75 and below that of the full one: the resource has slack |
//! | cleared | the interval lies below 0.25 |
//! | suspected | everything else |
//!
//! Without a tested rival the strongest word is *suspected*. A resource and a part of it are not rivals. The bounds leave a gap, so
//! that noise does not turn one word into its opposite.
//!
//! A resource that is used to 95 % and limits nothing is missed when a fifth of it is gone: its elasticity is 0.77 then, and 0.51 where a tenth
//! is gone. Of one that limits, both are 1. So *limits* needs both doses, where half of one can be taken.

use archive::model::SuspectWord;
use stats::confidence::ConfidenceInterval;

/// Above it, throughput follows mainly this resource.
pub(crate) const LIMITS_ABOVE: f64 = 0.5;
/// Below it, throughput hardly follows a resource.
pub(crate) const CLEARED_BELOW: f64 = 0.25;

/// Above it, throughput follows half of the dose in proportion. A resource that is used to 97 % has 0.71.
pub(crate) const PROPORTIONAL_ABOVE: f64 = 0.75;

/// Whether the interval of half of a dose tells if the resource has slack.
pub(crate) fn tells_slack(interval: ConfidenceInterval) -> bool {
    interval.low > PROPORTIONAL_ABOVE || interval.high < PROPORTIONAL_ABOVE
}

/// What half of a dose says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum HalfDose {
    /// It was not tried, because half of it cannot be taken.
    NotPossible,
    /// Its interval; none where there are too few pairs, or too few starts of the server.
    Tried(Option<ConfidenceInterval>),
}

impl HalfDose {
    fn is_in_proportion(self) -> bool {
        match self {
            Self::NotPossible => true,
            Self::Tried(interval) => interval.is_some_and(|interval| interval.low > PROPORTIONAL_ABOVE),
        }
    }

    /// Whether the resource has slack for certain: half of the dose costs less than its part of the full one.
    pub(crate) fn shows_slack(self, full: ConfidenceInterval) -> bool {
        matches!(self, Self::Tried(Some(half)) if half.high < PROPORTIONAL_ABOVE && half.high < full.low)
    }
}

/// Whether more pairs would not change the word of this interval.
pub(crate) fn is_decided(interval: ConfidenceInterval) -> bool {
    interval.high < CLEARED_BELOW
        || interval.low > LIMITS_ABOVE
        || (interval.low > CLEARED_BELOW && interval.high < LIMITS_ABOVE)
}

/// The word for a suspect with this interval, none where it was not tried, what half of the dose says, and the intervals of its
/// rivals.
pub(crate) fn word(
    own: Option<ConfidenceInterval>,
    half: HalfDose,
    rivals: &[ConfidenceInterval],
) -> SuspectWord {
    let Some(own) = own else { return SuspectWord::Suspected };
    if own.high < CLEARED_BELOW {
        SuspectWord::Cleared
    } else if own.low <= CLEARED_BELOW || rivals.is_empty() || half.shows_slack(own) {
        SuspectWord::Suspected
    } else if own.low > LIMITS_ABOVE
        && half.is_in_proportion()
        && rivals.iter().all(|rival| rival.high < CLEARED_BELOW)
    {
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
            assert_eq!(word(own, HalfDose::NotPossible, &rivals), expected, "{own:?} {rivals:?}");
        }
        assert_eq!([clear, follows, half, wide].map(is_decided), [true, true, false, false]);
        assert!(is_decided(interval(0.3, 0.45)));
    }

    #[test]
    fn what_has_slack_does_not_limit() {
        let (own, clear) = (interval(0.7, 0.85), interval(-0.1, 0.2));
        let with = |half: Option<ConfidenceInterval>| word(Some(own), HalfDose::Tried(half), &[clear]);
        assert_eq!(with(Some(interval(0.85, 1.1))), SuspectWord::Limits);
        assert_eq!(with(Some(interval(0.4, 0.6))), SuspectWord::Suspected, "used to 95 %");
        assert_eq!(with(Some(interval(0.6, 1.1))), SuspectWord::Shared, "not told");
        assert_eq!(with(None), SuspectWord::Shared);
        assert!(tells_slack(interval(0.4, 0.6)) && !tells_slack(interval(0.6, 1.1)));
    }

    proptest! {
        /// At most one of several rivals limits.
        #[test]
        fn only_one_limits(bounds in prop::collection::vec((-1.0..2.0_f64, 0.0..1.0_f64), 2..5)) {
            let intervals: Vec<_> = bounds.iter().map(|(low, width)| interval(*low, low + width)).collect();
            let limits = (0..intervals.len()).filter(|at| {
                let rivals: Vec<_> = intervals.iter().enumerate().filter(|(i, _)| i != at).map(|(_, i)| *i).collect();
                word(Some(intervals[*at]), HalfDose::NotPossible, &rivals) == SuspectWord::Limits
            });
            prop_assert!(limits.count() <= 1);
        }
    }
}
