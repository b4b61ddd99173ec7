//! What is asked of a load balancer while it runs. HAProxy is one, see `haproxy`; a balancer of another make would be another
//! implementation, which needs absolute weights at run time and counters by server.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::name::Name;
use crate::observation::{BalancerIdentity, ServerState};

/// The largest weight that a balancer takes.
pub const HIGHEST_WEIGHT: u32 = 256;

/// A server that is added while the balancer runs. Its weight is 0 at first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewServer {
    /// Its name in the backend.
    pub name: Name,
    /// Where it listens.
    pub address: SocketAddr,
    /// Where its health check goes, in place of its own address. None for no check.
    pub check: Option<SocketAddr>,
    /// Whether the balancer begins each connection, and each check, with the PROXY protocol, version 2.
    pub sends_proxy_header: bool,
    /// The most connections at once. None for no limit.
    pub most_connections: Option<u32>,
}

/// A server as the balancer has it now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerReading {
    /// Its name in the backend. The balancer's word: it may be any text.
    pub name: String,
    /// Where it listens: `127.0.0.1:8080`.
    pub address: String,
    /// The weight now.
    pub weight: u32,
    /// The weight that a reload would give it.
    pub initial_weight: u32,
    /// Whether it takes new requests.
    pub state: ServerState,
    /// What people or programs have set beside the weight, such as maintenance. 0 for nothing.
    pub administration: u32,
    /// Whether an agent on the server may change its weight.
    pub has_agent: bool,
}

/// The counters of a server, since the balancer started or since somebody cleared them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerCounters {
    /// Its name in the backend.
    pub name: String,
    /// Requests (sessions in TCP mode) that were sent to it (`stot`).
    pub requests: u64,
    /// In progress now (`scur`).
    pub in_progress: u64,
    /// Waiting for it now (`qcur`).
    pub queued: u64,
    /// Connections that failed (`econ`).
    pub connection_errors: u64,
    /// Answers that broke off or could not be read (`eresp`).
    pub response_errors: u64,
    /// Connections that were tried again (`wretr`).
    pub retries: u64,
    /// Requests that went to another server instead (`wredis`).
    pub redispatches: u64,
    /// Answers with a status of 500 to 599 (`hrsp_5xx`). 0 in TCP mode.
    pub status_5xx: u64,
    /// Requests that ended without an answer, and that no other counter has: at least so many, because an answer is counted at its first
    /// byte. HAProxy closes the client's connection without a word when a server closes one that was used before (`stot` without any
    /// `hrsp_…`). 0 in TCP mode.
    pub unanswered: u64,
    /// The health check's last result: `L4OK`, `L4CON`.
    pub check: String,
    /// Whether it gets requests only while no other server is up (`bck`).
    pub is_backup: bool,
}

/// All counters of a backend, from one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BackendCounters {
    /// Of each server, in the balancer's order.
    pub servers: Vec<ServerCounters>,
    /// Lines of the log that the balancer could not send.
    pub dropped_log_lines: u64,
}

/// What a server still has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remaining {
    /// Sessions in progress.
    pub sessions: u64,
    /// Requests that wait for it.
    pub queued: u64,
}

/// Why a balancer did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum BalancerError {
    /// Nothing answers at the socket.
    #[error("cannot reach the balancer by {}: {source}: check that it runs and that you may write to the socket", socket.display())]
    Unreachable {
        /// The admin socket.
        socket: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It does not answer in time, or not to the end.
    #[error("the balancer does not answer {command:?} by {}: {reason}: check whether it is overloaded or stopped", socket.display())]
    Silent {
        /// The admin socket.
        socket: PathBuf,
        /// What was asked.
        command: String,
        /// What came instead.
        reason: String,
    },
    /// It says no.
    #[error("the balancer refuses {command:?}: {answer}")]
    Refused {
        /// What was asked.
        command: String,
        /// Its words, in one line.
        answer: String,
    },
    /// It answers something else than was asked.
    #[error("the answer to {command:?} cannot be read: {reason}: is it HAProxy 2.6 or newer?")]
    Unreadable {
        /// What was asked.
        command: String,
        /// What is wrong with the answer.
        reason: String,
    },
    /// It says yes, and the weight is another one.
    #[error(
        "the weight of {server} was set to {requested} and is {stored}: somebody else changes it, or the backend's algorithm does not take it"
    )]
    NotTaken {
        /// The server.
        server: String,
        /// What was set.
        requested: u32,
        /// What was read back.
        stored: u32,
    },
    /// It does not know the server, or no longer.
    #[error("the balancer has no server {server}: it was removed, or the balancer was reloaded")]
    NoServer {
        /// Backend and server.
        server: String,
    },
}

impl BalancerError {
    /// Whether nobody listens at the admin socket: the balancer has ended. Other errors of a connection, such as a missing right or a full
    /// queue, say nothing of that.
    pub fn has_ended(&self) -> bool {
        matches!(self, Self::Unreachable { source, .. }
            if matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused))
    }
}

/// A load balancer with one backend whose weights are set while it runs.
pub trait Balancer {
    /// Which process answers, how it chooses servers, and the counters of all servers of the backend.
    fn now(&mut self) -> Result<(BalancerIdentity, BackendCounters), BalancerError>;

    /// Which process answers, and how it chooses servers.
    fn identity(&mut self) -> Result<BalancerIdentity, BalancerError> {
        Ok(self.now()?.0)
    }

    /// All servers of the backend, with their weights.
    fn read(&mut self) -> Result<Vec<ServerReading>, BalancerError>;

    /// Gives a server an absolute weight, and reads it back.
    fn set(&mut self, server: &Name, weight: u32) -> Result<(), BalancerError>;

    /// What a server still has to do. No session is ever cut.
    fn remaining(&mut self, server: &Name) -> Result<Remaining, BalancerError>;

    /// The counters of all servers of the backend.
    fn counters(&mut self) -> Result<BackendCounters, BalancerError> {
        Ok(self.now()?.1)
    }

    /// Adds a server with weight 0, and lets it take requests as soon as it has a weight.
    fn add(&mut self, server: &NewServer) -> Result<(), BalancerError>;

    /// Takes a server out of service: it gets no request, whatever its weight is, also if its health check succeeds. Its sessions go on.
    fn withdraw(&mut self, server: &Name) -> Result<(), BalancerError>;

    /// Removes a server that was withdrawn and has no session.
    fn remove(&mut self, server: &Name) -> Result<(), BalancerError>;
}
