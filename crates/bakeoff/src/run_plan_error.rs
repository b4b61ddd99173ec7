//! Why a plan could not be run.

use std::io;
use std::path::PathBuf;

use archive::ArchiveError;
use host::knobs;
use host::lock::LockError;
use workload::InstanceError;

use crate::interrupted_run::ResumeError;
use crate::plan_error::PlanError;

/// Why a plan could not be run.
#[derive(Debug, thiserror::Error)]
pub enum RunPlanError {
    /// The plan is invalid on this machine.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Another run is measuring on this machine.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The user may not run a server.
    #[error(transparent)]
    Rights(#[from] InstanceError),
    /// A server's program is not installed.
    #[error(transparent)]
    Package(#[from] host::packages::Error),
    /// The kernel does not have a setting, or the user may not change it.
    #[error(transparent)]
    Kernel(#[from] knobs::Error),
    /// The run directory cannot be created.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The run directory cannot be written any more. The trials that had ended are kept.
    #[error("{source}")]
    CutOff {
        /// The run directory.
        dir: PathBuf,
        /// Why.
        source: ArchiveError,
    },
    /// The run cannot be resumed.
    #[error(transparent)]
    Resume(#[from] ResumeError),
    /// A system call failed.
    #[error("cannot {what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// The system's error.
        source: io::Error,
    },
}
