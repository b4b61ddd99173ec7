//! Why a plan could not be run, and why a server of a study cannot be loaded any more: each in one line.

use std::io;
use std::path::PathBuf;

use archive::ArchiveError;
use host::lock::LockError;
use machine::program::ProgramError;
use machine::{LocalError, MachineError};

use crate::machines::network_survey::TooFar;
use crate::plan::error::PlanError;
use crate::run::interrupted::ResumeError;
use crate::trial::{BreakingPointError, TrialError};
use power::MeterError;

/// Why a plan could not be run.
#[derive(Debug, thiserror::Error)]
pub enum RunPlanError {
    /// The plan is invalid on this machine.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A machine with servers could not be prepared: another run measures there, the user may not run a server, a program is
    /// not installed, or a kernel setting cannot be changed.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// No program for the hosts.
    #[error(transparent)]
    Program(#[from] ProgramError),
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
    /// A server of a study cannot be loaded any more.
    #[error(transparent)]
    Study(#[from] StudyError),
    /// The run cannot be resumed.
    #[error(transparent)]
    Resume(#[from] ResumeError),
    /// Downloads that were to break servers.
    #[error(transparent)]
    BreakingPoint(#[from] BreakingPointError),
    /// A meter that the user named gives no watts.
    #[error(transparent)]
    Meter(#[from] MeterError),
    /// The network takes longer than the objective permits.
    #[error(transparent)]
    TooFar(#[from] TooFar),
    /// A system call failed.
    #[error("cannot {what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// The system's error.
        source: io::Error,
    },
}

/// Why a server of a study cannot be loaded any more.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// Ctrl-C.
    #[error("interrupted")]
    Interrupted,
    /// The server has ended.
    #[error("{name} ended while it was loaded: {source}")]
    Ended {
        /// The variant.
        name: String,
        /// How.
        source: Box<MachineError>,
    },
    /// Its machine or its load failed.
    #[error("{name}: {source}")]
    Failed {
        /// The variant.
        name: String,
        /// Why.
        source: TrialError,
    },
}

impl RunPlanError {
    /// Whether it is about what the variants set on this machine: with other settings the run may begin.
    pub fn is_of_settings(&self) -> bool {
        match self {
            Self::Plan(_) => true,
            Self::Machine(MachineError::Local(error)) => {
                matches!(error, LocalError::KernelSetting(_) | LocalError::Package(_) | LocalError::Server(_))
            }
            _ => false,
        }
    }

    /// Whether another showdown is measuring on this machine.
    pub fn is_taken(&self) -> bool {
        matches!(self, Self::Machine(MachineError::Local(LocalError::Lock(LockError::Taken { .. }))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_run_on_this_machine_is_no_fault_of_a_setting() {
        let taken =
            LockError::Taken { holder: "by process 7".into(), path: "/run/lock/showdown.lock".into() };
        let taken = RunPlanError::from(MachineError::from(LocalError::from(taken)));
        assert!(taken.is_taken() && !taken.is_of_settings());
        let source = ArchiveError::DiskFull { path: "runs".into() };
        let full = RunPlanError::CutOff { dir: "runs".into(), source };
        assert!(!full.is_taken() && !full.is_of_settings());
    }
}
