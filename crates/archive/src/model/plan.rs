//! `plan.toml`: what a run measures, with every default resolved and the seed. It is enough to repeat the run.
//!
//! Users write and edit the same file, so unknown keys are refused with their line and name. The crates that run the
//! plan define what the names of workloads, servers, knobs and objectives mean.

use super::upgrade::{Document, FormatNumber, upgrade};
use super::{KnobValue, OneSidedTuning};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt, str::FromStr};
use thiserror::Error;

mod axis;
mod concurrency;
mod lengths;
mod worse;

pub use axis::{Axis, Vary};
pub use concurrency::PlannedConcurrency;
pub use lengths::{PhaseLengths, PlannedPower, PlannedStudy, PlannedTurns, WarmUpLimits, length_text};
pub use worse::{Worse, WorseParseError};

/// The content of `plan.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Version of the run directory's formats: [`super::FORMAT`].
    pub format: u32,
    /// Version of showdown that made the plan.
    pub showdown: String,
    /// The command line as typed, program name first.
    pub command: Vec<String>,
    /// A comparison at one point, or a sweep along axes.
    pub kind: RunKind,
    /// Name of the workload, or the path of its folder.
    pub workload: String,
    /// Restricts the mix to one operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_op: Option<String>,
    /// The preset that the numbers below come from.
    pub length: RunLength,
    /// Seed of the order of trials and of every random draw of the load. 32 bits: TOML and JavaScript keep these
    /// exactly.
    pub seed: u32,
    /// Number of blocks. A block has one trial of every variant (and sweep point) in random order.
    pub blocks: u32,
    /// Maximum number of extra blocks that replace trials that do not count.
    #[serde(default)]
    pub spare_blocks: u32,
    /// The run looks at its verdict when this many blocks are complete, and ends if it is settled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub looks: Vec<u32>,
    /// Complete blocks at which the run was interrupted with a verdict: each was a look, which takes its part of the 5 %.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interrupted_looks: Vec<u32>,
    /// How these looks and the end share the 5 % of false verdicts.
    #[serde(default, skip_serializing_if = "LookSpending::is_late")]
    pub spending: LookSpending,
    /// Half the width of the confidence interval, as a share of the ratio, with which a look settles the run. Without it,
    /// any verdict does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<f64>,
    /// The command of this run has the exit code 4 if a variant is that much worse than the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fail_if: Option<Worse>,
    /// Words to find the run by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The run whose plan this run repeats in another session, by its id. Runs of one plan have one answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirms: Option<String>,
    /// What is measured instead if the first block shows that the measure cannot answer. Only where the user named no measure. The run
    /// removes it from its plan when the first block has decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<FallbackMeasure>,
    /// The metric of each trial.
    pub measure: Measure,
    /// The measure that `measure` replaced: after the first block, or because a quick comparison has no time for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced: Option<ReplacedMeasure>,
    /// The client's connections and threads.
    pub load: ClientLoad,
    /// A fixed background load beside the measured one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<PlannedBackground>,
    /// The CPUs of the servers and of the client on this machine.
    pub cpus: CpuSplit,
    /// Limits of the warm-up.
    pub warm_up: WarmUpLimits,
    /// The length of each phase of a trial.
    pub phases: PhaseLengths,
    /// The servers of a block are up together and loaded in turns. Without it, one at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<PlannedTurns>,
    /// The levels of load at which watts are measured, after the value of each trial. The meters are named when it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<PlannedPower>,
    /// How long servers are studied; only in the plan of an explanation, which has no trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub study: Option<PlannedStudy>,
    /// The steps of transfers in progress; only in the plan of a run of them, which has no trials, and where trials measure the
    /// breaking point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<PlannedConcurrency>,
    /// Whether the run ends where the packages of one server differ between machines.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub like_with_like: bool,
    /// Whether this machine is made quieter: settings for that are among the knobs of its variants, and CPUs stay out of deep idle states.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quiet_host: bool,
    /// The machines that variants and clients name; empty where all run on this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<PlannedHost>,
    /// The names of those that make the load together; empty where this machine makes it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<String>,
    /// Tunings that a search has kept for one variant and that another could have; the audit names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub one_sided: Vec<OneSidedTuning>,
    /// What is compared, at least one.
    pub variants: Vec<Variant>,
    /// The axes of a sweep; empty in a comparison.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sweep: Vec<Axis>,
}

/// The kind of question that a run answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunKind {
    /// Which variant has the higher value, and by how much.
    Compare,
    /// How a value changes along axes.
    Sweep,
    /// What limits servers under load, without trials.
    Explain,
    /// How many downloads a server has in progress at once, without trials.
    Concurrency,
}

impl Plan {
    /// How many machines make the load.
    pub fn client_count(&self) -> u32 {
        self.clients.len().max(1) as u32
    }

    /// The machine of a variant, the first of those of a kind; none where that is this machine and has no name.
    pub fn host_of(&self, variant: &Variant) -> Option<&PlannedHost> {
        self.hosts_of(variant).next()
    }

    /// The machines of a variant: the one that it names, or all of the kind that it names.
    pub fn hosts_of(&self, variant: &Variant) -> impl Iterator<Item = &PlannedHost> {
        let (name, kind) = (variant.host.clone(), variant.kind().map(str::to_owned));
        self.hosts.iter().filter(move |host| match &kind {
            Some(kind) => host.kind.as_ref() == Some(kind),
            None => Some(&host.name) == name.as_ref(),
        })
    }

    /// Whether it loads a workload; a URL of its own is none. Only a run of transfers can have one.
    pub fn has_workload(&self) -> bool {
        self.kind != RunKind::Concurrency || self.concurrency.as_ref().is_none_or(|steps| steps.url.is_none())
    }

    /// Whether an axis of its sweep varies this.
    pub fn varies(&self, vary: &Vary) -> bool {
        self.sweep.iter().any(|axis| axis.vary == *vary)
    }

    /// Whether a variant runs on this machine, beside the client.
    pub fn is_here(&self, variant: &Variant) -> bool {
        self.host_of(variant).is_none_or(|host| host.ssh.is_none())
    }
}

/// Fewest machines of a kind for an answer about kinds: the median of fewer values has no interval of 95 %.
pub const FEWEST_OF_A_KIND: u32 = 6;

impl Variant {
    /// The kind of its machines, where it names one.
    pub fn kind(&self) -> Option<&str> {
        self.host.as_deref()?.strip_prefix("kind:")
    }
}

impl RunKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Compare, Self::Sweep, Self::Explain, Self::Concurrency];

    /// Whether a run of this kind has trials, which can be run again and resumed.
    pub fn has_trials(self) -> bool {
        match self {
            Self::Compare | Self::Sweep => true,
            Self::Explain | Self::Concurrency => false,
        }
    }

    /// The name in the plan and in the index.
    pub fn name(self) -> &'static str {
        match self {
            Self::Compare => "compare",
            Self::Sweep => "sweep",
            Self::Explain => "explain",
            Self::Concurrency => "concurrency",
        }
    }
}

/// A preset of durations and number of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunLength {
    /// About a minute for two variants.
    Quick,
    /// About five minutes for two variants.
    Default,
    /// As long as it takes.
    Thorough,
}

impl Plan {
    /// The plan as its run began: without the looks of interruptions, and without the blocks that were added because other programs
    /// disturbed it. These are of one session, and not of what it asks.
    #[must_use]
    pub fn as_begun(&self) -> Self {
        let begun = Self { interrupted_looks: Vec::new(), ..self.clone() };
        match (self.spending, self.looks.first()) {
            (LookSpending::Prolonged, Some(&first)) => {
                Self { blocks: 2 * first, looks: vec![first], spending: LookSpending::Early, ..begun }
            }
            _ => begun,
        }
    }
}

/// How the looks of a run and its end share the 5 % of false verdicts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LookSpending {
    /// Little at first, after O'Brien and Fleming: the interval at the end is hardly wider than without looks.
    #[default]
    Late,
    /// Most at the first look, after Kim and `DeMets`: for a run that goes on only where that look settles nothing.
    Early,
    /// As much at the first look as an early one, and the rest at the later ones: for a run that goes on for longer, because other
    /// programs or the hypervisor disturb it.
    Prolonged,
}

impl LookSpending {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
    fn is_late(&self) -> bool {
        *self == Self::Late
    }
}

/// A machine on which variants run, as the hosts file had it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedHost {
    /// Its name in the variants and in results.
    pub name: String,
    /// Where ssh finds it; without it, this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ssh: Option<String>,
    /// Where its servers listen.
    pub address: String,
    /// What kind of machine it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The CPUs of its servers; without it, all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<String>,
    /// The command under which its agent runs, for root's rights.
    #[serde(default, rename = "become", skip_serializing_if = "Option::is_none")]
    pub become_root: Option<String>,
}

/// One of the things compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// Its name in this run, unique, such as `apache-mpm-event`.
    pub name: String,
    /// The server's name in the workload.
    pub server: String,
    /// The name of its machine, which is one of the plan's hosts; without it, this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The knobs that were set; the others keep their defaults.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub knobs: BTreeMap<String, KnobValue>,
}

/// What is measured in each trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "metric", rename_all = "snake_case", deny_unknown_fields)]
pub enum Measure {
    /// Operations per second in a closed loop.
    MaxThroughput,
    /// Bytes received per second in a closed loop: for large operations, such as downloads.
    MaxBytes,
    /// Operations per hour, one after the other: for operations that take seconds or minutes, such as builds.
    OneByOne {
        /// Number of timed operations, after one that is not timed.
        operations: u32,
    },
    /// The highest open-loop rate that meets an objective, by search.
    Capacity {
        /// The objective as text, such as `p99<5ms`.
        slo: String,
    },
    /// Response time at given open-loop rates.
    LatencyCurve {
        /// The rates, operations per second; none where the rate is an axis of the sweep.
        rates_per_s: Vec<f64>,
        /// An objective to draw, and to check each step by.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        slo: Option<String>,
    },
    /// CPU time of the server for each operation, at one open-loop rate for all servers.
    CpuTime {
        /// Operations per second. Without it, the first block chooses the rate, and the run adds it to its plan.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rate_per_s: Option<f64>,
    },
    /// CPU time of the server for each operation of users who stay: their delays give the rate.
    UserCpuTime,
    /// The p99 response time of users who stay.
    UserLatency,
    /// Downloads in progress at once with which availability falls under a limit, by the steps of [`Plan::concurrency`].
    BreakingPoint,
}

/// What a run measures instead if the client is the limit of the measure that was planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FallbackMeasure {
    /// [`Measure::CpuTime`], also if the client was nearly the limit, or other programs disturb: the user named neither the
    /// measure nor an objective.
    CpuTime,
    /// [`Measure::CpuTime`] where a trial of the first block was refused, because later trials would be refused, too: the user named an
    /// objective, and no measure.
    CpuTimeIfRefused,
}

/// A measure that another one replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplacedMeasure {
    /// Its metric, such as `capacity at p99 < 5 ms`.
    pub metric: String,
    /// Why it was replaced, with the figures of the first block if that decided.
    pub why: String,
}

impl Measure {
    /// Whether the value is a CPU time an operation.
    pub fn is_cpu_time(&self) -> bool {
        matches!(self, Self::CpuTime { .. } | Self::UserCpuTime)
    }

    /// Whether the value is one of users, whose delays give the rate.
    pub fn is_of_users(&self) -> bool {
        matches!(self, Self::UserCpuTime | Self::UserLatency)
    }

    /// Whether the value is a capacity, which is searched.
    pub fn is_capacity(&self) -> bool {
        matches!(self, Self::Capacity { .. })
    }

    /// Whether a closed loop gives the value, as fast as it goes.
    pub fn is_closed_loop(&self) -> bool {
        matches!(self, Self::MaxThroughput | Self::MaxBytes)
    }

    /// The text of the objective, if there is one.
    pub fn slo(&self) -> Option<&str> {
        match self {
            Self::MaxThroughput
            | Self::MaxBytes
            | Self::OneByOne { .. }
            | Self::CpuTime { .. }
            | Self::UserCpuTime
            | Self::UserLatency
            | Self::BreakingPoint => None,
            Self::Capacity { slo } => Some(slo),
            Self::LatencyCurve { slo, .. } => slo.as_deref(),
        }
    }
}

/// The size of the client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientLoad {
    /// Connections of the client.
    pub connections: u32,
    /// Worker threads of the client.
    pub threads: u32,
}

/// A fixed open-loop load beside the measured one. It is not counted in the results.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedBackground {
    /// Operations per second, of the same mix.
    pub rate_per_s: f64,
    /// Its connections, which stay open.
    pub connections: u32,
}

/// The CPUs of each side on this machine, as lists such as `0` or `0-3,8`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuSplit {
    /// The servers' CPUs; empty where all servers are on other machines.
    pub server: String,
    /// The client's CPUs.
    pub client: String,
}

/// Why a text is not a plan.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}{problem}", .line.map(|line| format!("line {line}: ")).unwrap_or_default())]
pub struct PlanParseError {
    /// The line, from 1, where it is known.
    pub line: Option<usize>,
    /// What is wrong, in one line.
    pub problem: String,
}

impl PlanParseError {
    fn toml(text: &str, error: &toml::de::Error) -> Self {
        let line = error.span().map(|span| notation::source_text::line_of(text, span.start));
        Self { line, problem: notation::mistakes::message_of(error, text) }
    }

    fn without_line(error: impl fmt::Display) -> Self {
        Self { line: None, problem: error.to_string() }
    }
}

impl FromStr for Plan {
    type Err = PlanParseError;

    /// Reads a plan of this format or of an earlier one; refuses a later one by its number.
    fn from_str(text: &str) -> Result<Self, PlanParseError> {
        let current = toml::from_str::<Self>(text).map_err(|error| PlanParseError::toml(text, &error));
        let format = match &current {
            Ok(plan) => Some(plan.format),
            Err(_) => toml::from_str::<FormatNumber>(text).ok().map(|number| number.format),
        };
        let Some(format) = format else { return current };
        match upgrade(Document::Plan, format, || toml::from_str(text).ok()) {
            Ok(None) => current,
            Ok(Some(value)) => serde_json::from_value(value).map_err(PlanParseError::without_line),
            Err(error) => Err(PlanParseError::without_line(error)),
        }
    }
}

#[cfg(test)]
mod tests;
