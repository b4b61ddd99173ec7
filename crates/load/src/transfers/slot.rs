//! The state of one client, and the instants at which clients begin.

use std::time::Duration;

use super::download::Download;
use crate::clock::Nanos;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// It wants no transfer.
    Idle,
    /// From the connect call to the first byte.
    Waiting,
    /// From the first byte on.
    InProgress,
    /// After a failure.
    Pausing,
}

/// A client and its transfer.
pub(super) struct Slot {
    pub download: Option<Download>,
    pub stage: Stage,
    /// Its last attempt has failed.
    pub is_failing: bool,
    pub is_stalled: bool,
    /// Whether it was in progress at the mark, and since.
    pub is_marked: bool,
    /// Reads with bytes since the mark.
    pub advances: u8,
    /// Distinguishes its connections, so that a late event of an earlier one is recognized.
    pub generation: u32,
    pub bytes_since_mark: u32,
    /// When the attempt was due to begin.
    pub due: Nanos,
    /// When its timer is due.
    pub at: Nanos,
    /// When it last got a byte.
    pub progressed: Nanos,
}

impl Slot {
    pub fn new() -> Self {
        Self {
            download: None,
            stage: Stage::Idle,
            is_failing: false,
            is_stalled: false,
            is_marked: false,
            advances: 0,
            generation: 0,
            bytes_since_mark: 0,
            due: Nanos(0),
            at: Nanos(0),
            progressed: Nanos(0),
        }
    }
}

/// Transfers that begin one after the other.
#[derive(Clone, Copy)]
pub(super) struct Ramp {
    pub from: Nanos,
    pub until: Nanos,
    pub first: u32,
    pub to: u32,
}

impl Ramp {
    /// When the transfer of this number is due.
    pub fn due(&self, number: u32) -> Nanos {
        let (all, before) = (u64::from((self.to - self.first).max(1)), u64::from(number - self.first));
        let span = u128::from(self.until.since(self.from).0) * u128::from(before) / u128::from(all);
        self.from.after(Duration::from_nanos(span as u64))
    }
}
