//! Distributions of times as they are written down: percentiles read from merged histograms, never averaged.

use serde::{Deserialize, Serialize};

/// Percentiles of a distribution of times, microseconds. All zero where nothing was recorded.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub p50: u64,
    /// 90th percentile.
    pub p90: u64,
    /// 95th percentile.
    pub p95: u64,
    /// 99th percentile.
    pub p99: u64,
    /// 99.9th percentile.
    pub p99_9: u64,
    /// 99.99th percentile.
    pub p99_99: u64,
    /// Largest.
    pub max: u64,
}

/// A distribution as a line over the percentile axis, from a merged histogram.
///
/// Pairs of the share of values at or below (0 to 1) and the microseconds, both ascending. The shares are best
/// taken as `HdrHistogram`'s percentile iterator takes them, a few to each halving of the distance to 1, up to
/// 0.9999 or as far as the count of values carries; some sixty pairs draw a smooth line.
pub type QuantileCurve = Vec<(f64, u64)>;
