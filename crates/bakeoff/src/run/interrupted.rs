//! A run that was interrupted, read from its directory and locked: what counts of it, and where it goes on.

use std::fs;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use archive::model::{FactChange, Facts, PhaseKind, Plan, Resumption, Trial, TrialStatus};
use archive::{ArchiveError, Run, RunId, RunWriter, layout};
use load::hlog;
use load::record::Micros;

use crate::plan;
use crate::plan::variant_point::{VariantPoint, variant_points};
use crate::run::changes;
use crate::run::so_far::RunSoFar;
use crate::trial::add_times;

/// Why a run cannot be resumed.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// All of its trials have ended, and it has its verdict.
    #[error("{id} is finished, so nothing is left to resume: `showdown run {plan}` runs its plan again")]
    Finished {
        /// The run.
        id: RunId,
        /// The path of its plan.
        plan: String,
    },
    /// It explains its servers.
    #[error("{id} has no trials to resume: `showdown run {plan}` runs it again")]
    NoTrials {
        /// The run.
        id: RunId,
        /// The path of its plan.
        plan: String,
    },
    /// A file is damaged or missing.
    #[error("{id} cannot be resumed: {file}: {problem}")]
    Damaged {
        /// The run.
        id: RunId,
        /// The file or folder in the run directory.
        file: String,
        /// What is wrong.
        problem: String,
    },
    /// The host, the workload or a server is not the one of the first trials.
    #[error(
        "{id} is not resumed, because this has changed since it began: {changes}: undo it, or pass \
         --accept-changes, which the report will show"
    )]
    Changed {
        /// The run.
        id: RunId,
        /// The facts, each with both values.
        changes: String,
    },
    /// Another process writes the run, or its directory cannot be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
}

/// A run that can be resumed. It is locked.
pub struct InterruptedRun {
    pub(crate) plan: Plan,
    pub(crate) writer: RunWriter,
    /// The facts from its beginning; none if it was cut off before them.
    pub(crate) facts: Option<Facts>,
    pub(crate) variant_points: Vec<VariantPoint>,
    pub(crate) so_far: RunSoFar,
    /// Merged response times of the valid trials of each variant at each point.
    pub(crate) merged: Vec<Option<Micros>>,
}

impl InterruptedRun {
    /// Reads and locks a run directory.
    pub fn open(dir: &Path) -> Result<Self, ResumeError> {
        let writer = RunWriter::resume(dir)?;
        let run = Run::open(dir)?;
        let damaged = |file: &str, problem: &dyn ToString| ResumeError::Damaged {
            id: run.id.clone(),
            file: file.to_owned(),
            problem: problem.to_string(),
        };
        // The verdict is computed again, and tags have no effect.
        let is_needed = |file: &str| ![layout::VERDICT, layout::TAGS].contains(&file);
        if let Some(problem) = run.problems.iter().find(|problem| is_needed(&problem.file)) {
            return Err(damaged(&problem.file, &problem.text));
        }
        let Some(plan) = run.plan.clone() else { return Err(damaged(layout::PLAN, &"it is missing")) };
        plan::limits::check(&plan).map_err(|why| damaged(layout::PLAN, &why))?;
        let path = run.dir.join(layout::PLAN).display().to_string();
        if !plan.kind.has_trials() {
            return Err(ResumeError::NoTrials { id: run.id, plan: path });
        }
        let variant_points = variant_points(&plan);
        let so_far = RunSoFar::of(&plan, &variant_points, &run.trials)
            .map_err(|error| damaged(&error.folder, &error))?;
        if so_far.is_complete && run.verdict.is_some() {
            return Err(ResumeError::Finished { id: run.id, plan: path });
        }
        if so_far.kept.all().len() > 0 && run.facts.is_none() {
            return Err(damaged(layout::FACTS, &"it is missing"));
        }
        let mut merged: Vec<Option<Micros>> = vec![None; variant_points.len()];
        for (index, merged) in merged.iter_mut().enumerate() {
            for trial in so_far.kept.of(index).filter(|trial| trial.status == TrialStatus::Valid) {
                let Some(log) = &trial.files.load_log else { continue };
                let bytes = run
                    .path(log)
                    .and_then(|path| fs::read(&path).map_err(|source| ArchiveError::Io { path, source }))?;
                let times = hlog::response_times(&bytes, &measured_window(trial))
                    .map_err(|error| damaged(log, &error))?;
                add_times(merged, times);
            }
        }
        Ok(Self { plan, writer, facts: run.facts, variant_points, so_far, merged })
    }

    /// Its plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }
}

/// The part of a trial's load log that its value was measured in: all of it, or of a closed loop what follows the warm-up.
fn measured_window(trial: &Trial) -> Range<Duration> {
    let seconds = |seconds| Duration::try_from_secs_f64(seconds).unwrap_or_default();
    let whole = Duration::ZERO..Duration::MAX;
    let (Some(last), Some(warm_up)) = (trial.phases.last(), &trial.warm_up) else { return whole };
    if last.kind != PhaseKind::ClosedLoop {
        return whole;
    }
    // The log has the last loop only; the loops before it were warm-up.
    let before = &trial.phases[..trial.phases.len() - 1];
    let loops = before.iter().filter(|phase| phase.kind == PhaseKind::ClosedLoop);
    let before = seconds(loops.map(|phase| phase.length_s).sum());
    let discarded = seconds(warm_up.discarded_s);
    // After the end of the loop there is the drain.
    discarded.saturating_sub(before)..Duration::try_from_secs_f64(last.length_s).unwrap_or(Duration::MAX)
}

/// Compares the facts of a resumed run with those of its beginning.
pub struct FactCheck {
    /// The run.
    pub id: RunId,
    /// Whether the user accepts changes.
    pub accept_changes: bool,
    /// Whether the run is a sweep, whose variants have several points.
    pub is_sweep: bool,
}

impl FactCheck {
    /// An error names the serious changes, where they are not accepted.
    pub fn accept(&self, changes: &[FactChange], accepted: &[Resumption]) -> Result<(), ResumeError> {
        let serious = changes::serious(changes, accepted);
        if serious.is_empty() || self.accept_changes {
            return Ok(());
        }
        Err(ResumeError::Changed { id: self.id.clone(), changes: changes::in_words(&serious) })
    }
}
