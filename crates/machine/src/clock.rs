//! How far the clocks of another machine are from those of this one.
//!
//! An exchange takes the time here, over there, and here again. The reading over there was taken somewhere between the two
//! here, so the offset is that to their middle, and wrong by half of the round trip at most. Of many exchanges, the
//! one with the shortest round trip counts.

use std::time::{SystemTime, UNIX_EPOCH};

use load::clock::ClientClock;
use load::clock::Nanos;
use serde::{Deserialize, Serialize};

use crate::protocol::Clocks;

/// How many exchanges an offset is estimated from.
pub const EXCHANGES: u32 = 16;

/// The clocks of this machine now.
pub fn read() -> Clocks {
    let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Clocks { monotonic_ns: Nanos::now().0, unix_ns: unix.as_nanos() as u64 }
}

/// One exchange: `theirs` was read between the two times here.
#[derive(Debug, Clone, Copy)]
pub struct Exchange {
    /// When the request was sent.
    pub sent: Clocks,
    /// The clocks over there.
    pub theirs: Clocks,
    /// `CLOCK_MONOTONIC` of this machine when the reply arrived.
    pub received_ns: u64,
}

impl Exchange {
    fn round_trip_ns(&self) -> u64 {
        self.received_ns.saturating_sub(self.sent.monotonic_ns)
    }
}

/// How far the clocks over there are ahead of those here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockOffset {
    /// `CLOCK_MONOTONIC`: mostly the difference of the machines' starts.
    pub monotonic_ns: i64,
    /// `CLOCK_REALTIME`.
    pub wall_ns: i64,
    /// Both are wrong by this at most.
    pub error_ns: u64,
    /// The round trip of the exchange that they are from.
    pub round_trip_ns: u64,
}

impl ClockOffset {
    /// The offset by the exchange with the shortest round trip; none without one.
    pub fn from_exchanges(exchanges: &[Exchange]) -> Option<Self> {
        let best = exchanges.iter().min_by_key(|exchange| exchange.round_trip_ns())?;
        let round_trip_ns = best.round_trip_ns();
        let half = round_trip_ns / 2;
        let ahead = |theirs: u64, sent: u64| {
            let difference = i128::from(theirs) - i128::from(sent) - i128::from(half);
            i64::try_from(difference).unwrap_or(if difference > 0 { i64::MAX } else { i64::MIN })
        };
        Some(Self {
            monotonic_ns: ahead(best.theirs.monotonic_ns, best.sent.monotonic_ns),
            wall_ns: ahead(best.theirs.unix_ns, best.sent.unix_ns),
            error_ns: round_trip_ns.div_ceil(2),
            round_trip_ns,
        })
    }
}

impl From<ClockOffset> for ClientClock {
    fn from(offset: ClockOffset) -> Self {
        let ClockOffset { monotonic_ns, error_ns, round_trip_ns, .. } = offset;
        Self { ahead_ns: monotonic_ns, error_ns, round_trip_ns }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The other clock is ahead by a known offset; the two ways take any times.
        #[test]
        fn the_offset_is_wrong_by_the_error_at_most(
            offset in -1_000_000_000_000_i64..1_000_000_000_000,
            ways in prop::collection::vec((0_u64..200_000_000, 0_u64..200_000_000), 1..16),
        ) {
            let start = 10_000_000_000_000_u64;
            let exchange = |(out, back): &(u64, u64)| Exchange {
                sent: Clocks { monotonic_ns: start, unix_ns: 2 * start },
                theirs: Clocks {
                    monotonic_ns: (start + out).saturating_add_signed(offset),
                    unix_ns: (2 * start + out).saturating_add_signed(-offset),
                },
                received_ns: start + out + back,
            };
            let exchanges: Vec<Exchange> = ways.iter().map(exchange).collect();
            let found = ClockOffset::from_exchanges(&exchanges).expect("there are exchanges");
            prop_assert!(found.monotonic_ns.abs_diff(offset) <= found.error_ns);
            prop_assert!(found.wall_ns.abs_diff(-offset) <= found.error_ns);
            let least = ways.iter().map(|(out, back)| out + back).min();
            prop_assert_eq!(Some(found.round_trip_ns), least);
        }
    }

    #[test]
    fn without_an_exchange_there_is_no_offset() {
        assert_eq!(ClockOffset::from_exchanges(&[]), None);
    }
}
