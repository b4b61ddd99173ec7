//! A distribution of times as numbers: its mean, its percentiles and its maximum.
//!
//! This type is written down: `load` reads it off merged histograms, `archive` keeps it in `trial.json`, and
//! `showdown load --format json` prints it. The field names are part of those formats (`docs/FORMATS.md`).
//! Percentiles are never averaged, so there is no function here that combines two distributions.

use serde::{Deserialize, Serialize, Serializer};

/// Mean, percentiles and maximum of a distribution of times, microseconds. All zero where nothing was recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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

/// Writes a distribution as null where nothing was recorded, for formats in which no data is no zero.
pub fn times_or_null<S: Serializer>(times: &Times, serializer: S) -> Result<S::Ok, S::Error> {
    Some(times).filter(|times| !times.is_empty()).serialize(serializer)
}

impl Times {
    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
