//! What a run and the process of its lease send one another: lines of JSON through two pipes.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::name::Name;

/// The hidden first argument by which a program becomes the process of a lease.
pub const VERB: &str = "__lease";

/// The name of the process in `ps`, so that `pkill showdown` does not end it with the run.
pub const PROCESS_NAME: &str = "sd-lease";

/// How a server is asked whether it works.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Probe {
    /// It accepts a connection. A server that hangs does, too.
    Connect,
    /// It greets a client of SMTP with 220 within a time.
    Smtp {
        /// Whether it expects the PROXY protocol.
        sends_proxy_header: bool,
        /// The time, in ms.
        within_ms: u64,
    },
    /// It answers `GET` with a status below 400 within a time.
    Http {
        /// The path of the request.
        path: String,
        /// The time, in ms.
        within_ms: u64,
    },
}

/// A server with a beacon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseMember {
    /// Its name in the backend.
    pub server: Name,
    /// Where it listens.
    pub address: SocketAddr,
    /// How it is asked.
    pub probe: Probe,
}

/// The first line to the process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseOrder {
    /// The balancer's admin socket.
    pub socket: PathBuf,
    /// The backend.
    pub backend: Name,
    /// The servers.
    pub members: Vec<LeaseMember>,
    /// The lease is lost if it is not renewed for this time, in ms.
    pub valid_ms: u64,
    /// The directory of the journal, where the process also writes what it has done.
    pub directory: PathBuf,
}

/// Every further line to the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Renewal {
    /// The run still works. Each has a number of its own.
    Renew(u64),
    /// The run has removed its servers: nothing is left to be done.
    Release,
}

/// A line from the process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeaseEvent {
    /// The beacons listen at these addresses, in the order of the members.
    Listening(Vec<SocketAddr>),
    /// The process cannot do what it is asked.
    Refused(String),
    /// The answer to a renewal.
    Renewed(u64),
    /// A server does not work: its beacon is closed for good. The lease goes on.
    Unhealthy {
        /// The server.
        server: Name,
        /// What was seen.
        reason: String,
    },
    /// The lease is lost: all beacons are closed, and the process takes the servers out.
    Lost(String),
    /// The servers are out, or what stands in the way.
    TakenOut(Vec<String>),
}

/// What the process has done after the loss of a lease: the file [`RECORD_NAME`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseRecord {
    /// Why the lease was lost.
    pub lost: String,
    /// When, in seconds since 1970.
    pub at_s: u64,
    /// What was done.
    pub done: Vec<String>,
    /// What is left.
    pub left: Vec<String>,
}

/// The file of the record, in the directory of the journal.
pub const RECORD_NAME: &str = "lease.json";
