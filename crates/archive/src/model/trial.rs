//! `trials/NNN-variant/trial.json`: one start of one server, from its beginning to its end.

use super::{CountCheck, Gate, KnobValue, Phase, SaturatedResource, ServerUsage};
use serde::{Deserialize, Serialize};
use stats::steady::SteadyState;
use std::collections::BTreeMap;

/// Where on the axes of a sweep a trial lies; empty in a comparison.
pub type SweepPoint = BTreeMap<String, KnobValue>;

/// The whole of `trial.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Version of the run directory's formats: [`super::FORMAT`].
    pub format: u32,
    /// Its number in the order in which the trials ran, from 1.
    pub number: u32,
    /// Its block, from 1.
    pub block: u32,
    /// Its place in the block, from 1.
    pub position: u32,
    /// Name of its variant in the plan.
    pub variant: String,
    /// Where on the axes of a sweep it lies.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub point: SweepPoint,
    /// Unix time of its start, milliseconds.
    pub started_unix_ms: u64,
    /// How long it took in all, seconds.
    pub duration_s: f64,
    /// Whether it counts.
    pub status: TrialStatus,
    /// Why it does not, one line each.
    #[serde(default)]
    pub reasons: Vec<String>,
    /// What was checked.
    #[serde(default)]
    pub gates: Vec<Gate>,
    /// The value that it stands for; `None` where it did not come so far.
    pub measured: Option<Measured>,
    /// Its phases in order of time.
    #[serde(default)]
    pub phases: Vec<Phase>,
    /// The fixed load that ran beside them, if the plan has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<Phase>,
    /// Whether it settled, by each series that was watched.
    #[serde(default)]
    pub warm_up: Option<WarmUpOutcome>,
    /// The whole trial at even intervals.
    #[serde(default)]
    pub timeline: Vec<Tick>,
    /// The server's counts against the client's.
    #[serde(default)]
    pub counts: Vec<CountCheck>,
    /// What the server took while it was measured.
    #[serde(default)]
    pub server: Option<ServerUsage>,
    /// What was full while it was measured.
    #[serde(default)]
    pub saturated: Option<SaturatedResource>,
    /// What else lies beside this file.
    #[serde(default)]
    pub files: TrialFiles,
}

/// Whether a trial counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrialStatus {
    /// It passed every gate.
    Valid,
    /// It was measured and failed a gate.
    Invalid,
    /// It was not measured: the server did not start, died or answered wrongly.
    Failed,
    /// It was stopped from outside.
    Interrupted,
}

/// The value that a trial stands for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// What it is, such as `capacity at p99<5ms`.
    pub what: String,
    /// The number.
    pub value: f64,
    /// Its unit, such as `/s`.
    pub unit: String,
    /// Whether more is better.
    pub higher_is_better: bool,
}

/// How the warm-up ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WarmUpOutcome {
    /// Seconds from the start of load that count for nothing.
    pub discarded_s: f64,
    /// Seconds between the observations that were judged: those of the last loop, behind those of the loop before
    /// where that was refused.
    pub interval_s: f64,
    /// What was found for throughput.
    pub throughput: SteadyState,
    /// What was found for the 99th percentile of response time.
    pub p99: SteadyState,
}

/// One point of a trial's time line.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Tick {
    /// Seconds from the trial's start to this interval's start.
    pub t_s: f64,
    /// Operations a second that ended well.
    pub throughput_per_s: f64,
    /// Operations a second that fell due; `None` in a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered_per_s: Option<f64>,
    /// Median response time, microseconds; `None` where nothing ended.
    pub p50_us: Option<u64>,
    /// 99th percentile of response time, microseconds; `None` where nothing ended.
    pub p99_us: Option<u64>,
    /// Operations that failed.
    pub errors: u64,
}

/// Files beside `trial.json`, relative to the run directory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialFiles {
    /// The load as an `HdrHistogram` log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_log: Option<String>,
    /// The host's telemetry as Parquet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub telemetry: Option<String>,
    /// The effective configurations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub config: Vec<String>,
    /// What the server wrote.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub logs: Vec<String>,
}

impl Trial {
    /// The value, where the trial counts: what a verdict may be computed from.
    pub fn valid_value(&self) -> Option<f64> {
        self.measured.as_ref().filter(|_| self.status == TrialStatus::Valid).map(|measured| measured.value)
    }
}
