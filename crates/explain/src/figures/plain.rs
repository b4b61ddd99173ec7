//! Plain slices together: totals and means over them.

use std::collections::BTreeSet;

use crate::perturbable_loop::{LoopFacts, SliceReading};
use crate::profile_shares::Watched;

/// The plain slices of a study, one at least.
#[derive(Clone, Copy)]
pub(crate) struct Plain<'a> {
    pub(crate) facts: &'a LoopFacts,
    pub(crate) readings: &'a [SliceReading],
    pub(crate) watched: &'a Watched,
}

impl Plain<'_> {
    /// The sum of a value over the slices.
    pub(super) fn total(&self, value: impl Fn(&SliceReading) -> f64) -> f64 {
        self.readings.iter().map(value).sum()
    }

    /// The length of the slices together, seconds.
    pub(crate) fn length_s(&self) -> f64 {
        self.total(|reading| reading.length_s)
    }

    /// Operations per second that ended.
    pub(super) fn ended_per_s(&self) -> f64 {
        self.total(|reading| reading.operations as f64) / self.length_s()
    }

    /// The mean of a value over the time of the slices that have it; none where no slice has it.
    pub(crate) fn mean(&self, value: impl Fn(&SliceReading) -> Option<f64>) -> Option<f64> {
        let (sum, length) = self
            .readings
            .iter()
            .filter_map(|reading| Some((value(reading)?, reading.length_s)))
            .fold((0.0, 0.0), |(sum, length), (value, slice_length)| {
                (sum + value * slice_length, length + slice_length)
            });
        (length > 0.0).then(|| sum / length)
    }

    /// The mean of a column of the telemetry.
    pub(super) fn column(&self, name: &str) -> Option<f64> {
        self.mean(|reading| reading.telemetry.mean(name, 0..=u64::MAX))
    }

    /// The share of the time in which a task waited for a resource, by the kernel's pressure stall information. The kernel
    /// updates it late, so over a short time it can seem to be more than all of it.
    pub(super) fn pressure(&self, resource: &str) -> Option<f64> {
        self.column(&format!("pressure.{resource}.some")).map(|share| share.clamp(0.0, 1.0))
    }

    /// The middle parts of the columns `PREFIX.*.SUFFIX`, such as the names of disks.
    pub(super) fn instances(&self, prefix: &str, suffix: &str) -> BTreeSet<String> {
        let columns = self.readings.iter().flat_map(|reading| &reading.telemetry.columns);
        columns
            .filter_map(|column| {
                let middle = column.name.strip_prefix(prefix)?.strip_prefix('.')?;
                middle.strip_suffix(suffix)?.strip_suffix('.').map(str::to_owned)
            })
            .collect()
    }
}
