//! The engine's time: whole nanoseconds of the machine's monotonic clock.
//!
//! All workers and processes of a host share `CLOCK_MONOTONIC`, so a number is enough to agree on an instant. The
//! conversion to the microseconds of the histograms is here too, so that times are rounded in one place. Another machine has another
//! clock: [`ClientClock`] converts its instants.

use std::ops::AddAssign;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// An instant or a span in nanoseconds of `CLOCK_MONOTONIC`.
///
/// A type of its own, so that times are not mixed up with counts. It only adds and subtracts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Nanos(pub u64);

impl Nanos {
    /// Later than any instant of a run.
    pub const NEVER: Self = Self(u64::MAX);

    /// Now. A vDSO call: no system call, about 20 ns.
    #[inline]
    pub fn now() -> Self {
        let t = clock_gettime(ClockId::Monotonic);
        Self(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64)
    }

    /// This much later; stays at [`Nanos::NEVER`].
    #[inline]
    #[must_use]
    pub fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)))
    }

    /// From `earlier` to here; zero if `earlier` is later.
    #[inline]
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }

    /// As whole microseconds, rounded to nearest: the unit of every histogram.
    #[inline]
    pub fn as_micros_rounded(self) -> u64 {
        self.0.saturating_add(500) / 1_000
    }

    /// As seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl AddAssign for Nanos {
    #[inline]
    fn add_assign(&mut self, span: Self) {
        self.0 = self.0.saturating_add(span.0);
    }
}

impl From<Duration> for Nanos {
    fn from(span: Duration) -> Self {
        Self(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Nanos> for Duration {
    fn from(span: Nanos) -> Self {
        Self::from_nanos(span.0)
    }
}

/// How far the clock of a client is ahead of the one here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientClock {
    /// Nanoseconds of `CLOCK_MONOTONIC`; mostly the difference of the machines' starts.
    pub ahead_ns: i64,
    /// That is wrong by this at most.
    pub error_ns: u64,
    /// How long an exchange with it takes.
    pub round_trip_ns: u64,
}

impl ClientClock {
    /// An instant of the clock here, on the client's.
    #[must_use]
    pub fn there(&self, here: Nanos) -> Nanos {
        Nanos(here.0.saturating_add_signed(self.ahead_ns))
    }

    /// An instant of the client's clock, on the one here.
    #[must_use]
    pub fn here(&self, there: Nanos) -> Nanos {
        Nanos(there.0.saturating_add_signed(self.ahead_ns.saturating_neg()))
    }

    /// How far the clock has drifted since this comparison, by a later one.
    #[must_use]
    pub fn drift_to(&self, later: &Self) -> ClockDrift {
        ClockDrift {
            ns: later.ahead_ns.saturating_sub(self.ahead_ns),
            error_ns: self.error_ns.saturating_add(later.error_ns),
        }
    }
}

/// By how much a client's clock ran faster than the one here during a part of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockDrift {
    /// Nanoseconds; negative where it ran slower.
    pub ns: i64,
    /// That is wrong by this at most.
    pub error_ns: u64,
}

impl ClockDrift {
    /// The least drift that the two comparisons leave possible, nanoseconds.
    pub fn certain_ns(&self) -> u64 {
        self.ns.unsigned_abs().saturating_sub(self.error_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_to_the_nearest_microsecond() {
        assert_eq!(Nanos(1_499).as_micros_rounded(), 1);
        assert_eq!(Nanos(1_500).as_micros_rounded(), 2);
    }

    #[test]
    fn never_stays_never() {
        assert_eq!(Nanos::NEVER.after(Duration::from_secs(1)), Nanos::NEVER);
    }

    #[test]
    fn instants_are_converted_both_ways() {
        let clock = |ahead_ns| ClientClock { ahead_ns, ..ClientClock::default() };
        assert_eq!(clock(-50).there(Nanos(70)), Nanos(20));
        assert_eq!(clock(-50).here(Nanos(20)), Nanos(70));
        assert_eq!(clock(i64::MAX).here(clock(i64::MAX).there(Nanos(7))), Nanos(7));
    }

    #[test]
    fn what_the_comparisons_may_be_wrong_by_is_no_drift() {
        let clock = |ahead_ns, error_ns| ClientClock { ahead_ns, error_ns, ..ClientClock::default() };
        let drift = clock(1_000, 30).drift_to(&clock(900, 50));
        assert_eq!((drift, drift.certain_ns()), (ClockDrift { ns: -100, error_ns: 80 }, 20));
        assert_eq!(clock(1_000, 60).drift_to(&clock(900, 50)).certain_ns(), 0);
    }
}
