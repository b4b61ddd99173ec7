//! Why a run has no answer.

use std::path::PathBuf;

use archive::ArchiveError;
use bakeoff::{PlanError, ResumeError, RunPlanError};
use concurrency::ConcurrencyError;
use explain::ExplainError;
use machine::MachineError;
use tune::TuneError;

use crate::prices::PricesError;
use crate::resume_command::resume_command;

/// Why a run has no answer: the thing, the reason and the remedy in one line.
#[derive(Debug, thiserror::Error)]
pub enum RunFailure {
    /// The machines, the plan or the run directory, of any kind of run.
    #[error(transparent)]
    Run(RunPlanError),
    /// The run directory cannot be written any more. The trials that had ended are kept.
    #[error("{why}; then {} goes on", resume_command(dir))]
    CutOff {
        /// The run directory.
        dir: PathBuf,
        /// Why.
        why: ArchiveError,
    },
    /// Nothing was explained.
    #[error(transparent)]
    Explain(ExplainError),
    /// No step of transfers could begin.
    #[error(transparent)]
    Concurrency(ConcurrencyError),
    /// A search has found nothing out.
    #[error(transparent)]
    Tune(TuneError),
    /// The user stopped it before there was anything to answer.
    #[error("interrupted {when}")]
    Interrupted {
        /// Before what.
        when: &'static str,
        /// What the user must know beside it, one sentence each.
        notes: Vec<String>,
    },
    /// The run has ended, and its directory cannot be read.
    #[error("cannot write the report (the run is kept in {})", dir.display())]
    Unreadable {
        /// The run directory.
        dir: PathBuf,
        /// Why.
        source: ArchiveError,
    },
    /// The run has ended, and what it costs cannot be computed.
    #[error("cannot write the report (the run is kept in {}): {source}", dir.display())]
    Costs {
        /// The run directory.
        dir: PathBuf,
        /// Why.
        source: PricesError,
    },
}

/// What kind of failure it is: a command line has an exit code for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The request or a file of the user's is wrong.
    Usage,
    /// The user stopped it.
    Interrupted,
    /// Nothing that was measured is valid.
    Invalid,
    /// Something failed.
    Failed,
}

impl RunFailure {
    /// What kind of failure it is.
    pub fn kind(&self) -> FailureKind {
        let is_usage = match self {
            Self::Interrupted { .. } => return FailureKind::Interrupted,
            Self::Tune(error) if error.is_invalid_measurement() => return FailureKind::Invalid,
            Self::Run(error) => is_usage(error),
            Self::Concurrency(error) => error.is_usage(),
            Self::Tune(error) => error.is_usage(),
            Self::Costs { source, .. } => matches!(source, PricesError::Targets { .. }),
            Self::CutOff { .. } | Self::Explain(_) | Self::Unreadable { .. } => false,
        };
        if is_usage { FailureKind::Usage } else { FailureKind::Failed }
    }

    /// What the user must know beside it, one sentence each.
    pub fn notes(&self) -> Vec<String> {
        match self {
            Self::Interrupted { notes, .. } => notes.clone(),
            Self::Tune(error) => error.notes(),
            _ => Vec::new(),
        }
    }

    /// The user stopped it before there was anything to keep.
    pub(crate) fn interrupted(when: &'static str) -> Self {
        Self::Interrupted { when, notes: Vec::new() }
    }
}

/// Whether the user can correct it in the request. To resume a finished run is such a mistake, too.
fn is_usage(error: &RunPlanError) -> bool {
    match error {
        RunPlanError::Plan(_) | RunPlanError::Program(_) => true,
        RunPlanError::Machine(error) => error.is_of_hosts_file(),
        RunPlanError::Resume(error) => {
            matches!(error, ResumeError::Finished { .. } | ResumeError::NoTrials { .. })
        }
        _ => false,
    }
}

impl From<RunPlanError> for RunFailure {
    fn from(error: RunPlanError) -> Self {
        match error {
            RunPlanError::Machine(MachineError::Interrupted) => Self::interrupted("before the first trial"),
            RunPlanError::CutOff { dir, source } => Self::CutOff { dir, why: source },
            error => Self::Run(error),
        }
    }
}

impl From<PlanError> for RunFailure {
    fn from(error: PlanError) -> Self {
        Self::Run(error.into())
    }
}

impl From<ResumeError> for RunFailure {
    fn from(error: ResumeError) -> Self {
        Self::Run(error.into())
    }
}

impl From<ExplainError> for RunFailure {
    fn from(error: ExplainError) -> Self {
        match error {
            ExplainError::Run(error) => error.into(),
            error => Self::Explain(error),
        }
    }
}

impl From<ConcurrencyError> for RunFailure {
    fn from(error: ConcurrencyError) -> Self {
        Self::Concurrency(error)
    }
}

impl From<TuneError> for RunFailure {
    fn from(error: TuneError) -> Self {
        if error.is_interruption() {
            return Self::Interrupted { when: "before anything was learnt", notes: error.notes() };
        }
        Self::Tune(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_names_the_command_that_goes_on() {
        let full = ArchiveError::DiskFull { path: "runs".into() };
        let cut = RunFailure::from(RunPlanError::CutOff { dir: "runs/x".into(), source: full });
        assert!(cut.to_string().ends_with("; then `showdown resume x` goes on"), "{cut}");
        assert_eq!(cut.kind(), FailureKind::Failed);
    }

    #[test]
    fn each_kind_of_failure_is_told_apart() {
        let stopped = RunFailure::from(RunPlanError::from(MachineError::Interrupted));
        assert_eq!(stopped.to_string(), "interrupted before the first trial");
        assert_eq!(stopped.kind(), FailureKind::Interrupted);
        assert_eq!(RunFailure::from(PlanError::OneVariant).kind(), FailureKind::Usage);
        let finished = ResumeError::Finished {
            id: "20261121T005139Z-nginx-7f3a".parse().expect("an id"),
            plan: "plan.toml".to_owned(),
        };
        assert_eq!(RunFailure::from(finished).kind(), FailureKind::Usage);
    }
}
