//! `explanation.json`: what limits the servers of a run, and where their CPU time goes.
//!
//! Everything that is printed or drawn of an explanation is in it; profiles are files beside it.

use serde::{Deserialize, Serialize};

use super::cpu_profile::{CpuDifference, CpuProfile};
use super::requests::SlowRequests;
use super::waits::WaitProfile;

/// The content of `explanation.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// Version of the run directory's formats: [`super::FORMAT`].
    pub format: u32,
    /// Unix time at which it was made, milliseconds.
    pub made_unix_ms: u64,
    /// The answer in one sentence.
    pub sentence: String,
    /// The workload.
    pub workload: String,
    /// What it rests on.
    #[serde(default)]
    pub basis: ExplanationBasis,
    /// Whether `showdown explain` can load these servers, and try what limits them: said of the trials of a comparison.
    /// None in those of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub can_be_studied: Option<bool>,
    /// The servers: one, or those of a comparison.
    pub servers: Vec<ExplainedServer>,
    /// Where the second server uses more or less CPU time than the first, frame by frame, where both have a profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference: Option<CpuDifference>,
}

impl Explanation {
    /// What was found about these servers of a workload, in the current format.
    pub fn new(
        workload: &str,
        basis: ExplanationBasis,
        made_unix_ms: u64,
        servers: Vec<ExplainedServer>,
        difference: Option<CpuDifference>,
    ) -> Self {
        let sentence = sentences(&servers, difference.as_ref()).collect::<Vec<_>>().join("; ");
        Self {
            format: super::FORMAT,
            made_unix_ms,
            sentence,
            workload: workload.to_owned(),
            basis,
            can_be_studied: None,
            servers,
            difference,
        }
    }

    /// Whether to offer `showdown explain`: earlier versions counted the servers only.
    pub fn offers_study(&self) -> bool {
        const MOST: usize = 2;
        self.can_be_studied.unwrap_or(self.servers.len() <= MOST)
    }

    /// What it says of each server, and of their difference.
    pub fn sentences(&self) -> impl Iterator<Item = &str> {
        sentences(&self.servers, self.difference.as_ref())
    }
}

/// What an explanation rests on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExplanationBasis {
    /// Servers were loaded and studied: plain slices, experiments, profiles.
    #[default]
    Study,
    /// What the trials of a comparison have recorded anyway, without an experiment: nothing is more than suspected.
    Trials,
}

fn sentences<'e>(
    servers: &'e [ExplainedServer],
    difference: Option<&'e CpuDifference>,
) -> impl Iterator<Item = &'e str> {
    let of_servers = servers.iter().map(|server| server.sentence.as_str());
    of_servers.chain(difference.map(|difference| difference.sentence.as_str()))
}

/// What was found out about one server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExplainedServer {
    /// The variant.
    pub variant: String,
    /// What limits it, in one sentence.
    pub sentence: String,
    /// The closed loop in its plain slices.
    #[serde(rename = "held")]
    pub closed_loop: LoopLoad,
    /// Every resource that was examined.
    pub resources: Vec<ExaminedResource>,
    /// What may limit it, most likely first.
    pub suspects: Vec<Suspect>,
    /// What was tried.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub perturbations: Vec<PerturbationOutcome>,
    /// What the server says of itself, over the plain slices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub statistics: Vec<ServerStatistic>,
    /// What could not be determined, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<Unknown>,
    /// Where its CPU time goes, where it was profiled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<CpuProfile>,
    /// Where its threads wait, where they were watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<WaitProfile>,
    /// Its slowest operations step by step, where they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slow_requests: Option<SlowRequests>,
}

/// A closed loop, over plain slices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoopLoad {
    /// Its connections, each with one operation at a time.
    pub connections: u32,
    /// The CPUs of the server, such as `0-3`.
    pub server_cpus: String,
    /// Number of plain slices.
    pub slices: u32,
    /// Their length together, seconds.
    pub length_s: f64,
    /// Operations that succeeded, per second.
    pub throughput_per_s: f64,
    /// Mean response time, microseconds.
    pub mean_response_us: f64,
    /// The share of the connections that throughput and response time account for: X·R/N, 1 where no time is missing.
    pub loop_share: f64,
    /// CPU time of the server for each operation, microseconds.
    pub cpu_us_per_operation: Option<f64>,
    /// Share of its cores that the client used, 0 to 1.
    pub client_utilisation: Option<f64>,
}

/// One resource by demand, utilisation and saturation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExaminedResource {
    /// Its name in rules and perturbations, such as `server_cpu`.
    pub id: String,
    /// Its name for readers, such as `server CPUs`.
    pub title: String,
    /// What an operation takes of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub demand: Option<Figure>,
    /// The share of it that is in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub utilisation: Option<Figure>,
    /// What waits for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saturation: Option<Figure>,
    /// Why a figure is missing, and what it needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

impl ExaminedResource {
    /// Whether something is known of it.
    pub fn has_figure(&self) -> bool {
        [&self.demand, &self.utilisation, &self.saturation].into_iter().any(Option::is_some)
    }
}

/// A figure with its meaning and its source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Its name in rules, such as `server_cpus.busy`.
    pub name: String,
    /// Its value; a share is 0 to 1.
    pub value: f64,
    /// Its unit: `share`, `cores`, `1/s`, `B/s`, `µs` or another.
    pub unit: String,
    /// The value with its unit, for readers: `93 %`.
    pub text: String,
    /// Its meaning, in a few words.
    pub about: String,
    /// Where it comes from, such as `/proc/stat` or `load engine`.
    pub source: String,
}

/// Something that may limit a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Suspect {
    /// The rule that named it, such as `one-core`.
    pub rule: String,
    /// The resource, as in `resources[].id`.
    pub resource: String,
    /// Its name for readers.
    pub title: String,
    /// How sure it is.
    pub word: SuspectWord,
    /// Its cause in a sentence, with the word and the figures.
    pub sentence: String,
    /// The figures that made it a suspect.
    pub evidence: Vec<Figure>,
    /// The perturbation that tried it, as in `perturbations[].id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tried: Option<String>,
    /// What could be done, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remedies: Vec<String>,
    /// Where the rule comes from.
    pub source: String,
}

/// How sure a suspect is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SuspectWord {
    /// Throughput follows this resource, and none of the others that were tried.
    Limits,
    /// Throughput follows this resource and others, or this one for certain and others perhaps.
    Shared,
    /// The evidence names it, and it was not tried or the intervals are too wide.
    Suspected,
    /// The evidence names it, but throughput does not follow it.
    Cleared,
}

impl SuspectWord {
    /// The word as it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Limits => "limits",
            Self::Shared => "shared",
            Self::Suspected => "suspected",
            Self::Cleared => "cleared",
        }
    }
}

/// Pairs of slices, one plain and one with less of a resource.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PerturbationOutcome {
    /// Its name, such as `burn_server_cpus`.
    pub id: String,
    /// The resource of which there was less, as in `resources[].id`.
    pub resource: String,
    /// What was done, such as `20 % less of the server's CPUs`.
    pub title: String,
    /// The pairs in order of time.
    pub pairs: Vec<PerturbedPair>,
    /// How throughput followed; none where there are too few pairs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elasticity: Option<Elasticity>,
    /// The result in a sentence.
    pub sentence: String,
}

/// A plain slice and a perturbed one beside it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PerturbedPair {
    /// Operations per second of the plain slice.
    pub plain_per_s: f64,
    /// Operations per second of the perturbed slice.
    pub perturbed_per_s: f64,
    /// The share of the resource that was left, as measured. Of memory: of operations for each page that was read again.
    pub resource_left: f64,
    /// Whether the plain slice was the first of the two.
    pub plain_first: bool,
}

/// The elasticity of throughput: its relative change over that of a resource, `Δln X / Δln r`. 1 where throughput is proportional
/// to the resource, 0 where it does not depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Elasticity {
    /// The estimate.
    pub value: f64,
    /// Lower bound of its confidence interval.
    pub low: f64,
    /// Upper bound of its confidence interval.
    pub high: f64,
    /// Number of pairs.
    pub pairs: u32,
    /// The confidence level of the interval, corrected for several looks and suspects.
    pub confidence: f64,
}

/// A value of the server's own statistics.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServerStatistic {
    /// Its name in the workload.
    pub name: String,
    /// The increase of a counter per second, or the mean of a gauge.
    pub value: f64,
    /// Its unit; of a counter with `/s`.
    pub unit: String,
    /// The increase of a counter for each operation; none for a gauge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_operation: Option<f64>,
    /// The largest value that the configuration permits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<f64>,
    /// Its meaning.
    pub about: String,
}

/// Something that could not be told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unknown {
    /// What, such as `kernel stacks`.
    pub what: String,
    /// Why, and what it needs, such as `needs root`.
    pub why: String,
}
