//! What a verdict is made of: the plan, what was found, and the trials.

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
    /// The trials, each with its cell, in the order of time.
    pub trials: &'a [(usize, Trial)],
    /// Response times of the valid trials of each cell, merged.
    pub curves: &'a [QuantileCurve],
}

impl Record<'_> {
    /// The trials of a cell, in the order of time.
    pub fn trials_of(&self, cell: usize) -> impl Iterator<Item = &Trial> {
        self.trials.iter().filter(move |(of, _)| *of == cell).map(|(_, trial)| trial)
    }
}
