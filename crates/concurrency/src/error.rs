//! Why a run of transfers could not begin or go on, in one line each.

use std::io;

use archive::ArchiveError;
use bakeoff::{PlanError, RunPlanError};
use load::drivers::target::TargetError;
use load::transfers::{TransferSpecError, TransfersError};
use machine::MachineError;

/// Why a run of transfers could not begin, or go on.
#[derive(Debug, thiserror::Error)]
pub enum ConcurrencyError {
    /// The request, or the plan, cannot be carried out anywhere.
    #[error("{0}")]
    Request(String),
    /// A variant, or a workload.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The URL.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The URL, for clients on other machines.
    #[error(transparent)]
    Loopback(#[from] machine::OtherLoopback),
    /// What is downloaded.
    #[error(transparent)]
    Transfer(#[from] TransferSpecError),
    /// The server has no settings for so many connections, with the descriptors that a process may have.
    #[error("{0}: raise the hard limit of open files (ulimit -Hn), or pass a smaller --to")]
    Knobs(#[from] workload::definition::ConcurrencyKnobError),
    /// The server answers with something else than a file.
    #[error("{target} answers with {reply}: name the URL of a file")]
    NoFile {
        /// The URL.
        target: String,
        /// What it answers.
        reply: String,
    },
    /// A transfer is over before a step is.
    #[error(
        "the file of {file_bytes} bytes takes {length_s:.1} s at {pace_bytes_per_s} B/s, and a step is held for {needed_s} s: \
         download a larger file (--on-op), or pass a lower --client-rate"
    )]
    ShortFile {
        /// The size of the file.
        file_bytes: u64,
        /// The pace.
        pace_bytes_per_s: f64,
        /// How long a transfer is.
        length_s: f64,
        /// How long it must be.
        needed_s: u64,
    },
    /// This machine, or that of the server, cannot carry so many transfers.
    #[error("{wanted} transfers at once are too many: {name} ({value}) allow {allows}: {remedy}")]
    Limit {
        /// How many were asked for.
        wanted: u32,
        /// What bounds them.
        name: String,
        /// Its value.
        value: String,
        /// How many it allows.
        allows: u64,
        /// What to do.
        remedy: String,
    },
    /// The machine, or the server on it.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// Another machine.
    #[error(transparent)]
    Hosts(Box<RunPlanError>),
    /// A kernel setting.
    #[error(transparent)]
    Setting(#[from] host::knobs::Error),
    /// The processes of the client.
    #[error(transparent)]
    Transfers(#[from] TransfersError),
    /// The run directory.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// A system call failed.
    #[error("cannot {what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// Ctrl-C before the first step.
    #[error("interrupted before the first step")]
    Interrupted,
}

impl From<RunPlanError> for ConcurrencyError {
    fn from(error: RunPlanError) -> Self {
        match error {
            RunPlanError::Plan(error) => Self::Plan(error),
            RunPlanError::Machine(error) => Self::Machine(error),
            other => Self::Hosts(Box::new(other)),
        }
    }
}

impl ConcurrencyError {
    /// Whether the user can correct it on the command line.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Request(_)
            | Self::Plan(_)
            | Self::Transfer(_)
            | Self::Loopback(_)
            | Self::Knobs(_)
            | Self::ShortFile { .. }
            | Self::Limit { .. } => true,
            Self::Target(error) => !matches!(error, TargetError::Silent { .. }),
            _ => false,
        }
    }
}
