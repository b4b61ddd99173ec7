//! An interval that is no longer filled, in little memory, and its form between processes.
//!
//! A run keeps all its intervals until its end. A histogram that is being filled is an array of counters for every
//! value up to its largest; most of them are zero. Here each histogram is in the second encoding of the `hdrhistogram`
//! libraries (the one inside their logs), which leaves the zeros out. Measured with lognormal times (sigma 0.7):
//!
//! | median, times in the interval | array | encoded | encode | add to a sum |
//! |---|---|---|---|---|
//! | 0.5 ms, 1,000 | 32 KB | 1.0 KB | 3 µs | 5 µs |
//! | 5 ms, 1,000 | 56 KB | 1.5 KB | 5 µs | 8 µs |
//! | 5 ms, 20,000 | 64 KB | 5.1 KB | 9 µs | 19 µs |
//! | 50 ms, 20,000 | 88 KB | 5.2 KB | 11 µs | 21 µs |
//!
//! Ten operations have 32 histograms in an interval. At 5 ms and one interval a second:
//!
//! | length of the run | arrays | encoded |
//! |---|---|---|
//! | 60 s | 110 to 126 MB | 3 to 10 MB |
//! | 1 h | 6.6 to 7.5 GB | 0.2 to 0.6 GB |
//!
//! Between processes an interval is JSON, with the same bytes in base64, so that a program in any language can read or
//! write one.

use base64::{Engine, engine::general_purpose::STANDARD};
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use serde::{Deserialize, Serialize};

use super::errors::Errors;
use super::interval::{Interval, OperationStats};
use super::micros::{Micros, RecordedTimes};

/// An interval that is no longer filled.
pub type CompactInterval = Interval<CompactMicros>;

/// A histogram that is no longer filled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CompactMicros {
    count: u64,
    /// Version 2 of the `hdrhistogram` encoding; empty where there are no times, as in most histograms.
    encoded: Box<[u8]>,
}

/// Why the histogram of another process cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("a histogram of a load process does not decode: {0}")]
pub struct CompactError(String);

impl RecordedTimes for CompactMicros {
    fn count(&self) -> u64 {
        self.count
    }

    fn add_to(&self, sum: &mut Micros) {
        if self.count > 0 {
            decode(&self.encoded).expect("decoded once before, or encoded by this process").add_to(sum);
        }
    }
}

impl CompactMicros {
    pub(crate) fn of(histogram: &Micros) -> Self {
        let mut encoded = Vec::new();
        if !histogram.is_empty() {
            let written = V2Serializer::new().serialize(histogram, &mut encoded);
            written.expect("writing to memory does not fail");
        }
        Self { count: histogram.len(), encoded: encoded.into() }
    }
}

impl From<CompactMicros> for String {
    fn from(histogram: CompactMicros) -> Self {
        STANDARD.encode(histogram.encoded)
    }
}

impl TryFrom<String> for CompactMicros {
    type Error = CompactError;

    /// Reads what another process wrote, and decodes it once as a check.
    fn try_from(text: String) -> Result<Self, CompactError> {
        let encoded = STANDARD.decode(text).map_err(|e| CompactError(e.to_string()))?;
        let count = if encoded.is_empty() { 0 } else { decode(&encoded)?.len() };
        Ok(Self { count, encoded: encoded.into() })
    }
}

/// The length of an encoded histogram's head: cookie, length of the counts, offset, digits, lowest and highest value, ratio.
const HEAD_BYTES: usize = 40;

/// How [`V2Serializer`] begins, and the digits of [`Micros`].
const COOKIE: u32 = 0x1c84_9313;
const DIGITS: u32 = 3;

/// The highest value of a histogram: that of an hour of microseconds, with the room that it grows by.
const HIGHEST: u64 = 1 << 34;

/// Whether the head is one of [`V2Serializer`], of this precision, and no larger than what follows: a decoder makes as much room as the
/// head says.
fn check_head(encoded: &[u8]) -> Result<(), CompactError> {
    let part = |at: usize| encoded.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes);
    let highest = encoded.get(24..32).and_then(|bytes| bytes.try_into().ok()).map(u64::from_be_bytes);
    let fits = part(0) == Some(COOKIE)
        && part(4) == u32::try_from(encoded.len().saturating_sub(HEAD_BYTES)).ok()
        && (part(8), part(12)) == (Some(0), Some(DIGITS))
        && highest.is_some_and(|highest| highest <= HIGHEST);
    if fits { Ok(()) } else { Err(CompactError("its head is another one".to_owned())) }
}

fn decode(mut encoded: &[u8]) -> Result<Micros, CompactError> {
    check_head(encoded)?;
    Deserializer::new().deserialize(&mut encoded).map_err(|e| CompactError(e.to_string()))
}

impl Interval {
    /// The same in little memory.
    pub fn compact(&self) -> CompactInterval {
        self.map_histograms(CompactMicros::of)
    }
}

impl CompactInterval {
    /// The largest of its counts and times.
    pub(crate) fn most_count(&self) -> u64 {
        let client = &self.client;
        let of_client = [
            client.unstamped,
            client.offered,
            client.user_cpu_ns,
            client.system_cpu_ns,
            client.spin_ns,
            client.run_delay_ns,
            client.wall_ns,
            client.lag.count,
            client.pickup.count,
            client.delay.count,
        ];
        let connections = &self.connections;
        let of_connections = [
            connections.tls_resumed,
            connections.open_peak,
            connections.connect.count,
            connections.tls.count,
            connections.wait.count,
        ];
        let of_operation = |one: &OperationStats<CompactMicros>| {
            [one.carried, one.bytes_sent, one.bytes_received, one.response_time.count, one.server_time.count]
        };
        let operations = self.operations.iter().flat_map(of_operation);
        let errors = self.all_errors().flat_map(|errors| errors.counts.values().copied());
        let counts = of_client.into_iter().chain(of_connections).chain(operations).chain(errors);
        let users = self.users.iter().flat_map(|users| users.counts().chain([users.late.count]));
        counts.chain(self.counters.iter().copied()).chain(users).max().unwrap_or_default()
    }

    /// The length of the longest example of its errors.
    pub(crate) fn longest_example(&self) -> usize {
        self.all_errors()
            .flat_map(|errors| errors.examples.values())
            .map(String::len)
            .max()
            .unwrap_or_default()
    }

    fn all_errors(&self) -> impl Iterator<Item = &Errors> {
        self.operations.iter().map(|one| &one.errors).chain([&self.connections.errors])
    }

    /// An equal interval that can be filled and added to.
    pub fn expand(&self) -> Interval {
        let mut interval = Interval::new(self.operations.len(), self.counters.len());
        interval.merge(self);
        interval
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{UserStats, record};

    fn interval() -> Interval {
        let mut interval = Interval::new(2, 1);
        for us in [1, 50, 70_000] {
            record(&mut interval.operations[1].response_time, us);
            record(&mut interval.client.lag, us);
        }
        interval.operations[0].carried = 4;
        interval.counters[0] = 9;
        interval.client.run_delay_ns = 7;
        interval
    }

    #[test]
    fn users_survive_the_way_between_processes() {
        let mut interval = Interval::new(2, 0);
        let mut users = UserStats::new(2, true);
        (users.delays[1].begun, users.transitions[3], users.left) = (5, 4, 1);
        record(&mut users.late, 700);
        interval.users = Some(Box::new(users));
        let sent = serde_json::to_string(&interval.compact()).expect("plain data");
        let received: CompactInterval = serde_json::from_str(&sent).expect("the same");
        assert_eq!(received.expand(), interval);
        assert!(received.users.as_ref().is_some_and(|users| users.is_of(2) && !users.is_of(3)));
        assert!(
            serde_json::to_string(&Interval::new(1, 0).compact()).is_ok_and(|text| !text.contains("users"))
        );
    }

    #[test]
    fn a_compact_interval_expands_to_an_equal_one_that_still_grows() {
        let compact = interval().compact();
        assert_eq!((compact.succeeded(), compact.carried()), (7, 4));
        let mut expanded = compact.expand();
        assert_eq!(expanded, interval());
        record(&mut expanded.operations[1].response_time, 3_000_000_000);
    }

    #[test]
    fn an_interval_crosses_processes_without_loss() {
        let json = serde_json::to_string(&interval().compact()).expect("plain data");
        let received: CompactInterval = serde_json::from_str(&json).expect("its own JSON");
        assert_eq!(received, interval().compact());
        assert_eq!(received.expand(), interval());
    }

    #[test]
    fn a_head_that_asks_for_more_room_than_it_has_counts_for_is_refused() {
        let mut longest = Interval::new(1, 0);
        record(&mut longest.operations[0].response_time, 3_600_000_000);
        let compact = longest.compact();
        let good = &compact.operations[0].response_time.encoded;
        assert!(check_head(good).is_ok());
        for (at, byte) in [(0, 0), (4, 0xff), (7, 1), (11, 1), (15, 5), (24, 0x7f)] {
            let mut bad = good.to_vec();
            bad[at] = byte;
            assert!(check_head(&bad).is_err(), "byte {at}");
            assert!(CompactMicros::try_from(STANDARD.encode(&bad)).is_err(), "byte {at}");
        }
        assert!(check_head(&good[..30]).is_err());
    }

    #[test]
    fn bytes_that_are_no_histogram_are_an_error_and_no_panic() {
        for text in ["AAAA", "%"] {
            assert!(CompactMicros::try_from(text.to_owned()).is_err(), "{text}");
        }
    }
}
