//! One phase of a trial: what was offered, what came back, and how the client fared.

use super::{QuantileCurve, Times};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a phase is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseKind {
    /// One reply of every operation is checked.
    Check,
    /// The data is loaded.
    Populate,
    /// Load until the server has settled; nothing of it counts.
    WarmUp,
    /// The closed loop: most throughput.
    ClosedLoop,
    /// A step of the search for capacity.
    SearchStep,
    /// The measurement that the trial's value is taken from.
    Measure,
    /// A step of a latency curve.
    CurveStep,
    /// The fixed load beside the others, as long as they lasted.
    Background,
}

/// A phase that made load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// What it is for.
    pub kind: PhaseKind,
    /// Seconds from the trial's start.
    pub start_s: f64,
    /// Seconds that it lasted.
    pub length_s: f64,
    /// Operations a second that fell due; `None` in a closed loop, which offers what is taken.
    pub offered_per_s: Option<f64>,
    /// Operations a second that ended well.
    pub achieved_per_s: f64,
    /// Operations that ended well.
    pub requests: u64,
    /// Failures by kind.
    pub errors: BTreeMap<String, u64>,
    /// From the intended start.
    pub response_time_us: Times,
    /// From the actual send.
    pub service_time_us: Times,
    /// Response time as a line, where this phase is one that a reader looks at closely.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub response_time_curve_us: QuantileCurve,
    /// The same by operation, where the mix has several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<OperationTimes>,
    /// TLS handshakes, where connections are secured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Handshakes>,
    /// What the driver counted besides, where it counted any: messages, refusals by code, deadlocks.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, u64>,
    /// How the client fared.
    pub client: ClientHealth,
    /// Whether the objective was met; `None` without one.
    pub meets_slo: Option<bool>,
    /// Whether the numbers may be believed.
    pub valid: bool,
    /// Why not, one line each.
    pub reasons: Vec<String>,
}

/// One operation of the mix during a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OperationTimes {
    /// Its name in the workload.
    pub name: String,
    /// Operations that ended well.
    pub requests: u64,
    /// Operations that failed.
    pub failed: u64,
    /// From the intended start.
    pub response_time_us: Times,
}

/// TLS handshakes of a phase, those with which its connections were opened included.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Handshakes {
    /// All of them.
    pub handshakes: u64,
    /// Those that resumed a session.
    pub resumed: u64,
    /// Their times, apart from connecting.
    pub handshake_us: Times,
}

/// The client during a phase, measured as strictly as the server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientHealth {
    /// Share of its cores that it needed, 0 to 1.
    pub utilisation: f64,
    /// The client's own delay of an operation, 99th percentile, microseconds: how late sends were (lag) or how
    /// long replies lay unread (pickup), whichever is larger.
    pub delay_p99_us: u64,
}
