//! The stopping rule: when a run has held enough blocks. It holds those that were planned; trials that do not count are
//! made up for as far as the plan's spare blocks reach; and where nothing counts it ends early.
//!
//! What is looked at is only which trials count, never their values, and a server that is compared with itself has
//! the same chances on both sides. So the sign of each block's ratio is a fair coin still, and the verdict's error
//! rate holds (decision 0002).

use archive::model::{Plan, TrialStatus};

use crate::cell::{Cell, at_point};
use crate::record::Trials;

/// Cells that are compared with each other and of which fewer than one block in so many counted have a reason of
/// their own not to count, which another block would only meet again.
const LUCK: usize = 3;

/// So many blocks of which none counts say that the others would not, either.
const FUTILE: u32 = 6;

/// The cells of which a trial is due in this block; none if the run has held enough.
pub fn due(block: u32, plan: &Plan, cells: &[Cell], trials: &Trials) -> Vec<usize> {
    let all = || (0..cells.len()).collect();
    if block > plan.blocks {
        return wanting(plan, cells, trials);
    }
    let is_futile = block > FUTILE && (0..cells.len()).all(|cell| complete(cell, cells, trials) == 0);
    if is_futile { Vec::new() } else { all() }
}

/// The cells that want for another block, so that as many blocks count as were planned.
fn wanting(plan: &Plan, cells: &[Cell], trials: &Trials) -> Vec<usize> {
    let wants = |&cell: &usize| {
        let complete = complete(cell, cells, trials);
        let held = trials.of(cell).count();
        complete < plan.blocks as usize && complete * LUCK >= held
    };
    (0..cells.len()).filter(wants).collect()
}

/// Blocks that count for a cell: those in which all variants at its point have a trial that does.
fn complete(cell: usize, cells: &[Cell], trials: &Trials) -> usize {
    let here = at_point(cells, &cells[cell].point);
    let counts = |cell: usize, block| {
        trials.in_block(cell, block).is_some_and(|trial| trial.status == TrialStatus::Valid)
    };
    trials.blocks().filter(|&block| here.iter().all(|&cell| counts(cell, block))).count()
}
