//! What runs the trials of a run. Tests replace it, so order, stopping and recording are tested without a server.

use std::path::PathBuf;
use std::time::Duration;

use archive::model::{Facts, Plan, Verdict};
use archive::{ArchiveError, TrialWriter};

use crate::event::Observer;
use crate::plan::trial_order::ScheduledTrial;
use crate::plan::variant_point::VariantPoint;
use crate::run::error::RunPlanError;
use crate::search_start::SearchStart;
use crate::trial::FinishedTrial;

/// A trial that is to be run.
pub struct TrialSlot<'a> {
    /// Its place in the run.
    pub scheduled: &'a ScheduledTrial,
    /// What is tested.
    pub variant_point: &'a VariantPoint,
    /// Writes its files.
    pub writer: &'a TrialWriter,
    /// What earlier trials say of it.
    pub search_start: Option<SearchStart>,
    /// Length of a loop of its warm-up, if it runs in turns.
    pub warm_up_loop: Duration,
}

/// Runs trials.
pub trait Lab {
    /// The facts of host and client.
    fn facts(&mut self, plan: &Plan) -> Result<Facts, RunPlanError>;

    /// Runs trials whose servers may be up together; returns each in its place. A failure of a server is part of its trial;
    /// an error is one of the run directory, after which others may be missing.
    fn run_trials(
        &mut self,
        plan: &Plan,
        trials: &[TrialSlot<'_>],
        observe: &mut Observer<'_>,
    ) -> Vec<Result<FinishedTrial, ArchiveError>>;

    /// Runs all further trials one at a time, in a run that is resumed: its first block showed this reason.
    fn run_one_at_a_time(&mut self, why: &str);

    /// Waits until the hypervisor leaves the CPUs alone, at most this long.
    fn wait_for_cpus(&mut self, longest: Duration, observe: &mut Observer<'_>);
}

/// A run that has ended.
#[derive(Debug)]
pub struct FinishedRun {
    /// The run directory.
    pub dir: PathBuf,
    /// Its verdict.
    pub verdict: Verdict,
    /// Whether the user ended it early.
    pub interrupted: bool,
    /// Why it stopped before its last trial; none if it did not, or if the user stopped it.
    pub stopped: Option<String>,
    /// Kernel settings that do not have their old value after the run, one sentence each.
    pub unrestored: Vec<String>,
}
