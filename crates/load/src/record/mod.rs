//! What is recorded: histograms and counts of one interval, and how they add up.
//!
//! Everything here merges without loss, over workers, seconds and processes; a percentile is only ever read
//! from a merged histogram. Times are in microseconds with three significant digits, from 1 µs to 1 h.

mod interval;
mod packed;

pub use interval::{ClientStats, ConnectionStats, ErrorKind, Errors, Interval, OperationStats};
pub use packed::{PackError, PackedInterval};

use hdrhistogram::Histogram;
use stats::times::Times;

use crate::clock::Nanos;

/// A histogram of microseconds, three significant digits.
pub type Micros = Histogram<u64>;

/// Index of the interval after the end, when no more operations begin and those in flight end.
pub const DRAIN: i64 = i64::MAX;

/// Longest time told apart, one hour; longer ones count as this. It fits into 32 bits.
pub(crate) const LONGEST_US: u64 = 3_600_000_000;

/// An empty histogram. It grows to the values that come: one that has seen 10 ms takes 40 KB, and clearing
/// and merging cost in proportion.
pub(crate) fn micros() -> Micros {
    Micros::new(3).expect("three significant digits are within 0 to 5")
}

/// The numbers of a merged histogram; all zero where it is empty.
pub fn times(histogram: &Micros) -> Times {
    if histogram.is_empty() {
        return Times::default();
    }
    let at = |quantile| histogram.value_at_quantile(quantile);
    Times {
        mean: histogram.mean(),
        p50: at(0.5),
        p90: at(0.9),
        p95: at(0.95),
        p99: at(0.99),
        p99_9: at(0.999),
        p99_99: at(0.9999),
        max: histogram.max(),
    }
}

/// A span as histograms hold it.
#[inline]
pub(crate) fn micros_of(span: Nanos) -> u32 {
    span.as_micros_rounded().min(LONGEST_US) as u32
}

/// Records a span, see [`micros_of`].
#[inline]
pub(crate) fn record(histogram: &mut Micros, us: u32) {
    histogram.record(us.into()).expect("an auto-resizing histogram takes every value up to an hour");
}
