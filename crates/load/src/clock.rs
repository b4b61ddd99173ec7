//! The engine's time: whole nanoseconds of the machine's monotonic clock.
//!
//! All workers and processes of a host share `CLOCK_MONOTONIC`, so a number is enough to agree on an instant. The
//! conversion to the microseconds of the histograms is here too, so that times are rounded in one place.

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
}
