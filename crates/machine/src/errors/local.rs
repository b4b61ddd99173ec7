//! What goes wrong on this machine, in one line: what failed, why, and the remedy.

use std::io;

use host::knobs;
use host::lock::LockError;
use host::packages;
use host::squeeze::SqueezeError;
use workload::{InstanceError, PackError};

/// What this machine could not do.
#[derive(Debug, thiserror::Error)]
pub enum LocalError {
    /// Another run is measuring here.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The kernel does not have a setting, or the user may not change it.
    #[error(transparent)]
    KernelSetting(#[from] knobs::Error),
    /// A server's program is not installed.
    #[error(transparent)]
    Package(#[from] packages::Error),
    /// The user may not run a server, or it did not start, answer or stop as it should.
    #[error(transparent)]
    Server(#[from] InstanceError),
    /// The files of a workload cannot be sent to another machine.
    #[error(transparent)]
    Workload(#[from] PackError),
    /// A request is about a server that was not started here, or whose files were removed.
    #[error("there is no server of trial {trial}: report this as a bug")]
    NoServer {
        /// The trial.
        trial: u32,
    },
    /// The machine or its servers could not be sampled.
    #[error("cannot record telemetry: {0}")]
    Telemetry(#[source] io::Error),
    /// A server could not be profiled.
    #[error(transparent)]
    Profile(#[from] profile::ProfileError),
    /// A resource could not be taken from a server.
    #[error(transparent)]
    Squeeze(#[from] SqueezeError),
    /// A system call failed.
    #[error("cannot {what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// The system's error.
        source: io::Error,
    },
}
