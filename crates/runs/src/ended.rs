//! How a run ended that has an answer: what an exit code says of it.

use std::path::PathBuf;

use archive::model::RunKind;

use crate::answer::{ReportProblem, RunAnswer, RunResult};

/// How a run ended that did its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunStatus {
    /// Its answer is valid.
    Success,
    /// Nothing can be concluded: no trial is valid, the answer is open, or the client was the limit.
    Invalid,
    /// The user stopped it. What was measured is in its answer.
    Interrupted,
}

/// What went wrong with a run that has an answer.
#[derive(Debug, thiserror::Error)]
pub enum EndError {
    /// It ended before its end.
    #[error("{0}")]
    Stopped(String),
    /// Kernel settings could not be put back.
    #[error("{} (the run is kept in {})", problems.join("; "), dir.display())]
    Unrestored {
        /// One sentence each.
        problems: Vec<String>,
        /// The run directory.
        dir: PathBuf,
    },
    /// The report is not written.
    #[error("cannot write the report (the run is kept in {})", dir.display())]
    Report {
        /// The run directory.
        dir: PathBuf,
        /// Why.
        source: ReportProblem,
    },
}

impl RunAnswer {
    /// How it ended. Ask when the answer has been shown: there is one whatever went wrong.
    pub fn ended(self) -> Result<RunStatus, EndError> {
        let dir = self.run.dir;
        if let Some(why) = self.stopped {
            return Err(EndError::Stopped(why));
        }
        if !self.unrestored.is_empty() {
            return Err(EndError::Unrestored { problems: self.unrestored, dir });
        }
        self.report.map_err(|source| EndError::Report { dir, source })?;
        Ok(match (self.interrupted, self.result.is_valid()) {
            (true, _) => RunStatus::Interrupted,
            (false, true) => RunStatus::Success,
            (false, false) => RunStatus::Invalid,
        })
    }
}

impl RunResult {
    /// Whether something can be concluded.
    fn is_valid(&self) -> bool {
        match self {
            Self::Trials { kind: RunKind::Compare, verdict } => {
                verdict.comparisons.iter().any(|comparison| !comparison.verdict.is_inconclusive())
            }
            Self::Trials { kind: RunKind::Sweep | RunKind::Explain | RunKind::Concurrency, verdict } => {
                verdict.variants.iter().any(|variant| variant.valid > 0)
            }
            Self::Explanation(_) | Self::Tuning(_) => true,
            Self::Concurrency(found) => found.client_limit.is_none(),
        }
    }
}
