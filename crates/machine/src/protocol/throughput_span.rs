//! How long a throughput is measured on a network: from when TCP has found what the network carries. The measurement is left to the agents.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// TCP begins with ten segments (RFC 6928) and doubles them every round trip (RFC 5681, 3.1). After ten round trips it has some
/// 15 MB under way, which fill a path of 1 Gbit/s and 100 ms.
const SLOW_START_ROUND_TRIPS: u32 = 10;
/// Losses and what TCP does about them take whole round trips, too.
const COUNTED_ROUND_TRIPS: u32 = 10;
/// What a round trip adds at most: a whole comparison waits for it.
const LONGEST_PART: Duration = Duration::from_secs(3);

/// The two parts of a throughput's measurement, from the first byte on.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThroughputSpan {
    /// What arrives in this time is not counted.
    pub slow_start: Duration,
    /// After it, bytes are counted for this long.
    pub counted: Duration,
}

impl ThroughputSpan {
    /// On a network with this round trip. Bytes are counted for this long at least.
    pub fn of(round_trip: Duration, at_least: Duration) -> Self {
        let part = |round_trips| (round_trip * round_trips).min(LONGEST_PART);
        Self { slow_start: part(SLOW_START_ROUND_TRIPS), counted: at_least.max(part(COUNTED_ROUND_TRIPS)) }
    }

    /// Both parts.
    pub fn whole(self) -> Duration {
        self.slow_start + self.counted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_far_network_is_measured_for_longer_and_after_its_slow_start() {
        let ms = Duration::from_millis;
        let on = |round_trip| ThroughputSpan::of(round_trip, ms(200));
        let span = |slow_start, counted| ThroughputSpan { slow_start, counted };
        assert_eq!(on(Duration::ZERO), span(Duration::ZERO, ms(200)));
        assert_eq!(on(ms(1)), span(ms(10), ms(200)));
        assert_eq!(on(ms(100)), span(ms(1000), ms(1000)));
        assert_eq!(on(ms(5000)), span(LONGEST_PART, LONGEST_PART));
    }
}
