//! Why a plan could not be run, as the command line says it: with the exit code, and the command that goes on.

use bakeoff::{ResumeError, RunPlanError};
use machine::MachineError;

use crate::exit::{InterruptedError, usage};
use crate::show::resume::resume_command;

/// The error of a run that cannot be resumed: to resume a finished run is a mistake in the command line.
pub fn why_not_resumed(error: ResumeError) -> anyhow::Error {
    match error {
        ResumeError::Finished { .. } | ResumeError::NoTrials { .. } => usage(error),
        error => error.into(),
    }
}

/// The error of a run, with the command that goes on with it.
pub fn in_words(error: RunPlanError) -> anyhow::Error {
    match error {
        RunPlanError::Plan(error) => usage(error),
        RunPlanError::Program(error) => usage(error),
        RunPlanError::Machine(error) if error.is_of_hosts_file() => usage(error),
        RunPlanError::Machine(MachineError::Interrupted) => InterruptedError("before the first trial").into(),
        RunPlanError::Resume(error) => why_not_resumed(error),
        RunPlanError::CutOff { dir, source } => {
            anyhow::anyhow!("{source}; then {} goes on", resume_command(&dir))
        }
        error => error.into(),
    }
}
