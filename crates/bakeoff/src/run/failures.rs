//! Failures in a row: a variant that cannot be measured ends the run.

use archive::model::TrialStatus;

use crate::plan::trial_order::ScheduledTrial;

/// A run stops when a variant has failed this many times in a row.
const FAILURES_IN_A_ROW: u32 = 3;

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
