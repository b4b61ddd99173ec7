//! The input of a verdict: the plan, the facts, and the finished trials, with the blocks that are complete.

use std::ops::RangeInclusive;

use archive::model::{Facts, Plan, QuantileCurve, Trial, TrialStatus};

use crate::plan::variant_point::{VariantPoint, at_point};

/// The input of a verdict.
pub struct VerdictInput<'a> {
    /// The plan of the run.
    pub plan: &'a Plan,
    /// The facts of the host and of both sides.
    pub facts: &'a Facts,
    /// The plan's variants at their points.
    pub variant_points: &'a [VariantPoint],
    /// The trials that have ended.
    pub trials: &'a FinishedTrials,
    /// The look that is taken, or settled the run; none at its end.
    pub look: Option<u32>,
    /// Whether trials are left to run.
    pub interrupted: bool,
    /// Merged response times of the valid trials, for each variant and point.
    pub curves: &'a [QuantileCurve],
}

/// The trials of a run that have ended, in the order of time, each with the index of its variant and point.
#[derive(Default)]
pub struct FinishedTrials(Vec<(usize, Trial)>);

impl FinishedTrials {
    /// Adds a trial.
    pub fn push(&mut self, variant_point: usize, trial: Trial) {
        self.0.push((variant_point, trial));
    }

    /// All trials.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = &Trial> + ExactSizeIterator {
        self.0.iter().map(|(_, trial)| trial)
    }

    /// All trials, each with the index of its variant and point.
    pub fn indexed(&self) -> impl DoubleEndedIterator<Item = (usize, &Trial)> {
        self.0.iter().map(|(index, trial)| (*index, trial))
    }

    /// The trials of one variant at one point.
    pub fn of(&self, variant_point: usize) -> impl Iterator<Item = &Trial> {
        self.0.iter().filter(move |(of, _)| *of == variant_point).map(|(_, trial)| trial)
    }

    /// The trial of one variant at one point in a block, if there was one.
    pub fn in_block(&self, variant_point: usize, block: u32) -> Option<&Trial> {
        self.of(variant_point).find(|trial| trial.block == block)
    }

    /// The blocks that have begun.
    pub fn blocks(&self) -> RangeInclusive<u32> {
        1..=self.all().map(|trial| trial.block).max().unwrap_or(0)
    }
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
    let here = at_point(variant_points, &variant_points[index].point);
    here.into_iter().all(|index| is_valid(block, index, trials))
}

/// Whether a variant has a valid trial at its point in this block.
pub fn is_valid(block: u32, index: usize, trials: &FinishedTrials) -> bool {
    trials.in_block(index, block).is_some_and(|trial| trial.status == TrialStatus::Valid)
}
