//! What the server took, and what was full: the evidence for a bottleneck.

use serde::{Deserialize, Serialize};

/// What the server's processes took while the trial's value was measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerUsage {
    /// CPU seconds in user mode.
    pub user_cpu_s: f64,
    /// CPU seconds in the kernel.
    pub system_cpu_s: f64,
    /// The two over the time measured: 1.5 is one core and a half.
    pub cores: f64,
    /// Most resident memory at once, all processes, bytes.
    pub peak_rss_bytes: u64,
    /// Most processes at once.
    pub processes: u32,
    /// Most threads at once.
    pub threads: u32,
    /// Most file descriptors at once.
    pub descriptors: u32,
}

/// Which resource was full, on which side, and how that is known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SaturatedResource {
    /// The resource, such as `server CPU`, `client CPU`, `network`; `none` where nothing was.
    pub resource: String,
    /// How full it was, 0 to 1, where that can be said.
    pub utilisation: Option<f64>,
    /// The measurements that say so, one sentence each.
    pub evidence: Vec<String>,
    /// How full each resource that was looked at was, for the reader to see what was near.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<ResourceUse>,
}

/// How full one resource was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResourceUse {
    /// The resource.
    pub resource: String,
    /// How full, 0 to 1.
    pub utilisation: f64,
}

/// The server's own count of operations against the client's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CountCheck {
    /// What is counted, in the server's words, such as `cmd_get` or `requests`.
    pub what: String,
    /// The client's count.
    pub client: u64,
    /// The server's count.
    pub server: u64,
}

impl CountCheck {
    /// How far the server's count is off, relative to the client's; `None` where the client counted nothing.
    pub fn disagreement(&self) -> Option<f64> {
        (self.client > 0).then(|| (self.server as f64 - self.client as f64).abs() / self.client as f64)
    }
}
