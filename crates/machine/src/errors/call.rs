//! Why an agent has no answer to a request.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::host_text::host_text;

/// Why an agent has no answer. Texts of the system are in `why`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum CallError {
    /// The machine could not be sampled.
    #[error("cannot sample the machine: {why}")]
    Telemetry {
        /// The system's text.
        why: String,
    },
    /// No port could be opened.
    #[error("cannot listen on {address} ({why})")]
    Listen {
        /// The address of the hosts file.
        address: IpAddr,
        /// The system's text.
        why: String,
    },
    /// No connection could be opened.
    #[error("{why}")]
    Connect {
        /// In what way it failed.
        failure: ConnectFailure,
        /// The system's text.
        why: String,
    },
    /// What was asked of the machine or of a server has failed.
    #[error("{why}")]
    Failed {
        /// One line with what failed, why, and the remedy.
        why: String,
    },
    /// The user of the controller has interrupted it.
    #[error("interrupted")]
    Interrupted,
    /// A program could not be started.
    #[error("cannot start a process: {why}: raise the limit of processes (ulimit -u), or free memory")]
    Start {
        /// The system's text.
        why: String,
    },
    /// A connection broke.
    #[error("the connection broke during the measurement: {why}")]
    Broken {
        /// The system's text.
        why: String,
    },
}

impl CallError {
    /// The same with texts of one line.
    #[must_use]
    pub fn in_one_line(mut self) -> Self {
        match &mut self {
            Self::Telemetry { why }
            | Self::Listen { why, .. }
            | Self::Connect { why, .. }
            | Self::Failed { why }
            | Self::Start { why }
            | Self::Broken { why } => *why = host_text(why),
            Self::Interrupted => {}
        }
        self
    }
}

/// In what way a connection could not be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnectFailure {
    /// Nothing answered.
    TimedOut,
    /// The other host, or something on the way, refused it.
    Refused,
    /// This host has no route to the other.
    NoRoute,
    /// This host cannot send from its address.
    Source,
    /// Something else.
    Other,
}
