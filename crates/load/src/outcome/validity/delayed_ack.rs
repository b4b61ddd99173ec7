//! Replies whose end comes one delayed acknowledgement after their first byte: a server that writes a reply in two parts
//! without `TCP_NODELAY`. The kernel holds the second part back until the client acknowledges the first one (Nagle, RFC 896),
//! and a client acknowledges after 40 ms if it has nothing to send (RFC 1122; `TCP_DELACK_MIN` of Linux). It is a note: the
//! server's users wait for it, too.

use std::fmt;
use std::ops::RangeInclusive;

use crate::outcome::LoadOutcome;
use crate::record::OperationStats;

/// From the first byte to the end, in microseconds: the kernel's shortest delay, and what a busy client adds to it.
const GAP_US: RangeInclusive<u64> = 38_000..=60_000;
/// A larger reply may take that long to arrive.
const MAX_REPLY_BYTES: u64 = 64 * 1024;
/// The first replies of a connection are acknowledged at once. Fewer operations tell nothing.
const MIN_OPERATIONS: u64 = 20;

/// Small replies of one operation whose end waited for an acknowledgement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelayedAck {
    /// The operation's name.
    pub operation: String,
    /// The median time from the first byte of a reply to its end, microseconds.
    pub gap_us: u64,
}

impl fmt::Display for DelayedAck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "replies to {} end {:.0} ms after their first byte: a server that writes a reply in two parts waits for the \
             client's delayed acknowledgement (Nagle's algorithm): let it set TCP_NODELAY, or write the reply at once",
            self.operation,
            self.gap_us as f64 / 1e3
        )
    }
}

/// The first operation that looks like it; none of a load without one.
pub fn find(outcome: &LoadOutcome) -> Option<DelayedAck> {
    for (name, operation) in outcome.operations.iter().zip(&outcome.total.operations) {
        if let Some(gap_us) = gap_us(operation) {
            return Some(DelayedAck { operation: name.clone(), gap_us });
        }
    }
    None
}

/// The median time from the first byte to the end of small replies, if it is that of a delayed acknowledgement.
fn gap_us(operation: &OperationStats) -> Option<u64> {
    let timed = operation.service_time.len();
    let reply_bytes = operation.bytes_received / operation.succeeded().max(1);
    if timed < MIN_OPERATIONS || reply_bytes > MAX_REPLY_BYTES {
        return None;
    }
    let end_us = operation.service_time.value_at_quantile(0.5);
    let gap_us = end_us.saturating_sub(operation.first_byte.value_at_quantile(0.5));
    GAP_US.contains(&gap_us).then_some(gap_us)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::example;
    use crate::record::{Interval, record};

    /// What is noted of 100 replies with these times.
    fn noted(first_byte_us: u32, end_us: u32, reply_bytes: u64) -> Option<String> {
        let mut outcome = example::outcome();
        outcome.total = Interval::new(1, 0);
        let operation = &mut outcome.total.operations[0];
        for _ in 0..100 {
            record(&mut operation.first_byte, first_byte_us);
            for times in [&mut operation.service_time, &mut operation.response_time] {
                record(times, end_us);
            }
        }
        operation.bytes_received = 100 * reply_bytes;
        find(&outcome).map(|found| found.to_string())
    }

    #[test]
    fn a_reply_that_ends_40_ms_after_its_first_byte_waits_for_an_acknowledgement() {
        let text = noted(299, 44_000, 300).expect("a note");
        assert!(text.starts_with("replies to GET / end 44 ms after their first byte"), "{text}");
        assert!(text.contains("TCP_NODELAY"), "{text}");
    }

    #[test]
    fn slow_servers_and_large_replies_do_not_look_like_it() {
        assert_eq!(noted(44_000, 44_100, 300), None, "slow before the first byte");
        assert_eq!(noted(299, 20_000, 300), None, "shorter than any delayed acknowledgement");
        assert_eq!(noted(299, 90_000, 300), None, "longer");
        assert_eq!(noted(299, 44_000, 10_000_000), None, "10 MB take their time");
    }
}
