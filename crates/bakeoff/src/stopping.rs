//! The stopping rule: which trials the next block has. A run has the planned blocks. Spare blocks replace invalid
//! trials, as far as the plan allows. A run of which no block is valid ends early.
//!
//! The rule depends on which trials are valid, never on their values. When a server is compared with itself, both sides
//! have the same chance to be valid. So the sign of each block's ratio stays a fair coin toss, and the verdict's error
//! rate is unchanged (decision 0002).

use archive::model::{Plan, TrialStatus};

use crate::variant_point::{VariantPoint, at_point};
use crate::verdict_input::FinishedTrials;

/// Where fewer than one block in this many is valid, the cause is systematic: a spare block would fail too.
const SYSTEMATIC_FAILURE: usize = 3;

/// A run ends after this many blocks if none of them is valid.
const FUTILE_BLOCKS: u32 = 6;

/// Which of the plan's variants and points have a trial in this block; none if the run has ended.
pub fn due(block: u32, plan: &Plan, variant_points: &[VariantPoint], trials: &FinishedTrials) -> Vec<usize> {
    let all = 0..variant_points.len();
    if block > plan.blocks {
        return incomplete(plan, variant_points, trials);
    }
    let is_futile =
        block > FUTILE_BLOCKS && all.clone().all(|index| complete_blocks(index, variant_points, trials) == 0);
    if is_futile { Vec::new() } else { all.collect() }
}

/// Those that need another block to reach the planned number of valid blocks.
fn incomplete(plan: &Plan, variant_points: &[VariantPoint], trials: &FinishedTrials) -> Vec<usize> {
    let needs_block = |&index: &usize| {
        let complete = complete_blocks(index, variant_points, trials);
        let begun = trials.of(index).count();
        complete < plan.blocks as usize && complete * SYSTEMATIC_FAILURE >= begun
    };
    (0..variant_points.len()).filter(needs_block).collect()
}

/// Number of blocks in which all variants at this point have a valid trial.
pub fn complete_blocks(index: usize, variant_points: &[VariantPoint], trials: &FinishedTrials) -> usize {
    trials.blocks().filter(|&block| is_complete(block, index, variant_points, trials)).count()
}

/// Whether all variants at this point have a valid trial in this block.
pub fn is_complete(
    block: u32,
    index: usize,
    variant_points: &[VariantPoint],
    trials: &FinishedTrials,
) -> bool {
    let is_valid =
        |index: usize| trials.in_block(index, block).is_some_and(|trial| trial.status == TrialStatus::Valid);
    at_point(variant_points, &variant_points[index].point).into_iter().all(is_valid)
}
