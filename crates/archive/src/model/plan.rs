//! `plan.toml`: what was asked, resolved to the last default, with the seed. It is enough to run it again.
//!
//! The same file is what a user writes and edits, so it refuses keys that it does not know, by line and name.
//! What the names of workloads, servers, knobs and objectives mean is left to the crates that run the plan.

use super::KnobValue;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt, str::FromStr, time::Duration};

/// The whole of `plan.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Version of the run directory's formats: [`super::FORMAT`].
    pub format: u32,
    /// Version of showdown that made the plan.
    pub showdown: String,
    /// The command line as typed, program name first.
    pub command: Vec<String>,
    /// Whether variants are compared at one point or along axes.
    pub kind: Kind,
    /// Name of the workload, or the path of its folder.
    pub workload: String,
    /// Restricts the mix to one operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_op: Option<String>,
    /// Which preset the numbers below come from.
    pub length: Length,
    /// Seed of the order of trials and of every draw of the load. 32 bits, so that TOML and JavaScript keep it.
    pub seed: u32,
    /// How many blocks, each with one trial of every variant (and sweep point) in random order.
    pub blocks: u32,
    /// At most so many blocks more make up for trials that do not count.
    #[serde(default)]
    pub spare_blocks: u32,
    /// Words to find the run by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// What is measured of each trial.
    pub measure: Measure,
    /// How the load is made.
    pub load: Load,
    /// What else the server has to do meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<Background>,
    /// Which CPUs the server and the client get.
    pub cpus: CpuSplit,
    /// Limits of the warm-up.
    pub warm_up: WarmUp,
    /// How long each phase of a trial lasts.
    pub phases: Phases,
    /// What is compared, at least one.
    pub variants: Vec<Variant>,
    /// What is varied; empty in a comparison.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sweep: Vec<Axis>,
}

/// What kind of question a run answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Which variant has more, and by how much.
    Compare,
    /// How a value moves along axes.
    Sweep,
}

impl Kind {
    /// The kind's name, as the plan and the index have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Compare => "compare",
            Self::Sweep => "sweep",
        }
    }
}

/// A preset of durations and blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Length {
    /// About a minute for two variants.
    Quick,
    /// About ten minutes.
    Default,
    /// As long as it takes.
    Thorough,
}

/// One of the things compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// Its name in this run, unique, such as `apache-mpm-event`.
    pub name: String,
    /// The workload's name of the server.
    pub server: String,
    /// The knobs that were set; the others keep their defaults.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub knobs: BTreeMap<String, KnobValue>,
}

/// What is measured of each trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case", deny_unknown_fields)]
pub enum Measure {
    /// Operations a second in a closed loop.
    MaxThroughput,
    /// Bytes a second that come back in a closed loop: for operations that are large, such as downloads.
    MaxBytes,
    /// Operations an hour, one after the other: for those that take seconds or minutes, such as builds.
    OneByOne {
        /// How many are timed, after one that is not.
        operations: u32,
    },
    /// The highest open-loop rate that meets an objective, by search.
    Capacity {
        /// The objective as text, such as `p99<5ms`.
        slo: String,
    },
    /// Latency at given open-loop rates.
    LatencyCurve {
        /// The rates, operations a second.
        rates_per_s: Vec<f64>,
        /// An objective to draw and to judge each step by.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        slo: Option<String>,
    },
}

impl Measure {
    /// The objective's text, if there is one.
    pub fn slo(&self) -> Option<&str> {
        match self {
            Self::MaxThroughput | Self::MaxBytes | Self::OneByOne { .. } => None,
            Self::Capacity { slo } => Some(slo),
            Self::LatencyCurve { slo, .. } => slo.as_deref(),
        }
    }
}

/// How the load is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// Connections of the client.
    pub connections: u32,
    /// Worker threads of the client.
    pub threads: u32,
}

/// A fixed open-loop load beside the one that is measured, so that a server is measured as it would live.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Background {
    /// Operations a second, of the same mix.
    pub rate_per_s: f64,
    /// Its connections, which stay open.
    pub connections: u32,
}

/// Which CPUs each side gets, as lists such as `0` or `0-3,8`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuSplit {
    /// The server's CPUs.
    pub server: String,
    /// The client's CPUs.
    pub client: String,
}

/// Limits of the warm-up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WarmUp {
    /// It lasts at least this long.
    #[serde(with = "humantime_serde")]
    pub least: Duration,
    /// A server that has not settled after this long never will: the trial is invalid.
    #[serde(with = "humantime_serde")]
    pub most: Duration,
}

/// How long each phase of a trial lasts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phases {
    /// The closed loop, which is the measure itself or bounds the search for capacity.
    #[serde(with = "humantime_serde")]
    pub closed_loop: Duration,
    /// Each step of the search for capacity.
    #[serde(with = "humantime_serde")]
    pub search_step: Duration,
    /// The measurement at the capacity found.
    #[serde(with = "humantime_serde")]
    pub measure: Duration,
    /// Each step of a latency curve.
    #[serde(with = "humantime_serde")]
    pub curve_step: Duration,
}

/// One axis of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// What is varied.
    pub vary: Vary,
    /// The values it takes, in the order of the axis.
    pub values: Vec<KnobValue>,
}

/// What an axis varies. In text `connections` and `rate` are the load's own; any other name is a knob's.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Vary {
    /// Connections of the client.
    Connections,
    /// Offered operations a second.
    Rate,
    /// A knob of the workload.
    Knob(String),
}

impl From<String> for Vary {
    fn from(name: String) -> Self {
        match name.as_str() {
            "connections" => Self::Connections,
            "rate" => Self::Rate,
            _ => Self::Knob(name),
        }
    }
}

impl From<Vary> for String {
    fn from(vary: Vary) -> Self {
        vary.to_string()
    }
}

impl fmt::Display for Vary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connections => "connections",
            Self::Rate => "rate",
            Self::Knob(name) => name,
        })
    }
}

impl FromStr for Plan {
    type Err = toml::de::Error;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        toml::from_str(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = r#"
format = 1
showdown = "0.1.0"
command = ["showdown", "sweep", "memcached", "--vary", "threads=1,2", "--vary", "connections=1..1024"]
kind = "sweep"
workload = "cache"
length = "quick"
seed = 4028743217
blocks = 3

[measure]
what = "capacity"
slo = "p99<2ms"

[load]
connections = 64
threads = 1

[cpus]
server = "0"
client = "1"

[warm_up]
least = "1s"
most = "30s"

[phases]
closed_loop = "2s"
search_step = "1s 500ms"
measure = "5s"
curve_step = "2s"

[[variants]]
name = "memcached"
server = "memcached"
knobs = { threads = 2, hash = "murmur3", cas = false, factor = 1.25 }

[[sweep]]
vary = "threads"
values = [1, 2]

[[sweep]]
vary = "connections"
values = [1, 2, 4, 8]
"#;

    #[test]
    fn a_plan_reads_back_from_what_it_writes() {
        let plan: Plan = PLAN.parse().unwrap();
        let again: Plan = toml::to_string(&plan).unwrap().parse().unwrap();
        assert_eq!(plan, again);
        assert_eq!(plan.sweep[0].vary, Vary::Knob("threads".into()));
        assert_eq!(plan.sweep[1].vary, Vary::Connections);
        assert_eq!(plan.phases.search_step, Duration::from_millis(1500));
        assert_eq!(plan.variants[0].knobs["hash"], KnobValue::Text("murmur3".into()));
        assert_eq!(plan.measure.slo(), Some("p99<2ms"));
    }

    #[test]
    fn a_key_that_is_not_known_is_refused_with_its_line() {
        let message = PLAN.replace("blocks = 3", "blockz = 3").parse::<Plan>().unwrap_err().to_string();
        assert!(message.contains("line 9") && message.contains("blockz"), "{message}");
    }
}
