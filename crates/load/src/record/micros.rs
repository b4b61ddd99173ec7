//! Histograms of microseconds: three significant digits, from 1 µs to 1 h.

use hdrhistogram::Histogram;
use stats::times::Times;

use crate::clock::Nanos;

/// A histogram of microseconds, three significant digits.
pub type Micros = Histogram<u64>;

/// Longest recorded time, one hour; longer ones count as this. It fits into 32 bits.
pub(crate) const LONGEST_US: u64 = 3_600_000_000;

/// The times of an interval, in whichever form they are in memory.
pub trait RecordedTimes {
    /// How many times were recorded.
    fn count(&self) -> u64;

    /// Adds them to `sum` without loss.
    fn add_to(&self, sum: &mut Micros);
}

impl RecordedTimes for Micros {
    fn count(&self) -> u64 {
        self.len()
    }

    fn add_to(&self, sum: &mut Micros) {
        if !self.is_empty() {
            sum.add(self).expect("histograms of the same precision add, and this one grows");
        }
    }
}

/// An empty histogram. It grows with the values: one that has recorded 10 ms takes 40 KB, and clearing and merging
/// cost in proportion.
pub(crate) fn micros() -> Micros {
    Micros::new(3).expect("three significant digits are within 0 to 5")
}

/// A span in the unit of the histograms.
#[inline]
pub(crate) fn micros_of(span: Nanos) -> u32 {
    span.as_micros_rounded().min(LONGEST_US) as u32
}

/// Records a span, see [`micros_of`].
#[inline]
pub(crate) fn record(histogram: &mut Micros, us: u32) {
    histogram.record(us.into()).expect("an auto-resizing histogram takes every value up to an hour");
}

/// Mean, percentiles and maximum of a merged histogram; all zero where it is empty.
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
