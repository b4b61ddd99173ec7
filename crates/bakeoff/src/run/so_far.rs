//! Which trials of an interrupted run count, and where it goes on. The plan's seed gives the order of the trials once more;
//! complete blocks are kept, and the block that was cut is run again as a whole, so that its trials stay close in time.

use std::collections::BTreeMap;

use archive::TrialRecord;
use archive::model::{Plan, Trial, TrialStatus};

use crate::plan::measure_names::wording;
use crate::plan::trial_order::{ScheduledTrial, TrialOrder};
use crate::plan::variant_point::VariantPoint;
use crate::run::stopping::{FailureCounts, due};
use crate::verdict::input::FinishedTrials;

/// The part of a run that has ended.
pub struct RunSoFar {
    /// The trials of the complete blocks.
    pub kept: FinishedTrials,
    /// The order of the trials from the next block on.
    pub order: TrialOrder,
    /// The block with which the run goes on.
    pub next_block: u32,
    /// Failures in a row.
    pub failures: FailureCounts,
    /// The folders of the trials of the block that was cut.
    pub discarded: Vec<String>,
    /// Whether no trial is left to run.
    pub is_complete: bool,
}

impl RunSoFar {
    /// A run that has not begun.
    pub fn of_new_run(plan: &Plan, variant_points: &[VariantPoint]) -> Self {
        Self {
            kept: FinishedTrials::default(),
            order: TrialOrder::new(plan.seed),
            next_block: 1,
            failures: FailureCounts::new(variant_points.len()),
            discarded: Vec::new(),
            is_complete: false,
        }
    }

    /// Replays the trials of a run directory.
    pub fn of(
        plan: &Plan,
        variant_points: &[VariantPoint],
        trials: &[TrialRecord],
    ) -> Result<Self, ReplayError> {
        let mut recorded: BTreeMap<u32, &TrialRecord> =
            trials.iter().map(|record| (record.trial.number, record)).collect();
        let mut so_far = Self::of_new_run(plan, variant_points);
        loop {
            let due = due(so_far.next_block, plan, variant_points, &so_far.kept);
            if due.is_empty() || so_far.next_block > plan.blocks + plan.spare_blocks {
                so_far.is_complete = true;
                break;
            }
            let mut order = so_far.order.clone();
            let block = order.next_block(&due);
            let of_block: Vec<(&ScheduledTrial, &TrialRecord)> = block
                .iter()
                .filter_map(|scheduled| Some((scheduled, recorded.remove(&scheduled.number)?)))
                .collect();
            for (scheduled, record) in &of_block {
                check_place(scheduled, &variant_points[scheduled.variant_point], plan, record)?;
            }
            let mut failures = so_far.failures.clone();
            let ends_run = |(scheduled, record): &(&ScheduledTrial, &TrialRecord)| {
                failures.count(scheduled, record.trial.status)
                    || record.trial.status == TrialStatus::Interrupted
            };
            let is_cut = of_block.len() < block.len() || of_block.iter().any(ends_run);
            if is_cut {
                so_far.discarded = of_block.iter().map(|(_, record)| record.folder.clone()).collect();
                break;
            }
            for (scheduled, record) in of_block {
                so_far.kept.push(scheduled.variant_point, record.trial.clone());
            }
            (so_far.order, so_far.failures) = (order, failures);
            so_far.next_block += 1;
        }
        match recorded.into_values().next() {
            Some(record) => Err(ReplayError { folder: record.folder.clone() }),
            None => Ok(so_far),
        }
    }
}

/// A trial that does not follow from the plan: an earlier one is missing, or a file was changed.
#[derive(Debug, thiserror::Error)]
#[error("an earlier trial is missing, or plan.toml is not the one of this trial")]
pub struct ReplayError {
    /// The folder of the trial.
    pub folder: String,
}

/// Checks that a recorded trial is the one that was scheduled.
fn check_place(
    scheduled: &ScheduledTrial,
    variant_point: &VariantPoint,
    plan: &Plan,
    record: &TrialRecord,
) -> Result<(), ReplayError> {
    let Trial { block, position, variant, point, measured, .. } = &record.trial;
    let planned = &plan.variants[variant_point.variant].name;
    // A run whose measure was replaced has no trial of the one before. Were there one, it would not meet the others.
    let is_of_measure = measured.as_ref().is_none_or(|m| m.unit == wording(&plan.measure).unit);
    let is_in_place = (*block, *position) == (scheduled.block, scheduled.position)
        && variant == planned
        && *point == variant_point.point
        && is_of_measure;
    if is_in_place { Ok(()) } else { Err(ReplayError { folder: record.folder.clone() }) }
}
