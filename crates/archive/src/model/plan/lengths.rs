//! How long each part of a run takes: warm-ups, phases of trials, turns, levels of load, and the slices of an explanation.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A length as a plan has it: `10s`, `1m 30s`, or a number alone, which is seconds. For `#[serde(with = "…")]`.
pub mod length_text {
    use std::borrow::Cow;
    use std::time::Duration;

    use serde::{Deserialize, Deserializer};

    pub use humantime_serde::serialize;

    /// # Errors
    ///
    /// The text is no length.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        notation::parse_time(&text).ok_or_else(|| {
            serde::de::Error::custom(format!("{text:?} is no time: 10s, 1m 30s, or seconds: 10"))
        })
    }
}

/// Limits of the warm-up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WarmUpLimits {
    /// Shortest warm-up.
    #[serde(with = "length_text")]
    pub min: Duration,
    /// Longest warm-up. A trial that is not in a steady state after this time is invalid.
    #[serde(with = "length_text")]
    pub max: Duration,
}

/// The length of each phase of a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhaseLengths {
    /// The closed loop, which is the measurement itself or gives the capacity search its upper bound.
    #[serde(with = "length_text")]
    pub closed_loop: Duration,
    /// Each step of the capacity search.
    #[serde(with = "length_text")]
    pub search_step: Duration,
    /// The measurement at the capacity that was found.
    #[serde(with = "length_text")]
    pub measure: Duration,
    /// Each step of a latency curve.
    #[serde(with = "length_text")]
    pub curve_step: Duration,
}

/// Servers that are up together are loaded in turns, in slices that are as short as the load allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedTurns {
    /// Time under load of each server in a block, all its slices together.
    #[serde(with = "length_text")]
    pub load: Duration,
}

/// The levels of load at which watts are measured. Active idle, with the server up and its connections open, is measured last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedPower {
    /// Shares of the trial's value, such as 1 and 0.5, from the highest down.
    pub levels: Vec<f64>,
    /// How long each level lasts before its watts count.
    #[serde(with = "length_text")]
    pub settle: Duration,
    /// For how long they count.
    #[serde(with = "length_text")]
    pub measure: Duration,
}

/// How long and how often servers are studied that a run explains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedStudy {
    /// Length of a slice of the study.
    #[serde(with = "length_text")]
    pub slice: Duration,
    /// Slices without an experiment, before the first one.
    pub plain_slices: u32,
    /// The most experiments.
    pub experiments: u32,
    /// Pairs of slices after which the result of an experiment is looked at, and again after twice and three times as many.
    pub pairs: u32,
    /// Length of a slice of a profile.
    #[serde(with = "length_text")]
    pub profiled_slice: Duration,
    /// Rounds of the profile, each with a plain and a profiled slice of every server.
    pub profiled_rounds: u32,
    /// Whether slow requests are shown step by step.
    #[serde(default)]
    pub slow_requests: bool,
}
