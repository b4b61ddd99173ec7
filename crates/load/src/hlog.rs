//! The standard histogram log (version 1.3 of the format, as Java's `HistogramLogWriter` writes it).
//!
//! One line for each interval and histogram. `HistogramLogAnalyzer` and the `hdrhistogram` libraries of other languages
//! read it. Values are microseconds; the column of maxima is in milliseconds.

use std::io::{self, Write};
use std::time::Duration;

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{
    IntervalLogWriter, IntervalLogWriterBuilder, IntervalLogWriterError, Tag,
};

use crate::engine::LoadOutcome;
use crate::record::Micros;

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

/// Writes the measured intervals of a run, and last the drain.
///
/// The tag of a line is `operation.response_time`, `operation.service_time` or `operation.first_byte`. How late the client
/// sent has the tag `client.lag`.
pub fn write(outcome: &LoadOutcome, out: &mut impl Write) -> Result<(), HlogError> {
    let mut serializer = V2DeflateSerializer::new();
    let mut builder = IntervalLogWriterBuilder::new();
    builder
        .add_comment("[Showdown: values in microseconds, maxima in milliseconds, start times from the beginning of measuring]")
        .with_start_time(outcome.began)
        .with_base_time(outcome.began)
        .with_max_value_divisor(1_000.0);
    let mut log = builder.begin_log_with(out, &mut serializer)?;
    for interval in outcome.intervals.iter().filter(|interval| interval.index >= 0) {
        let (start, length) = outcome.span_of(interval);
        let stats = interval.stats.expand();
        let mut line = |tag: String, histogram: &Micros| write_line(&mut log, &tag, start, length, histogram);
        for (name, op) in outcome.operations.iter().zip(&stats.operations) {
            line(format!("{name}.response_time"), &op.response_time)?;
            line(format!("{name}.service_time"), &op.service_time)?;
            line(format!("{name}.first_byte"), &op.first_byte)?;
        }
        line("client.lag".to_owned(), &stats.client.lag)?;
    }
    Ok(())
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
