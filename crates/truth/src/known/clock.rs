//! Conversion of wall-clock timestamps: the kernel stamps packets with the wall clock, a known server uses the
//! monotonic clock.

use std::time::Duration;

use load::clock::Nanos;
use rustix::time::{ClockId, clock_gettime};

/// The difference between the wall clock and the monotonic clock. It is read before each poll of the sockets, so that a
/// clock step affects only the requests in progress.
#[derive(Clone, Copy, Debug)]
pub(super) struct WallClock {
    ahead_ns: i64,
}

impl WallClock {
    /// Reads both clocks.
    pub fn read() -> Self {
        let wall = clock_gettime(ClockId::Realtime);
        let now = Nanos::now();
        let wall_ns = wall.tv_sec * 1_000_000_000 + i64::from(wall.tv_nsec as u32);
        Self { ahead_ns: wall_ns - now.0.cast_signed() }
    }

    /// The monotonic time of a wall-clock time (since 1970).
    pub fn monotonic(self, wall: Duration) -> Nanos {
        Nanos((wall.as_nanos() as i64 - self.ahead_ns).max(0).cast_unsigned())
    }
}

/// Occupies the CPU until `until`; returns the time after it.
pub(super) fn occupy(until: Nanos) -> Nanos {
    loop {
        let now = Nanos::now();
        if now >= until {
            return now;
        }
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn a_wall_clock_time_converts_to_between_two_monotonic_readings() {
        let before = Nanos::now();
        let wall = SystemTime::UNIX_EPOCH.elapsed().expect("a clock after 1970");
        let after = Nanos::now();
        let stamped = WallClock::read().monotonic(wall);
        // Two clocks are never read at the same instant, so the limits have a margin.
        assert!(before.0.saturating_sub(1_000_000) <= stamped.0 && stamped.0 <= after.0 + 1_000_000);
    }
}
