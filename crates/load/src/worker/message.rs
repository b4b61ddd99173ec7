//! Messages from workers to the collector.

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::clock::ClientClock;
use crate::clock::Nanos;
use crate::inputs::worker_share::WorkerSet;
use crate::record::{Errors, Interval, SingleOperation};
use crate::spec::LoadPart;

/// The order to begin a part of the load. All processes of a machine share the clock; for another machine, the instant is
/// converted.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PartStart {
    /// When it begins.
    pub begin: Nanos,
    /// What it is.
    pub part: LoadPart,
}

/// A message of one worker.
#[derive(Debug)]
pub enum WorkerMessage {
    /// Connections are open as far as possible; the worker waits for the start.
    Ready {
        /// Which worker.
        worker: u32,
        /// Connections that are open.
        open: u32,
        /// Why further connections are not open.
        errors: Errors,
    },
    /// An interval is over.
    Interval {
        /// Which worker.
        worker: u32,
        /// Which interval: negative during the warm-up, [`DRAIN`](crate::record::DRAIN) after the end, and
        /// [`OPENING`](crate::record::OPENING) before the worker is ready.
        index: i64,
        /// What was recorded.
        stats: Box<Interval>,
    },
    /// Single operations of a part, before its end.
    Singles {
        /// Which worker.
        worker: u32,
        /// Those that it kept.
        operations: Vec<SingleOperation>,
    },
    /// The worker has ended a part of the load: it sends no more intervals of it.
    Done {
        /// Which worker.
        worker: u32,
        /// When it stopped to begin operations.
        stopped: Nanos,
        /// When the last of them had ended.
        ended: Nanos,
        /// Why it ended too early, if it did.
        failure: Option<WorkerFailure>,
    },
}

impl WorkerMessage {
    /// Whose message it is.
    pub fn worker(&self) -> u32 {
        match self {
            Self::Ready { worker, .. }
            | Self::Interval { worker, .. }
            | Self::Singles { worker, .. }
            | Self::Done { worker, .. } => *worker,
        }
    }

    /// Whether it is the message of one of these workers.
    pub fn is_of(&self, workers: WorkerSet) -> bool {
        workers.place_of(self.worker()).is_some()
    }

    /// The same message, as if another worker had sent it.
    #[must_use]
    pub fn of_worker(mut self, other: u32) -> Self {
        match &mut self {
            Self::Ready { worker, .. }
            | Self::Interval { worker, .. }
            | Self::Singles { worker, .. }
            | Self::Done { worker, .. } => {
                *worker = other;
            }
        }
        self
    }

    /// The same message with its instants on the clock here.
    #[must_use]
    pub fn on_clock_here(mut self, clock: &ClientClock) -> Self {
        match &mut self {
            Self::Done { stopped, ended, .. } => {
                (*stopped, *ended) = (clock.here(*stopped), clock.here(*ended));
            }
            Self::Singles { operations, .. } => {
                for operation in operations {
                    *operation = operation.with_instants(|instant| clock.here(instant));
                }
            }
            Self::Ready { .. } | Self::Interval { .. } => {}
        }
        self
    }
}

/// Why a worker ended too early.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum WorkerFailure {
    /// It cannot wait for its sockets.
    #[error("a load worker failed: epoll: {0}")]
    Epoll(String),
    /// It panicked.
    #[error("a load worker failed: it panicked")]
    Panicked,
    /// All workers are gone, and one did not report its end.
    #[error("a load worker failed: it ended without a report")]
    Lost,
    /// The process of the worker is gone.
    #[error("a load process ended unexpectedly: was it killed, or out of memory?")]
    ProcessEnded,
    /// The machine of the worker's process is lost, or the process has said why it ends.
    #[error("{0}")]
    ProcessLost(String),
    /// The process of the worker sent something else than a message.
    #[error("a load process sent a message that cannot be read: {0}")]
    ProcessMessage(String),
    /// The program that makes the load failed.
    #[error("{0}")]
    Runner(String),
}

impl From<Errno> for WorkerFailure {
    /// What a wait for sockets says.
    fn from(errno: Errno) -> Self {
        Self::Epoll(std::io::Error::from(errno).to_string())
    }
}
