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
    /// The verdict; none of a run without trials, and of a search, whose answer is its own.
    pub fn verdict(&self) -> Option<&Verdict> {
        match &self.result {
            RunResult::Trials { verdict, .. } => Some(verdict),
            RunResult::Explanation(_) | RunResult::Concurrency(_) | RunResult::Tuning(_) => None,
        }
    }
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
        let costs = prices.filter(|_| run.verdict.is_some());
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
