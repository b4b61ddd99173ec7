//! A quick run that is disturbed goes on for longer where its first look settles nothing. Whether it does follows from what was taken from its
//! CPUs, and never from what was measured.

use archive::ArchiveError;

use super::RunProgress;
use crate::verdict::company;
use crate::verdict::interim_looks;

impl RunProgress<'_> {
    /// Lets the run go on for longer, if other programs or the hypervisor disturb it. A run that is resumed has it in its plan.
    pub(super) fn prolong_if_disturbed(&mut self) -> Result<(), ArchiveError> {
        if self.company().is_none() {
            return Ok(());
        }
        let Some(plan) = interim_looks::prolonged(&self.plan) else { return Ok(()) };
        self.plan = plan;
        self.writer.plan(&self.plan)
    }

    /// What was taken from the trials so far, in words; none where the limits were kept.
    pub(super) fn company(&self) -> Option<String> {
        company::of_valid(self.so_far.kept.all())
    }
}
