//! What trials have in common, what one begins with, and what comes of it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use archive::TrialWriter;
use archive::model::{FORMAT, Plan, Trial, TrialFiles, TrialStatus, VariantFacts};
use load::engine::{RunContext, RunError};
use load::inputs::slo::Slo;
use load::record::Micros;
use machine::{MachineError, ServerOrder};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use workload::Workload;

use super::breaking_point::{BreakingPoint, BreakingPointError};
use crate::machines::of_run::RunMachines;
use crate::machines::power::RunPower;
use crate::plan::trial_order::ScheduledTrial;
use crate::plan::variant_point::VariantPoint;
use crate::search_start::SearchStart;

/// A trial that has ended.
pub struct FinishedTrial {
    /// The trial's record.
    pub trial: Trial,
    /// Response times of its measurement; none if it ended before that.
    pub response_time: Option<Micros>,
    /// The variant's facts; none if its server did not start.
    pub facts: Option<VariantFacts>,
}

/// What all trials of a run have in common.
pub struct TrialSetup<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The objective of the plan that was checked.
    pub objective: Option<&'a Slo>,
    /// The machines with the servers, and the machine of the client.
    pub machines: &'a RunMachines<'a>,
    /// The workload of the servers.
    pub workload: &'a Workload,
    /// The context of the engine.
    pub context: &'a RunContext,
    /// The meters of the run, if it has any.
    pub power: Option<&'a RunPower>,
    /// What finds breaking points, if the run has been given it.
    pub breaking_point: Option<&'a dyn BreakingPoint>,
}

impl<'a> TrialSetup<'a> {
    /// The objective of the measure; none where the run has replaced the measure by one without an objective.
    pub fn objective(&self) -> Option<&'a Slo> {
        self.objective.filter(|_| self.plan.measure.slo().is_some())
    }

    /// Random numbers for the order and the lengths of the slices of a block; they follow from the plan's seed.
    pub fn block_rng(&self, block: u32) -> Pcg64Mcg {
        Pcg64Mcg::seed_from_u64(u64::from(self.plan.seed) << 32 | u64::from(block))
    }
}

/// Why a trial failed.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// What the machine could not do. One such failure may fail several trials: all trials whose servers are up together.
    #[error(transparent)]
    Machine(#[from] Arc<MachineError>),
    #[error(transparent)]
    Load(#[from] RunError),
    /// The downloads that were to break the server.
    #[error(transparent)]
    BreakingPoint(#[from] BreakingPointError),
    /// A command that measures no breaking points was given a plan of them.
    #[error("this command measures no breaking point: run the plan with `showdown run`")]
    NoBreakingPoint,
}

impl TrialError {
    /// Whether the server failed, and not a machine or the client.
    pub fn is_of_server(&self) -> bool {
        match self {
            Self::Machine(error) => error.is_of_server(),
            Self::Load(error) => error.is_of_server(),
            Self::BreakingPoint(_) | Self::NoBreakingPoint => false,
        }
    }
}

impl From<MachineError> for TrialError {
    fn from(error: MachineError) -> Self {
        Self::Machine(Arc::new(error))
    }
}

/// What a trial begins with.
pub struct TrialStart<'a> {
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
    /// The index of its machine.
    pub machine: usize,
    /// What the machine starts.
    pub order: ServerOrder,
}

/// The record of a trial that has not begun. Its status is `Failed` until it has another.
pub fn blank(plan: &Plan, scheduled: &ScheduledTrial, variant_point: &VariantPoint) -> Trial {
    Trial {
        format: FORMAT,
        number: scheduled.number,
        block: scheduled.block,
        position: scheduled.position,
        variant: plan.variants[variant_point.variant].name.clone(),
        host: None,
        point: variant_point.point.clone(),
        started_unix_ms: 0,
        duration_s: 0.0,
        status: TrialStatus::Failed,
        failed_elsewhere: false,
        reasons: Vec::new(),
        gates: Vec::new(),
        measured: None,
        phases: Vec::new(),
        background: None,
        warm_up: None,
        turns: None,
        timeline: Vec::new(),
        counts: Vec::new(),
        server: None,
        cpu_time: None,
        users: None,
        load_numbers: BTreeMap::new(),
        neighbours: None,
        saturated: None,
        power: None,
        files: TrialFiles::default(),
    }
}

/// Names the logs behind a reason: of the part that has ended, or all.
pub fn name_logs(reason: Option<&mut String>, files: &TrialFiles) {
    let Some(reason) = reason else { return };
    let logs = files.logs_of(reason).join(" and ");
    if !logs.is_empty() {
        let _ = write!(reason, "; the server's log is {logs}");
    }
}
