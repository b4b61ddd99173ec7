//! One second of live traffic as plain data, and what is asked of the balancer: the interface of the part that observes and acts
//! (`balancer`, `lease`, `journal`) and the part that decides (`rollout`, `ramp`). Neither part knows more of the other.

use serde::{Deserialize, Serialize};

/// Which process of a balancer answers. A reload or a restart changes `pid` or `started_s`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BalancerIdentity {
    /// Process ID, as the balancer says it.
    pub pid: u32,
    /// Start of the process in seconds since 1970, as the balancer says it.
    pub started_s: u64,
    /// How the backend chooses a server: `roundrobin`.
    pub algorithm: String,
    /// The balancer's name and version: `HAProxy 2.6.12`.
    pub version: String,
}

/// Whether the balancer sends new requests to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerState {
    /// It does, as far as the weight allows.
    Up,
    /// Its health check fails.
    Down,
    /// It takes old sessions only.
    Draining,
    /// Somebody has switched it off.
    Maintenance,
    /// The balancer does not know the server.
    Absent,
}

/// Requests that failed in a window, by kind. A request counts once for each kind that the balancer counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failures {
    /// Connections that the server refused, or that were not established in time.
    pub refused: u64,
    /// Connections that ended before the answer did, and requests that got none.
    pub reset: u64,
    /// Answers with a status of 500 to 599.
    pub status_5xx: u64,
    /// Requests that another server answered, because this one did not take them. Users saw no failure.
    pub redispatched: u64,
}

impl Failures {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.refused + self.reset + self.status_5xx + self.redispatched
    }
}

/// What was seen of one server in one window. Counts are of this window alone: differences of the balancer's counters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerWindow {
    /// Its name in the backend.
    pub server: String,
    /// Where it listens, as the balancer says it: `127.0.0.1:8080`.
    pub address: String,
    /// The weight, read back from the balancer. None if the balancer did not answer or does not know the server.
    pub weight: Option<u32>,
    /// None if the balancer did not answer.
    pub state: Option<ServerState>,
    /// Requests that the balancer sent to it and that ended or failed in this window (HAProxy: `stot`).
    pub requests: u64,
    /// Requests that failed.
    pub failed: Failures,
    /// Sessions in progress at the end of the window (HAProxy: `scur`).
    pub in_progress: u64,
    /// Lines of the log about this server.
    pub log_lines: u64,
    /// The response time of each request that was answered, from the log, in ms, in any order.
    pub response_ms: Vec<u32>,
    /// Whether the balancer's counters were read in this window, and are a continuation of the window before.
    pub counters_arrived: bool,
    /// Whether the log can arrive: its receiver is open and the balancer has dropped no line in this window. A server without requests
    /// has no line, and its log has arrived all the same.
    pub log_arrived: bool,
}

impl ServerWindow {
    /// Requests that were answered later than the objective allows.
    pub fn late(&self, objective_ms: u32) -> u64 {
        self.response_ms.iter().filter(|ms| **ms > objective_ms).count() as u64
    }
}

/// One second behind the balancer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Number of the window, from 0. Windows that could not be observed have a number, too, and no data.
    pub second: u64,
    /// None if the balancer did not answer.
    pub identity: Option<BalancerIdentity>,
    /// All servers of the backend, also those that do not take part, in the balancer's order.
    pub servers: Vec<ServerWindow>,
    /// What the observing part knows to be wrong, one line each: "the candidate's process has ended". Each stops the run.
    pub alarms: Vec<String>,
}

impl Window {
    /// The window of a server.
    pub fn server(&self, name: &str) -> Option<&ServerWindow> {
        self.servers.iter().find(|server| server.server == name)
    }
}

/// What is asked of the balancer. The acting part journals it, does it, and reads it back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Gives a server this absolute weight, from 0 to 256.
    SetWeight {
        /// Its name in the backend.
        server: String,
        /// The weight.
        weight: u32,
    },
    /// Waits until a server has no session in progress. Sessions are never cut. The server has weight 0 by then.
    Drain {
        /// Its name in the backend.
        server: String,
    },
    /// Nothing more is asked: the journal ends, and the lease is given back.
    Done,
}
