//! The stopping rule: which trials the next block has. A run has the planned blocks. Spare blocks replace invalid
//! trials, as far as the plan allows. A run of which no pair has two valid trials in one block ends early, and so does
//! one with a variant that cannot be measured.
//!
//! The rule depends on which trials are valid, never on their values. When a server is compared with itself, both sides
//! have the same chance to be valid. So the sign of each block's ratio stays a fair coin toss, and the verdict's error
//! rate is unchanged (decision 0002).

use archive::model::{Plan, TrialStatus};

use crate::plan::trial_order::ScheduledTrial;
use crate::plan::variant_point::{VariantPoint, at_point};
use crate::verdict::input::{FinishedTrials, is_valid};

/// Where fewer than one block in this many is valid, the cause is systematic: a spare block would fail too.
const SYSTEMATIC_FAILURE: usize = 3;

/// A run ends after this many blocks if none of them compares anything.
const FUTILE_BLOCKS: u32 = 6;

/// A run stops when a variant has failed this many times in a row.
const FAILURES_IN_A_ROW: u32 = 3;

/// Which of the plan's variants and points have a trial in this block; none if the run has ended.
pub fn due(block: u32, plan: &Plan, variant_points: &[VariantPoint], trials: &FinishedTrials) -> Vec<usize> {
    let all = 0..variant_points.len();
    if block > plan.blocks {
        return incomplete(plan, variant_points, trials);
    }
    let is_futile =
        block > FUTILE_BLOCKS && all.clone().all(|index| compared_blocks(index, variant_points, trials) == 0);
    if is_futile { Vec::new() } else { all.collect() }
}

/// Those that need another block to reach the planned number of blocks in which they are compared, with what they are compared
/// with.
fn incomplete(plan: &Plan, variant_points: &[VariantPoint], trials: &FinishedTrials) -> Vec<usize> {
    let all = 0..variant_points.len();
    let compared: Vec<usize> =
        all.clone().map(|index| compared_blocks(index, variant_points, trials)).collect();
    let may_succeed = |&index: &usize| compared[index] * SYSTEMATIC_FAILURE >= trials.of(index).count();
    let needs_block = |index: usize| compared[index] < plan.blocks as usize && may_succeed(&index);
    let is_needed =
        |&index: &usize| at_point(variant_points, &variant_points[index].point).into_iter().any(needs_block);
    all.filter(may_succeed).filter(is_needed).collect()
}

/// Number of blocks in which a variant has a valid trial at this point, and so has another one to compare it with, if there is
/// one. A variant that is never valid does not take the ratio of the others.
fn compared_blocks(index: usize, variant_points: &[VariantPoint], trials: &FinishedTrials) -> usize {
    let here = at_point(variant_points, &variant_points[index].point);
    let needed = here.len().min(2);
    let is_compared = |&block: &u32| {
        let valid = here.iter().filter(|other| is_valid(block, **other, trials)).count();
        is_valid(block, index, trials) && valid >= needed
    };
    trials.blocks().filter(is_compared).count()
}

/// How many trials in a row failed, of each variant at each point.
#[derive(Clone, Debug)]
pub struct FailureCounts(Vec<u32>);

impl FailureCounts {
    /// None yet, for this number of variants and points.
    pub fn new(variant_points: usize) -> Self {
        Self(vec![0; variant_points])
    }

    /// Counts a trial. Returns whether its variant cannot be measured: it failed in the first block, or too often.
    pub fn count(&mut self, scheduled: &ScheduledTrial, status: TrialStatus) -> bool {
        let failures = &mut self.0[scheduled.variant_point];
        *failures = if status == TrialStatus::Failed { *failures + 1 } else { 0 };
        *failures > 0 && (scheduled.block == 1 || *failures >= FAILURES_IN_A_ROW)
    }
}
