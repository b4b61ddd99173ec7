//! `concurrency.json`: how many downloads a server has in progress at once, step by step, and what happened at the limit.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The content of `concurrency.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Concurrency {
    /// Version of the run directory's formats: [`super::FORMAT`].
    pub format: u32,
    /// Unix time at which it was written, milliseconds.
    pub made_unix_ms: u64,
    /// The answer in a sentence.
    pub sentence: String,
    /// The variant's name in the plan.
    pub variant: String,
    /// What is downloaded: an operation of the workload, or a URL.
    pub download: String,
    /// Size of the file in bytes, where the workload says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_bytes: Option<u64>,
    /// The pace at which each client reads, bytes a second.
    pub pace_bytes_per_s: f64,
    /// About how long it is from one read of a transfer to the next, by the pace and the window, seconds. Steps have what was seen.
    pub read_interval_s: f64,
    /// Processes of the client.
    pub processes: u32,
    /// Local addresses of the client; 0 where its system chooses.
    pub sources: u32,
    /// Why no further step was tried.
    pub ended: String,
    /// Whether the run was interrupted.
    #[serde(default)]
    pub interrupted: bool,
    /// The fewest transfers at which availability is under the limit of the plan; none where it was not reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breaking_point: Option<u32>,
    /// The most transfers at which clients are comfortable, as at all fewer ones that were tried; none where they never are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comfortable_point: Option<u32>,
    /// The transfers at which the client was the limit, which ended the run; none where it never was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_limit: Option<u32>,
    /// The most that this machine can carry, and another one with the server, checked before the run.
    pub limits: Vec<ConcurrencyLimit>,
    /// Kernel settings that the run changed and put back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<ChangedSetting>,
    /// Settings of the server that the run chose for so many connections; the user's own are in the plan.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub chosen: BTreeMap<String, String>,
    /// The steps in the order of time.
    pub steps: Vec<ConcurrencyStep>,
    /// What came after the break, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Recovery>,
    /// What ran out first, the most likely first; empty where nothing did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ran_out: Vec<RanOut>,
}

/// Something of a machine that bounds the number of transfers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConcurrencyLimit {
    /// What it is, such as `local ports`; of another machine, after its name.
    pub name: String,
    /// Its value, in words.
    pub value: String,
    /// How many transfers it allows; none where it does not bound them by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allows: Option<u64>,
    /// Whether the run changes it for its time.
    pub is_changed: bool,
    /// How to allow more.
    pub remedy: String,
}

/// A kernel setting that the run changed and put back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedSetting {
    /// Its name, such as `net.ipv4.tcp_mem`.
    pub name: String,
    /// Its value before and after the run.
    pub from: String,
    /// Its value during the run.
    pub to: String,
}

/// One number of transfers, risen to and maintained.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ConcurrencyStep {
    /// Clients that want a transfer.
    pub transfers: u32,
    /// Transfers in progress at the end of the step.
    pub in_progress: u64,
    /// Sum of the clients in each second that were served or failed.
    pub attempts: u64,
    /// Sum of those that were served.
    pub successes: u64,
    /// `successes` over `attempts`, 0 to 1; 0 without an attempt.
    pub availability: f64,
    /// How long it took until all clients had begun, and nearly all of them were answered or had failed, seconds.
    pub rise_s: f64,
    /// How long they were maintained then, seconds.
    #[serde(rename = "hold_s")]
    pub length_s: f64,
    /// Whether the number in progress was steady at the end.
    pub is_steady: bool,
    /// Time to first byte while the number was maintained.
    pub first_byte: StepTimes,
    /// Time to first byte while it rose.
    pub first_byte_of_rise: StepTimes,
    /// Time from the due start to the last byte, of transfers that ended.
    pub completion: StepTimes,
    /// Clients that came to see whether they are answered.
    pub probes: u64,
    /// Those of them that were not.
    pub probes_failed: u64,
    /// Bytes that clients got over those that they asked for by their pace; none where the step was maintained for less than two
    /// reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pace_share: Option<f64>,
    /// Share of the transfers in progress that were stalled, 0 to 1.
    pub stalled_share: f64,
    /// Failed attempts and transfers by kind, also while the number rose.
    pub errors: BTreeMap<String, u64>,
    /// An example of each kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub examples: BTreeMap<String, String>,
    /// Transfers by how often they advanced while the number was maintained; none where that was shorter than two reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advances: Option<StepAdvances>,
    /// How long it was from one read of a transfer with bytes to the next on average, seconds; none where no read had some, or the
    /// number was maintained for less than twice that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_interval_s: Option<f64>,
    /// How late the client's reads were, 99th percentile, microseconds.
    pub client_late_p99_us: u64,
    /// How late they may be, microseconds: later, the client is the limit. It follows from the time between two reads and from
    /// `client_behind_share`.
    #[serde(default = "late_limit_before")]
    pub client_late_limit_us: u64,
    /// The part of that time by which the client fell further behind with its reads: as much of their pace clients lost. Negative where
    /// it caught up; none where the step was maintained for less than four seconds with reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_behind_share: Option<f64>,
    /// CPU time of the client, cores.
    pub client_cpu_cores: f64,
    /// Memory of the client's processes, bytes.
    pub client_bytes: u64,
    /// CPU time of the server, cores; none of a server that the run has not started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpu_cores: Option<f64>,
    /// Memory of the server's processes, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_bytes: Option<u64>,
    /// Memory of the kernel since before the first step, both ends, bytes: what is missing of the available memory, without that
    /// of the programs.
    pub kernel_bytes: u64,
    /// Memory that TCP has charged, bytes.
    pub tcp_bytes: u64,
    /// Memory that programs can still get, bytes.
    pub available_bytes: u64,
    /// Counts of the kernel from the begin of the step to its end, such as `listen_overflows`.
    pub counters: BTreeMap<String, u64>,
}

/// The limit of steps that were written before they had one.
fn late_limit_before() -> u64 {
    1_000_000
}

impl Concurrency {
    /// How long it was from one read of a transfer to the next in the last step, seconds; by the pace and the window where no
    /// step shows it.
    pub fn seen_read_interval_s(&self) -> f64 {
        self.steps.iter().rev().find_map(|step| step.read_interval_s).unwrap_or(self.read_interval_s)
    }
}

impl ConcurrencyStep {
    /// User memory of the server a transfer, bytes.
    pub fn server_bytes_each(&self) -> Option<f64> {
        Some(self.each(self.server_bytes?))
    }

    /// Memory of the client a transfer, bytes.
    pub fn client_bytes_each(&self) -> f64 {
        self.each(self.client_bytes)
    }

    /// Memory of the kernel a transfer, both ends, bytes.
    pub fn kernel_bytes_each(&self) -> f64 {
        self.each(self.kernel_bytes)
    }

    /// All memory that the step takes of the machine, bytes.
    pub fn all_bytes(&self) -> u64 {
        self.kernel_bytes + self.client_bytes + self.server_bytes.unwrap_or_default()
    }

    fn each(&self, bytes: u64) -> f64 {
        bytes as f64 / self.in_progress.max(1) as f64
    }
}

/// Times of a step, microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepTimes {
    /// How many.
    pub count: u64,
    /// Median.
    pub p50_us: u64,
    /// 99th percentile.
    pub p99_us: u64,
    /// Longest.
    pub max_us: u64,
}

/// Transfers by how often they advanced, counted by the bytes of each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepAdvances {
    /// How long it was counted, milliseconds.
    pub over_ms: u64,
    /// Transfers that were in progress all that time.
    pub transfers: u64,
    /// Those that got no byte.
    pub never: u64,
    /// Those that got bytes once.
    pub once: u64,
    /// Those that got bytes twice or more often.
    pub twice: u64,
    /// The fewest bytes of one.
    pub fewest_bytes: u64,
}

/// What came after the break: all clients left, and new ones tried.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Recovery {
    /// Transfers of the step that broke.
    pub after_transfers: u32,
    /// How long until all of a second's new clients were answered within a second, seconds; none where that did not happen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_after_s: Option<f64>,
    /// How long it was watched, seconds.
    pub watched_s: f64,
}

/// Something that ran out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RanOut {
    /// What: `server`, `memory`, `descriptors`, `ports`, `client`, `tcp_mem`, `cpu`, `workers` or `backlog`.
    pub what: String,
    /// In a sentence.
    pub sentence: String,
    /// What shows it: names and values.
    pub evidence: Vec<String>,
    /// What to do.
    pub remedy: String,
}
