//! What workers say to the collector.

use crate::clock::Nanos;
use crate::record::{Errors, Interval};

/// A message of one worker.
#[derive(Debug)]
pub enum FromWorker {
    /// Connections are open as far as they could be; the worker waits for the start.
    Ready {
        /// Which worker.
        worker: u32,
        /// Connections that are open.
        open: u32,
        /// Why the others are not.
        errors: Errors,
    },
    /// An interval is over.
    Interval {
        /// Which worker.
        worker: u32,
        /// Which interval: negative during the warm-up, [`DRAIN`](crate::record::DRAIN) after the end.
        index: i64,
        /// What was recorded.
        stats: Box<Interval>,
    },
    /// The worker has ended: no more intervals will come from it.
    Done {
        /// Which worker.
        worker: u32,
        /// When it stopped to begin operations.
        stopped: Nanos,
        /// When the last of them had ended.
        ended: Nanos,
        /// What ended it before its time, if something did.
        failure: Option<String>,
    },
}
