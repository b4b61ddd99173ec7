//! `trials/NNN-variant/trial.json`: one start of one server, from start to stop.
//!
//! | file | what it holds |
//! |---|---|
//! | [`phase`] | a part of its load |
//! | [`gate`] | what was checked |
//! | [`usage`] | what the server used |
//! | [`user_walk`] | what its users did |
//! | [`neighbours`] | how much copies of the server disturb each other |
//! | [`power`] | watts |

mod gate;
mod neighbours;
mod phase;
mod power;
mod usage;
mod user_walk;

use self::usage::is_zero;
use crate::model::requests::is_false;
use crate::model::{KnobValue, SteadyState};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub use gate::{Gate, GateOutcome, Refusal, RefusedWhen};
pub use neighbours::{CarriedLoad, InstanceLoads, NeighbourEffect, Neighbours};
pub use phase::{
    ClientHealth, DelayedAck, Handshakes, OperationTimes, PhaseKind, PhaseSlices, SpentBound, SpentBudget,
    TrialPhase,
};
pub use power::{LevelWatts, PowerLevel, TrialMeter, TrialPower};
pub use usage::{
    CountCheck, CpuTimePerOperation, PartCpuTime, PartUsage, ResourceUse, SaturatedResource, ServerUsage,
};
pub use user_walk::{OutsideOperation, UserWalk, WalkedOperation};

/// A point on the axes of a sweep; empty in a comparison.
pub type SweepPoint = BTreeMap<String, KnobValue>;

/// The content of `trial.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Version of the run directory's formats: [`crate::model::FORMAT`].
    pub format: u32,
    /// Its number in the order in which the trials ran, from 1.
    pub number: u32,
    /// Its block, from 1.
    pub block: u32,
    /// Its position in the block, from 1.
    pub position: u32,
    /// Name of its variant in the plan.
    pub variant: String,
    /// The machine of its server, where that has a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Its point on the axes of a sweep.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub point: SweepPoint,
    /// Unix time of its start, milliseconds.
    pub started_unix_ms: u64,
    /// Its duration, seconds.
    pub duration_s: f64,
    /// Whether it counts.
    pub status: TrialStatus,
    /// Whether it failed because of a machine or of the client. Otherwise a trial that failed is a failure of its server.
    #[serde(default, skip_serializing_if = "is_false")]
    pub failed_elsewhere: bool,
    /// Why it does not count, one line each.
    #[serde(default)]
    pub reasons: Vec<String>,
    /// The gates with their outcomes.
    #[serde(default)]
    pub gates: Vec<Gate>,
    /// The value of the trial; `None` where it ended before the measurement.
    pub measured: Option<MeasuredValue>,
    /// Its phases in order of time.
    #[serde(default)]
    pub phases: Vec<TrialPhase>,
    /// The fixed background load, if the plan has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<TrialPhase>,
    /// The end of the warm-up, with the steady-state check of each series.
    #[serde(default)]
    pub warm_up: Option<WarmUpOutcome>,
    /// How it shared its block with other servers; `None` where the plan has no turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<TrialTurns>,
    /// The whole trial at even intervals.
    #[serde(default)]
    pub timeline: Vec<Tick>,
    /// The server's counters beside the client's.
    #[serde(default)]
    pub counts: Vec<CountCheck>,
    /// What the server used during the measurement.
    #[serde(default)]
    pub server: Option<ServerUsage>,
    /// What an operation cost the server's CPUs, where the plan measures that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_time: Option<CpuTimePerOperation>,
    /// The walk and the pacing of its users, where the load has some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub users: Option<UserWalk>,
    /// Numbers in its operations that follow from knobs and users, by name: `persons`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub load_numbers: BTreeMap<String, u64>,
    /// How much the copies of the server disturb each other, where the variant says whether they are isolated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbours: Option<Neighbours>,
    /// The saturated resource during the measurement.
    #[serde(default)]
    pub saturated: Option<SaturatedResource>,
    /// Watts beside the load, where the run has a meter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<TrialPower>,
    /// The other files of the trial.
    #[serde(default)]
    pub files: TrialFiles,
}

/// How a trial shared its block with other servers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrialTurns {
    /// All servers were up, and were loaded in turns.
    InTurns {
        /// The trials that shared the machine, this one included.
        trials: Vec<u32>,
        /// Length of a slice, seconds.
        slice_s: f64,
        /// Rounds: in each one, every server had one slice. A search for capacities has further rounds for those that are not near
        /// theirs, and none for a server that has no rate.
        rounds: u32,
        /// CPU time that this server used while none was loaded, in cores; none after the first block, which decides.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        idle_cores: Option<f64>,
    },
    /// The servers ran one at a time.
    OneAtATime {
        /// Why.
        why: String,
    },
}

/// Whether a trial counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrialStatus {
    /// It passed every gate.
    Valid,
    /// It was measured and failed a gate.
    Invalid,
    /// It was not measured: the server did not start, died or gave wrong answers.
    Failed,
    /// It was stopped from outside.
    Interrupted,
}

/// The value of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasuredValue {
    /// Its metric, such as `capacity at p99 < 5 ms`.
    pub metric: String,
    /// The number.
    pub value: f64,
    /// Its unit, such as `/s`.
    pub unit: String,
    /// Whether a higher value is better.
    pub higher_is_better: bool,
}

/// How the warm-up ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WarmUpOutcome {
    /// Seconds from the start of load that are discarded.
    pub discarded_s: f64,
    /// Seconds between the observations of the steady-state check. The observations are those of the last loop,
    /// after those of the loop before where that loop was not steady.
    pub interval_s: f64,
    /// The check of throughput.
    pub throughput: SteadyState,
    /// The check of the 99th percentile of response time.
    pub p99: SteadyState,
}

/// One point of a trial's timeline.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Tick {
    /// Seconds from the start of the trial to the start of this interval.
    pub t_s: f64,
    /// Operations per second that succeeded.
    pub throughput_per_s: f64,
    /// Operations per second that were due; `None` in a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered_per_s: Option<f64>,
    /// Median response time, microseconds; `None` where no operation ended.
    pub p50_us: Option<u64>,
    /// 99th percentile of response time, microseconds; `None` where no operation ended.
    pub p99_us: Option<u64>,
    /// From this response time on, both are lower bounds; `None` where no operation timed out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gave_up_from_us: Option<u64>,
    /// Operations that failed.
    pub failed: u64,
}

/// The other files of a trial, relative to the run directory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialFiles {
    /// The load as an `HdrHistogram` log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_log: Option<String>,
    /// The telemetry of the server's host as Parquet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub telemetry: Option<String>,
    /// The telemetry of this machine, where it made the load of a server elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_telemetry: Option<String>,
    /// The telemetry of the hosts that made the load, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub clients_telemetry: BTreeMap<String, String>,
    /// The watts of each meter as Parquet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<String>,
    /// The steps of a trial that measures the breaking point, as in `concurrency.json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<String>,
    /// The effective configuration files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub config: Vec<String>,
    /// The server's output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub logs: Vec<String>,
    /// The bytes in the middle of the logs that are left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub logs_left_out_bytes: u64,
}

impl TrialFiles {
    /// The logs that tell more of a reason: the log of the companion that the reason names, or else all logs. The last one is the log of the server itself.
    pub fn logs_of(&self, reason: &str) -> Vec<&str> {
        let named = reason.split_once("companion ").and_then(|(_, after)| after.split_once(" of "));
        let own = named.map_or(String::new(), |(name, _)| format!("companion-{name}-"));
        let logs = self.logs.iter().map(String::as_str);
        let of_companion: Vec<&str> =
            logs.clone().filter(|log| !own.is_empty() && log.contains(&own)).collect();
        if of_companion.is_empty() { logs.collect() } else { of_companion }
    }
}

impl Trial {
    /// The value of a valid trial. Verdicts are computed from these alone.
    pub fn valid_value(&self) -> Option<f64> {
        self.measured.as_ref().filter(|_| self.status == TrialStatus::Valid).map(|measured| measured.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_that_names_a_companion_has_its_log() {
        let logs = ["companion-database-server.log", "companion-cache-server.log", "server.log"];
        let files =
            TrialFiles { logs: logs.map(|log| format!("trials/1/{log}")).to_vec(), ..TrialFiles::default() };
        let reason = "restarts: companion cache of shop (pid 7) was killed by SIGKILL";
        assert_eq!(files.logs_of(reason), ["trials/1/companion-cache-server.log"]);
        for reason in
            ["shop (pid 7) exited with status 1", "companion of nobody", "companion web of shop ended"]
        {
            assert_eq!(files.logs_of(reason).len(), 3, "{reason}");
        }
    }
}
