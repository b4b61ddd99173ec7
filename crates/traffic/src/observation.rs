//! One second of live traffic as plain data, and what is asked of the balancer: the interface of the part that observes and acts
//! (`balancer`, `lease`, `journal`) and the part that decides (`rollout`, `ramp`). Neither part knows more of the other.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::name::Name;

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
    /// The process that opened the admin socket: the master, which a reload leaves and a restart ends. None if it cannot be told.
    #[serde(default)]
    pub master: Option<u32>,
}

/// Whether the balancer sends new requests to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

impl fmt::Display for ServerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::Draining => "draining",
            Self::Maintenance => "in maintenance",
            Self::Absent => "not in the backend",
        })
    }
}

/// Requests that failed in a window, by kind. A request counts once for each kind that the balancer counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
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

/// What the log of a mail server says of one window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MailWindow {
    /// Whether all of the log was read.
    pub log_arrived: bool,
    /// Lines of any kind.
    pub lines: u64,
    /// Messages that it accepted, and recipients or clients that it turned away.
    pub messages: u64,
    /// Those that it turned away with 4xx, and messages whose delivery has failed for the first time and will be tried again.
    pub deferred: u64,
    /// Those that it turned away with 5xx, and messages that were bounced.
    pub rejected: u64,
    /// Deliveries of a message to a recipient that had it before, from this server or another one.
    pub delivered_twice: u64,
    /// Messages that it has accepted and not delivered, at the end of the window.
    pub queued: u64,
    /// The age of the oldest of them, in seconds.
    pub oldest_queued_s: u64,
    /// Those that are older than the plan allows.
    pub overdue: u64,
}

/// What was seen of one server in one window. Counts are of this window alone: differences of the balancer's counters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerWindow {
    /// Its name in the backend.
    pub server: String,
    /// Where it listens, as the balancer says it: `127.0.0.1:8080`.
    pub address: String,
    /// The weight, read back from the balancer. None if the balancer did not answer or does not know the server.
    pub weight: Option<u32>,
    /// None if the balancer did not answer.
    pub state: Option<ServerState>,
    /// Whether it gets requests only while no other server is up.
    pub is_backup: bool,
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
    /// What its own log says, if it is a mail server whose log is in the plan.
    pub mail: Option<MailWindow>,
}

impl ServerWindow {
    /// A window in which nothing was seen of a server.
    pub fn nothing(server: &str) -> Self {
        Self {
            server: server.to_owned(),
            address: String::new(),
            weight: None,
            state: None,
            is_backup: false,
            requests: 0,
            failed: Failures::default(),
            in_progress: 0,
            log_lines: 0,
            response_ms: Vec::new(),
            counters_arrived: false,
            log_arrived: false,
            mail: None,
        }
    }

    /// Whether the balancer sends new requests to it: it is up, has a weight and is no backup.
    pub fn takes_traffic(&self) -> bool {
        self.state == Some(ServerState::Up) && self.weight.unwrap_or(0) > 0 && !self.is_backup
    }

    /// Whether all data of this window arrived.
    pub fn has_arrived(&self) -> bool {
        self.counters_arrived && self.log_arrived && self.mail.is_none_or(|mail| mail.log_arrived)
    }

    /// Requests that were answered later than the objective allows.
    pub fn late(&self, objective_ms: u32) -> u64 {
        self.response_ms.iter().filter(|ms| **ms > objective_ms).count() as u64
    }
}

/// A change at the balancer that this run has not made. The balancer does not say who did it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Another process answers, and the old one still runs, or both have the same master process: a reload.
    Reloaded {
        /// The process before.
        before: u32,
        /// The process now.
        now: u32,
    },
    /// Another process answers, and the old one has ended, with the master process that it had.
    Restarted {
        /// The process before.
        before: u32,
        /// The process now.
        now: u32,
    },
    /// Another process answers, and the old one has ended. There is no master process that tells a reload from a restart.
    Replaced {
        /// The process before.
        before: u32,
        /// The process now.
        now: u32,
    },
    /// The backend chooses servers by another algorithm.
    Algorithm {
        /// The algorithm now.
        now: String,
    },
    /// A server has another weight.
    Weight {
        /// The backend.
        backend: String,
        /// The server.
        server: String,
        /// The weight that it should have.
        expected: u32,
        /// The weight that it has.
        now: u32,
    },
    /// A server was switched off, drained or switched on.
    Administration {
        /// The backend.
        backend: String,
        /// The server.
        server: String,
        /// Its state now.
        now: ServerState,
    },
    /// A server has another address.
    Address {
        /// The server.
        server: String,
        /// Its address before.
        before: String,
        /// Its address now.
        now: String,
    },
    /// A server is new.
    Added(String),
    /// A server is gone.
    Removed(String),
}

impl Change {
    /// The server that was changed. None if it was the balancer.
    pub fn server(&self) -> Option<&str> {
        match self {
            Self::Reloaded { .. }
            | Self::Restarted { .. }
            | Self::Replaced { .. }
            | Self::Algorithm { .. } => None,
            Self::Weight { server, .. }
            | Self::Administration { server, .. }
            | Self::Address { server, .. }
            | Self::Added(server)
            | Self::Removed(server) => Some(server),
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reloaded { before, now } => write!(
                f,
                "HAProxy was reloaded: pid {now} has taken over from pid {before}; weights are those of the configuration again"
            ),
            Self::Restarted { before, now } => write!(
                f,
                "HAProxy was restarted: pid {now} answers, and pid {before} has ended; weights are those of the configuration again"
            ),
            Self::Replaced { before, now } => write!(
                f,
                "HAProxy was reloaded or restarted: pid {now} answers, and pid {before} has ended; weights are those of the \
                 configuration again"
            ),
            Self::Algorithm { now } => {
                write!(f, "somebody else has changed the backend's algorithm to {now:?}")
            }
            Self::Weight { backend, server, expected, now } => write!(
                f,
                "somebody else has set the weight of {server} from {expected} to {now} (`set server {backend}/{server} weight {now}`)"
            ),
            Self::Administration { backend, server, now } => {
                write!(
                    f,
                    "somebody else has changed the state of {server}: it is {now} (`set server {backend}/{server} state`)"
                )
            }
            Self::Address { server, before, now } => {
                write!(f, "somebody else has changed the address of {server} from {before} to {now}")
            }
            Self::Added(server) => write!(f, "somebody else has added the server {server}"),
            Self::Removed(server) => write!(f, "somebody else has removed the server {server}"),
        }
    }
}

/// What the part that observes and acts knows to be wrong, with its line for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Alarm {
    /// Somebody else has changed something.
    #[error("{0}")]
    Changed(Change),
    /// The lease asks a server itself, and the server does not work.
    #[error("{server} does not work: {reason}")]
    DoesNotWork {
        /// The server.
        server: Name,
        /// What was seen.
        reason: String,
    },
    /// The balancer no longer hears from the run, or the run not from the process of its lease.
    #[error("the lease on the balancer is lost: {0}")]
    LeaseLost(String),
    /// What the process of the lease has done after the loss, or what stands in its way.
    #[error("{0}")]
    TakenOut(String),
    /// Nobody answers at the admin socket, and the process that did has ended.
    #[error("the balancer does not answer, and its process {pid} has ended")]
    BalancerEnded {
        /// The process.
        pid: u32,
    },
    /// The receiver of the log is closed.
    #[error("the log is no longer received at {address}")]
    LogClosed {
        /// Where it was received.
        address: String,
    },
    /// The balancer logs nothing about a server that it sends requests to.
    #[error(
        "no line of the log about {server} has arrived, and HAProxy has counted {requests} requests: its configuration needs a line \
         `log` with this run's address and `log-format \"{format}\"` (in mode tcp: `option tcplog`)"
    )]
    NoLog {
        /// The server.
        server: String,
        /// What the balancer has counted.
        requests: u64,
        /// The format that is read.
        format: &'static str,
    },
    /// The log has lost lines, or lines of somebody else.
    #[error(
        "the log has {lines} lines about {server}, and HAProxy has counted {requests} requests: lines are lost, or somebody else sends \
         lines; is the address of the log used by one run alone?"
    )]
    LogDisagrees {
        /// The server.
        server: String,
        /// Lines of the log.
        lines: u64,
        /// What the balancer has counted.
        requests: u64,
    },
    /// The balancer, the journal or the record does not do what it is asked: the error in one line.
    #[error("{0}")]
    NotDone(String),
    /// A person ends the run.
    #[error("aborted by {by}")]
    Aborted {
        /// The process, and its user.
        by: String,
    },
}

/// One second behind the balancer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// Number of the window, from 0. Windows that could not be observed have a number, too, and no data.
    pub second: u64,
    /// None if the balancer did not answer.
    pub identity: Option<BalancerIdentity>,
    /// All servers of the backend, also those that do not take part, in the balancer's order.
    pub servers: Vec<ServerWindow>,
    /// The process of before a reload, while it finishes its sessions. Nobody can ask it how many they are: its socket is gone.
    pub old_process: Option<u32>,
    /// What the observing part knows to be wrong. Each ends the run.
    pub alarms: Vec<Alarm>,
}

impl Window {
    /// The window of a server.
    pub fn server(&self, name: &str) -> Option<&ServerWindow> {
        self.servers.iter().find(|server| server.server == name)
    }
}

/// What is asked of the balancer. The acting part journals it, does it, and reads it back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Gives a server this absolute weight, from 0 to 256.
    SetWeight {
        /// Its name in the backend.
        server: Name,
        /// The weight.
        weight: u32,
    },
    /// Nothing more is asked: the journal ends, and the lease is given back.
    Done,
}
