//! The end that all kinds of runs have in common: what is added to the run directory when a run has ended, and its report.

use std::path::{Path, PathBuf};

use archive::model::{Concurrency, Explanation, RunKind, TuningRecord, Verdict};
use archive::{ArchiveError, Run};
use cost::pricing::CostReport;
use explain::explain_trials;
use report::ReportError;

use crate::failure::RunFailure;
use crate::prices::Prices;

/// The answer of a run.
#[derive(Debug)]
pub struct RunAnswer {
    /// The run as its directory has it.
    pub run: Run,
    /// What was found.
    pub result: RunResult,
    /// What it costs, where there are prices.
    pub costs: Option<CostReport>,
    /// The path of its report. On a full disk there is an answer, too.
    pub report: Result<PathBuf, ReportProblem>,
    /// Whether the user stopped it.
    pub interrupted: bool,
    /// Why it ended before its end, and what is kept; none if it did not, or if the user stopped it.
    pub stopped: Option<String>,
    /// Kernel settings that do not have their old value after it, one sentence each.
    pub unrestored: Vec<String>,
}

/// What was found.
#[derive(Debug)]
pub enum RunResult {
    /// The verdict of trials.
    Trials {
        /// The kind of their plan.
        kind: RunKind,
        /// The verdict.
        verdict: Verdict,
    },
    /// What limits servers.
    Explanation(Explanation),
    /// How many transfers a server holds.
    Concurrency(Concurrency),
    /// What makes a server faster.
    Tuning(TuningRecord),
}

impl RunAnswer {
    /// Whether it stopped before any trial counted: why it stopped is then all that there is to say.
    pub fn stopped_without_value(&self) -> bool {
        self.stopped.is_some() && self.verdict().is_some_and(has_no_value)
    }

    /// The verdict; none of a run without trials, and of a search, whose answer is its own.
    pub fn verdict(&self) -> Option<&Verdict> {
        match &self.result {
            RunResult::Trials { verdict, .. } => Some(verdict),
            RunResult::Explanation(_) | RunResult::Concurrency(_) | RunResult::Tuning(_) => None,
        }
    }
}

/// Whether no trial of a verdict counts.
pub(crate) fn has_no_value(verdict: &Verdict) -> bool {
    verdict.variants.iter().all(|variant| variant.valid == 0)
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum ReportProblem {
    /// What belongs to it cannot be written to the run directory.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// It cannot be made or written.
    #[error(transparent)]
    Report(#[from] ReportError),
}

/// A run that has ended, before its report.
pub(crate) struct EndedRun {
    pub dir: PathBuf,
    pub result: RunResult,
    pub interrupted: bool,
    pub stopped: Option<String>,
    pub unrestored: Vec<String>,
}

impl EndedRun {
    /// Writes what probably limited the servers of trials, what a search has found, and the report.
    pub fn answer(self, prices: Option<&Prices>) -> Result<RunAnswer, RunFailure> {
        let Self { dir, result, interrupted, stopped, unrestored } = self;
        let mut run =
            open(&dir, &result).map_err(|source| RunFailure::Unreadable { dir: dir.clone(), source })?;
        let added = add(&mut run, &result);
        let costs = if run.verdict.is_some() { prices } else { None };
        let costs = costs.map(|prices| prices.costs(std::slice::from_ref(&run))).transpose();
        let costs = costs.map_err(|source| RunFailure::Costs { dir, source })?;
        let report =
            added.map_err(ReportProblem::from).and_then(|()| Ok(report::write_html(&run, costs.as_ref())?));
        Ok(RunAnswer { run, result, costs, report, interrupted, stopped, unrestored })
    }
}

/// Reads the run; trials with what other sessions of their plan say.
fn open(dir: &Path, result: &RunResult) -> Result<Run, ArchiveError> {
    let run = Run::open(dir)?;
    Ok(match result {
        RunResult::Trials { .. } => Run { sessions: archive::sessions(dir), ..run },
        RunResult::Explanation(_) | RunResult::Concurrency(_) | RunResult::Tuning(_) => run,
    })
}

/// Adds what follows from the trials of a run, and from a search.
fn add(run: &mut Run, result: &RunResult) -> Result<(), ArchiveError> {
    match result {
        RunResult::Trials { .. } => explain(run),
        RunResult::Tuning(record) => {
            explain(run)?;
            run.tune(record.clone())
        }
        RunResult::Explanation(_) | RunResult::Concurrency(_) => Ok(()),
    }
}

fn explain(run: &mut Run) -> Result<(), ArchiveError> {
    explain_trials(run).map_or(Ok(()), |explanation| run.explain(explanation))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ended::{EndError, RunStatus};

    /// A comparison that has ended, in a directory of its own.
    fn comparison(root: &Path) -> EndedRun {
        let id = archive::example::comparison(root, 7).expect("a run");
        let dir = root.join(id.as_str());
        let verdict = Run::open(&dir).expect("it can be read").verdict.expect("it has a verdict");
        let result = RunResult::Trials { kind: RunKind::Compare, verdict };
        EndedRun { dir, result, interrupted: false, stopped: None, unrestored: Vec::new() }
    }

    #[test]
    fn a_run_that_has_ended_has_its_report_and_its_status() -> Result<(), Box<dyn std::error::Error>> {
        let root = tempfile::tempdir()?;
        let run = comparison(root.path());
        let report = run.dir.join(report::FILE_NAME);
        let answer = run.answer(None)?;
        assert!(report.is_file() && answer.report.as_ref().is_ok_and(|path| *path == report));
        let is_open = answer.verdict().is_some_and(|verdict| {
            verdict.comparisons.iter().all(|comparison| comparison.verdict.is_inconclusive())
        });
        let expected = if is_open { RunStatus::Invalid } else { RunStatus::Success };
        assert_eq!(answer.ended()?, expected);
        let stopped_by_user = EndedRun { interrupted: true, ..comparison(root.path()) };
        assert_eq!(stopped_by_user.answer(None)?.ended()?, RunStatus::Interrupted);
        Ok(())
    }

    #[test]
    fn what_went_wrong_is_said_with_what_is_kept_the_first_reason_first()
    -> Result<(), Box<dyn std::error::Error>> {
        let root = tempfile::tempdir()?;
        let unrestored = vec!["kernel setting vm.swappiness is not restored to 60: it is gone".to_owned()];
        let run = EndedRun { unrestored: unrestored.clone(), ..comparison(root.path()) };
        let dir = run.dir.display().to_string();
        let error = run.answer(None)?.ended().expect_err("a setting is not restored");
        assert_eq!(error.to_string(), format!("{} (the run is kept in {dir})", unrestored[0]));
        let stopped = Some("nginx did not start".to_owned());
        let error = EndedRun { stopped, unrestored, ..comparison(root.path()) }.answer(None)?.ended();
        assert!(matches!(error, Err(EndError::Stopped(why)) if why == "nginx did not start"));
        let gone = EndedRun { dir: root.path().join("gone"), ..comparison(root.path()) };
        let failure = gone.answer(None).expect_err("there is no directory");
        assert!(matches!(failure, RunFailure::Unreadable { .. }), "{failure}");
        Ok(())
    }
}
