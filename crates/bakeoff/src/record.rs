//! What a verdict is made of: the plan, what was found, and the trials.

use std::ops::RangeInclusive;

use archive::model::{Facts, Plan, QuantileCurve, Trial};

use crate::cell::Cell;

/// What a verdict is made of.
pub struct Record<'a> {
    /// What was asked.
    pub plan: &'a Plan,
    /// What was found before the first trial.
    pub facts: &'a Facts,
    /// The cells of the plan.
    pub cells: &'a [Cell],
    /// The trials.
    pub trials: &'a Trials,
    /// Response times of the valid trials of each cell, merged.
    pub curves: &'a [QuantileCurve],
}

/// The trials of a run as far as they were held, each with its cell, in the order of time.
#[derive(Default)]
pub struct Trials(Vec<(usize, Trial)>);

impl Trials {
    /// One more has ended.
    pub fn push(&mut self, cell: usize, trial: Trial) {
        self.0.push((cell, trial));
    }

    /// All of them.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = &Trial> + ExactSizeIterator {
        self.0.iter().map(|(_, trial)| trial)
    }

    /// Those of a cell.
    pub fn of(&self, cell: usize) -> impl Iterator<Item = &Trial> {
        self.0.iter().filter(move |(of, _)| *of == cell).map(|(_, trial)| trial)
    }

    /// A cell's trial in a block, if it had one.
    pub fn in_block(&self, cell: usize, block: u32) -> Option<&Trial> {
        self.of(cell).find(|trial| trial.block == block)
    }

    /// The blocks that were begun.
    pub fn blocks(&self) -> RangeInclusive<u32> {
        1..=self.all().map(|trial| trial.block).max().unwrap_or(0)
    }
}
