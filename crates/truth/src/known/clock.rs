//! The kernel stamps packets with the wall clock; a known server counts in the monotonic one.

use std::time::Duration;

use load::clock::Nanos;
use rustix::time::{ClockId, clock_gettime};

/// By how much the wall clock is ahead of the monotonic one. Taken anew for each look at the sockets, so that
/// a step of the wall clock spoils what is under way and nothing else.
#[derive(Clone, Copy, Debug)]
pub(super) struct WallClock {
    ahead_ns: i64,
}

impl WallClock {
    /// As it is now.
    pub fn read() -> Self {
        let wall = clock_gettime(ClockId::Realtime);
        let now = Nanos::now();
        let wall_ns = wall.tv_sec * 1_000_000_000 + i64::from(wall.tv_nsec as u32);
        Self { ahead_ns: wall_ns - now.0.cast_signed() }
    }

    /// What the monotonic clock showed at a time of the wall clock (since 1970).
    pub fn monotonic(self, wall: Duration) -> Nanos {
        Nanos((wall.as_nanos() as i64 - self.ahead_ns).max(0).cast_unsigned())
    }
}

/// Does nothing else until `until`. Returns the time then.
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
    fn a_stamp_of_the_wall_clock_lies_between_two_readings_of_the_other() {
        let before = Nanos::now();
        let wall = SystemTime::UNIX_EPOCH.elapsed().expect("a clock after 1970");
        let after = Nanos::now();
        let stamped = WallClock::read().monotonic(wall);
        // Two clocks are never read at one instant: a microsecond for what lies between.
        assert!(before.0.saturating_sub(1_000_000) <= stamped.0 && stamped.0 <= after.0 + 1_000_000);
    }
}
