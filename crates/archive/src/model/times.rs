//! Distributions of times. Percentiles are read from merged histograms and never averaged.

pub use stats::times::Times;

/// A distribution as a curve over the percentile axis, from a merged histogram.
///
/// Pairs of a share of the values (0 to 1) and microseconds, both ascending: that share of the values is at or below
/// the time. Use the steps of `HdrHistogram`'s percentile iterator: a few for each halving of the distance to 1, up
/// to 0.9999 or as far as the number of values allows. Some sixty pairs draw a smooth line.
pub type QuantileCurve = Vec<(f64, u64)>;
