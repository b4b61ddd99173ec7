//! The standard histogram log (version 1.3 of the format, as Java's `HistogramLogWriter` writes it): written at the end of a
//! trial, and read when a run is resumed.
//!
//! One line for each interval and histogram. `HistogramLogAnalyzer` and the `hdrhistogram` libraries of other languages
//! read it. Values are microseconds; the column of maxima is in milliseconds.

use std::io::{self, Write};
use std::ops::Range;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::interval_log::{
    IntervalLogIterator, IntervalLogWriter, IntervalLogWriterBuilder, IntervalLogWriterError, LogEntry, Tag,
};
use hdrhistogram::serialization::{Deserializer, V2DeflateSerializer};

use crate::outcome::IntervalStage;
use crate::outcome::LoadOutcome;
use crate::record::Micros;
use crate::record::micros;

/// The end of the tag of response times.
const RESPONSE_TIME: &str = ".response_time";
/// The end of the tag of operations without an answer: when the client gave up.
const UNANSWERED: &str = ".unanswered";

/// Half of the resolution of the log's times.
const ROUNDING: Duration = Duration::from_micros(500);

/// Why a log cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum HlogError {
    /// The file cannot be written.
    #[error("the histogram log cannot be written: {0}")]
    Io(#[from] io::Error),
    /// A histogram does not encode; a bug.
    #[error("a histogram does not encode: {0}")]
    Encode(String),
}

/// A text that is not such a log, or a part of one.
#[derive(Debug, thiserror::Error)]
#[error("not a complete histogram log: {0}")]
pub struct MalformedLog(String);

/// Writes the measured intervals of a run, and last the drain.
///
/// The tag of a line is `operation.response_time`, `operation.unanswered`, `operation.server_time`, `operation.service_time` or
/// `operation.first_byte`. What the client added has the tags `client.lag` and `client.pickup`, and their sum for each
/// operation `client.delay`. Where several clients made the load, these lines are of all together; those of each client follow
/// them, with `@` and its name behind the tag.
pub fn write(outcome: &LoadOutcome, out: &mut impl Write) -> Result<(), HlogError> {
    let mut serializer = V2DeflateSerializer::new();
    let mut builder = IntervalLogWriterBuilder::new();
    builder
        .add_comment("[Showdown: values in microseconds, maxima in milliseconds, start times from the beginning of measuring]")
        .with_start_time(outcome.began)
        .with_base_time(outcome.began)
        .with_max_value_divisor(1_000.0);
    let mut log = builder.begin_log_with(out, &mut serializer)?;
    write_intervals(&mut log, outcome, "")?;
    for client in &outcome.clients {
        write_intervals(&mut log, &client.outcome, &format!("@{}", client.name))?;
    }
    Ok(())
}

/// The intervals of an outcome; their tags end with `suffix`.
fn write_intervals<W: Write>(
    log: &mut IntervalLogWriter<'_, '_, W, V2DeflateSerializer>,
    outcome: &LoadOutcome,
    suffix: &str,
) -> Result<(), HlogError> {
    for interval in outcome.intervals.iter().filter(|interval| interval.stage != IntervalStage::WarmUp) {
        let (start, length) = (interval.start, interval.length);
        let stats = interval.stats.expand();
        let mut line = |tag: String, histogram: &Micros| {
            write_line(log, &format!("{tag}{suffix}"), start, length, histogram)
        };
        for (name, op) in outcome.operations.iter().zip(&stats.operations) {
            line(format!("{name}{RESPONSE_TIME}"), &op.response_time)?;
            line(format!("{name}{UNANSWERED}"), &op.unanswered)?;
            line(format!("{name}.server_time"), &op.server_time)?;
            line(format!("{name}.service_time"), &op.service_time)?;
            line(format!("{name}.first_byte"), &op.first_byte)?;
        }
        line(format!("connections{UNANSWERED}"), &stats.connections.unanswered)?;
        line("client.lag".to_owned(), &stats.client.lag)?;
        line("client.pickup".to_owned(), &stats.client.pickup)?;
        line("client.delay".to_owned(), &stats.client.delay)?;
    }
    Ok(())
}

/// The response times of all operations in the intervals that begin within `window`, merged without loss; of operations
/// without an answer, when the client gave up.
pub fn response_times(log: &[u8], window: &Range<Duration>) -> Result<Micros, MalformedLog> {
    let malformed = |problem: &dyn std::fmt::Debug| MalformedLog(format!("{problem:?}"));
    let mut sum = micros();
    let mut decoder = Deserializer::new();
    for entry in IntervalLogIterator::new(log) {
        let LogEntry::Interval(interval) = entry.map_err(|error| malformed(&error))? else { continue };
        let ends_with = |end| interval.tag().is_some_and(|tag| tag.as_str().ends_with(end));
        let is_response = ends_with(RESPONSE_TIME) || ends_with(UNANSWERED);
        let start = interval.start_timestamp() + ROUNDING;
        if is_response && window.contains(&start) {
            let encoded = STANDARD.decode(interval.encoded_histogram()).map_err(|error| malformed(&error))?;
            let histogram: Micros =
                decoder.deserialize(&mut encoded.as_slice()).map_err(|error| malformed(&error))?;
            sum.add(histogram).map_err(|error| malformed(&error))?;
        }
    }
    Ok(sum)
}

fn write_line<W: Write>(
    log: &mut IntervalLogWriter<'_, '_, W, V2DeflateSerializer>,
    tag: &str,
    start: Duration,
    length: Duration,
    histogram: &Micros,
) -> Result<(), HlogError> {
    if histogram.is_empty() {
        return Ok(());
    }
    // The format forbids these in a tag.
    let tag: String =
        tag.chars().map(|c| if matches!(c, ',' | ' ' | '\r' | '\n') { '_' } else { c }).collect();
    log.write_histogram(histogram, start, length, Tag::new(&tag)).map_err(|error| match error {
        IntervalLogWriterError::IoError(error) => HlogError::Io(error),
        IntervalLogWriterError::SerializeError(error) => HlogError::Encode(error.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A log with these intervals: start in milliseconds, tag, one value.
    fn log(intervals: &[(u64, &str, u64)]) -> Vec<u8> {
        let (mut bytes, mut serializer) = (Vec::new(), V2DeflateSerializer::new());
        let mut log = IntervalLogWriterBuilder::new()
            .begin_log_with(&mut bytes, &mut serializer)
            .expect("memory is written");
        for (start, tag, value) in intervals {
            let mut histogram = micros();
            histogram.record(*value).expect("the histogram grows");
            let start = Duration::from_millis(*start);
            write_line(&mut log, tag, start, Duration::from_millis(50), &histogram).expect("a line");
        }
        bytes
    }

    #[test]
    fn the_response_times_of_a_window_are_read_back() {
        let log = log(&[
            (0, "get.response_time", 10),
            (50, "get.response_time", 20),
            (50, "set.response_time", 70_000),
            (50, "get.service_time", 1),
            (50, "connections.unanswered", 60_000),
            (100, "get.response_time", 30),
        ]);
        let ms = Duration::from_millis;
        let read = response_times(&log, &(ms(50)..ms(100))).expect("a log");
        assert_eq!((read.len(), read.min()), (3, 20));
        assert!(read.equivalent(read.max(), 70_000));
        assert_eq!(response_times(&log, &(ms(0)..Duration::MAX)).expect("a log").len(), 5);
    }

    #[test]
    fn a_load_of_several_clients_is_read_back_once() {
        let outcome = crate::outcome::example::outcome_of_clients();
        let mut log = Vec::new();
        write(&outcome, &mut log).expect("memory is written");
        let read = response_times(&log, &(Duration::ZERO..Duration::MAX)).expect("a log");
        assert_eq!(read.len(), outcome.total.succeeded());
        let text = String::from_utf8(log).expect("text");
        for tag in ["Tag=GET_/.response_time,", "Tag=GET_/.response_time@c1,", "Tag=client.lag@c2,"] {
            assert!(text.contains(tag), "no {tag}");
        }
    }

    #[test]
    fn a_log_that_is_cut_short_is_refused() {
        let log = log(&[(0, "get.response_time", 10)]);
        let error = response_times(&log[..log.len() - 9], &(Duration::ZERO..Duration::MAX));
        assert!(error.is_err(), "{error:?}");
    }
}
