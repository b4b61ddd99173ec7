//! Whether a run goes on beyond its planned blocks, and with which cells: trials that do not count are made up for
//! as far as the plan's spare blocks reach.
//!
//! What is looked at is only which trials count, never their values, and a server that is compared with itself has
//! the same chances on both sides. So the sign of each block's ratio is a fair coin still, and the verdict's error
//! rate holds (decision 0002).

use archive::model::{Plan, Trial, TrialStatus};

use crate::cell::Cell;

/// Cells that are compared with each other and of which fewer than one block in so many counted have a reason of
/// their own not to count, which another block would only meet again.
const LUCK: usize = 3;

/// The cells that want for another block, so that as many blocks count as were planned; a block counts for the
/// variants at a point if all of them have a trial that does.
pub fn wanting(plan: &Plan, cells: &[Cell], trials: &[(usize, Trial)]) -> Vec<usize> {
    let last = trials.iter().map(|(_, trial)| trial.block).max().unwrap_or(0);
    let counts = |block: u32, cell: usize| {
        trials
            .iter()
            .any(|(of, trial)| *of == cell && trial.block == block && trial.status == TrialStatus::Valid)
    };
    let wants = |&cell: &usize| {
        let here: Vec<usize> =
            (0..cells.len()).filter(|&other| cells[other].point == cells[cell].point).collect();
        let count = (1..=last).filter(|&block| here.iter().all(|&other| counts(block, other))).count();
        let held = trials.iter().filter(|(of, _)| *of == cell).count();
        count < plan.blocks as usize && count * LUCK >= held
    };
    (0..cells.len()).filter(wants).collect()
}
