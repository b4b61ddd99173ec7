//! Resources: what the server used, and which resource was saturated. This is the evidence for a bottleneck.

use serde::{Deserialize, Serialize};

/// What the server's processes used while the trial's value was measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerUsage {
    /// CPU seconds in user mode.
    pub user_cpu_s: f64,
    /// CPU seconds in the kernel.
    pub system_cpu_s: f64,
    /// CPU seconds of both kinds per second: 1.5 is one and a half cores.
    pub cores: f64,
    /// Peak resident memory of all processes, bytes.
    pub peak_rss_bytes: u64,
    /// Peak number of processes.
    pub processes: u32,
    /// Peak number of threads.
    pub threads: u32,
    /// Peak number of file descriptors.
    pub descriptors: u32,
    /// The same of each part of a server of several processes, in the order of their start; empty for any other, and in runs of earlier
    /// versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartUsage>,
}

/// What a part of a server used in the same time: its database, its cache, its own process.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PartUsage {
    /// The part.
    pub part: String,
    /// CPU seconds in user mode.
    pub user_cpu_s: f64,
    /// CPU seconds in the kernel.
    pub system_cpu_s: f64,
    /// CPU seconds of both kinds per second.
    pub cores: f64,
    /// Peak resident memory of its processes, bytes.
    pub peak_rss_bytes: u64,
    /// Peak number of its processes.
    pub processes: u32,
    /// Peak number of its threads.
    pub threads: u32,
}

/// What the server used of its CPUs for each operation, where that was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CpuTimePerOperation {
    /// Operations per second: those that were offered, or that a closed loop carried out.
    pub rate_per_s: f64,
    /// CPU seconds of the server in its slices, from the kernel's clock of each process. Includes the time of children that
    /// ended, in steps of 10 ms.
    pub cpu_s: f64,
    /// Operations that ended in the same time, failed ones included.
    pub operations: u64,
    /// CPU time an operation in user mode, microseconds. The kernel counts both modes in ticks of 10 ms, so only their shares
    /// are from its counters.
    pub user_us: f64,
    /// CPU time an operation in the kernel, microseconds.
    pub system_us: f64,
    /// CPU seconds of the server between its slices, which are in none of the above.
    pub between_s: f64,
    /// CPU time an operation in each slice, microseconds, in the order of the rounds; 0 for a slice without one. Empty in runs of
    /// earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slices_us: Vec<f64>,
    /// CPU seconds that the hypervisor took from the server's CPUs in its slices, in steps of 10 ms; 0 where the kernel does not
    /// report it, and in runs of earlier versions. The fact `kernel.stolen_time` says whether it is in the CPU time.
    #[serde(default)]
    pub stolen_s: f64,
    /// What other programs used of the server's CPUs in its slices, in cores, by the kernel's ticks of 10 ms; with the client, if it
    /// shares these CPUs. Absent where the kernel does not report it, and in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others_cores: Option<f64>,
    /// What each part of a server of several processes has of the CPU time an operation, in the order of their start; empty for any other,
    /// and in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartCpuTime>,
}

/// The CPU time of one part of a server for each operation of the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartCpuTime {
    /// The part.
    pub part: String,
    /// CPU time an operation in both modes, microseconds. All parts add up to that of the server.
    pub each_us: f64,
}

impl CpuTimePerOperation {
    /// CPU time an operation in both modes, microseconds.
    pub fn each_us(&self) -> f64 {
        self.user_us + self.system_us
    }
}

/// Which resource was saturated, with the evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SaturatedResource {
    /// The resource, such as `server CPU`, `client CPU` or `network`; `none` where no resource was saturated.
    pub resource: String,
    /// Its utilisation, 0 to 1, where it is known.
    pub utilisation: Option<f64>,
    /// The measurements that show it, one sentence each.
    pub evidence: Vec<String>,
    /// Utilisation of every resource that was checked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<ResourceUse>,
}

/// Utilisation of one resource.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResourceUse {
    /// The resource.
    pub resource: String,
    /// Its utilisation, 0 to 1.
    pub utilisation: f64,
}

/// A counter of the server beside the client's own count of the same operations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CountCheck {
    /// The server's name for the counter, such as `cmd_get` or `requests`.
    pub counter: String,
    /// The client's count.
    pub client: u64,
    /// Those of the client's that no reply ended, such as requests on a connection that the server had just closed. The server may
    /// have counted them or not.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unanswered: u64,
    /// The server's count.
    pub server: u64,
}

impl CountCheck {
    /// Distance of the server's count from the client's, with or without the unanswered operations, relative to the client's.
    /// `None` where the client counted nothing.
    pub fn disagreement(&self) -> Option<f64> {
        let expected = self.server.clamp(self.client.saturating_sub(self.unanswered), self.client);
        (self.client > 0).then(|| self.server.abs_diff(expected) as f64 / self.client as f64)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(super) fn is_zero(number: &u64) -> bool {
    *number == 0
}
