//! Distributions of times as they are written down: percentiles read from merged histograms, never averaged.

pub use stats::times::Times;

/// A distribution as a line over the percentile axis, from a merged histogram.
///
/// Pairs of the share of values at or below (0 to 1) and the microseconds, both ascending. The shares are best
/// taken as `HdrHistogram`'s percentile iterator takes them, a few to each halving of the distance to 1, up to
/// 0.9999 or as far as the count of values carries; some sixty pairs draw a smooth line.
pub type QuantileCurve = Vec<(f64, u64)>;
