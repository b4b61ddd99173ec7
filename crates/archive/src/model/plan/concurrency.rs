//! The steps of a run that raises the number of downloads in progress.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The steps of a run that raises the number of downloads in progress until the server breaks, or until there are enough.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedConcurrency {
    /// The first number of transfers.
    pub from: u32,
    /// The last one.
    pub to: u32,
    /// The factor from one step to the next, above 1.
    pub step: f64,
    /// Finer steps between the last one before the break and the one that broke.
    pub finer: u32,
    /// Availability under which the server is broken, 0 to 1.
    pub until_availability: f64,
    /// The pace at which each client reads, bytes a second.
    pub pace_bytes_per_s: f64,
    /// How long each step is maintained at least.
    #[serde(rename = "hold", with = "super::lengths::length_text")]
    pub step_length: Duration,
    /// How long the last one is maintained at least.
    #[serde(rename = "hold_last", with = "super::lengths::length_text")]
    pub last_step_length: Duration,
    /// Attempts that begin a second, at most, while a step rises.
    pub begin_per_s: f64,
    /// Availability from which on clients are comfortable, 0 to 1.
    pub comfort_availability: f64,
    /// 99th percentile of the time to first byte up to which they are.
    #[serde(with = "super::lengths::length_text")]
    pub comfort_first_byte: Duration,
    /// Whether kernel settings stay as they are.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep_settings: bool,
    /// What is downloaded, where that is no server of a workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}
