//! One run of the engine: how it is interrupted, its events, its outcome and what can go wrong.
//! [`session`](crate::session) runs it.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use crate::collector::TimedInterval;
use crate::record::{DRAIN, ErrorKind, Errors, Interval};
use crate::spec::LoadSpec;
use crate::worker_threads::WorkerThreadsError;

pub use crate::worker::WorkerFailure;

/// Why a run has no outcome.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Workers cannot be started.
    #[error(transparent)]
    Threads(#[from] WorkerThreadsError),
    /// A load process cannot be started.
    #[error(
        "a load process cannot be started: {0}: raise the limits of descriptors and processes (ulimit -n, -u)"
    )]
    Process(std::io::Error),
    /// Not one connection could be opened.
    #[error("none of {connections} connections could be opened: {reason}{}", remedy(*.kind))]
    NothingOpens {
        /// How many were tried.
        connections: u64,
        /// The kind of error that is reported for all.
        kind: ErrorKind,
        /// The first of that kind.
        reason: String,
    },
    /// More connections than one process can open, and no further process can be started.
    #[error(
        "{connections} connections need several load processes, which this program cannot start: ask for at most {limit}"
    )]
    TooManyConnections {
        /// How many connections the spec has.
        connections: u32,
        /// How many one process can open.
        limit: u64,
    },
    /// A worker ended too early.
    #[error(transparent)]
    Worker(#[from] WorkerFailure),
    /// Interrupted before anything was measured.
    #[error("interrupted before the load began")]
    Interrupted,
}

/// What may help where no connection opens.
fn remedy(kind: ErrorKind) -> &'static str {
    match kind {
        // These reasons contain their remedies.
        ErrorKind::Tls => "",
        ErrorKind::NoDescriptors => ": raise the limit of descriptors (ulimit -n)",
        ErrorKind::NoPorts => {
            ": give more local addresses, or wait until the ports of earlier connections are free"
        }
        _ => ": is the server up, and is it this protocol?",
    }
}

/// What happens during a run.
#[derive(Debug)]
pub enum LoadEvent<'a> {
    /// Connections are open as far as possible; the load begins.
    Begins {
        /// Open connections.
        opened: u32,
        /// Why others are not open.
        errors: &'a Errors,
    },
    /// An interval is complete.
    Tick {
        /// Its index, negative during the warm-up.
        index: i64,
        /// What was recorded in it.
        stats: &'a Interval,
    },
}

/// How a run is interrupted, and how it starts further processes.
#[derive(Clone, Default)]
pub struct RunContext {
    /// Set to end the run early; what was measured is kept.
    pub interrupted: Arc<AtomicBool>,
    /// Makes the command of a further load process, one that calls
    /// [`load_process_main`](crate::processes::load_process_main). None: one process must suffice.
    pub load_process: Option<Arc<dyn Fn() -> Command + Send + Sync>>,
}

/// What a run measured.
#[derive(Clone, Debug)]
pub struct LoadOutcome {
    /// The spec, with the number of workers that ran.
    pub spec: LoadSpec,
    /// Names of the operations, by id.
    pub operations: Vec<String>,
    /// Names of the driver's counters.
    pub counters: Vec<String>,
    /// When the measured part began.
    pub began: SystemTime,
    /// How long operations began in the measured part.
    pub measured: Duration,
    /// How long the last operations took to end after that.
    pub draining: Duration,
    /// The merged record of the measured part, the drain included.
    pub total: Interval,
    /// What ended after the last operation had begun.
    pub drain: Interval,
    /// The intervals in order of time: the warm-up's with negative indices, last the drain.
    pub intervals: Vec<TimedInterval>,
    /// Connections that were open at the start; 0 where each operation opens its own.
    pub opened: u32,
    /// Why others were not.
    pub setup_errors: Errors,
    /// Ended early by the user.
    pub interrupted: bool,
    /// Processes that made the load.
    pub processes: u32,
}

impl LoadOutcome {
    /// Start (from the beginning of measuring) and length of an interval after the warm-up.
    pub fn span_of(&self, interval: &TimedInterval) -> (Duration, Duration) {
        if interval.index == DRAIN {
            return (self.measured, self.draining);
        }
        let start = self.spec.part.interval.saturating_mul(interval.index as u32);
        (start, self.spec.part.interval.min(self.measured.saturating_sub(start)))
    }

    /// Share of its cores that the client needed for its work in the measured part, 0 to 1.
    pub fn utilisation(&self) -> f64 {
        self.total.client.utilisation_without(&self.drain.client)
    }

    /// Share of the measured part for which the client was ready to run and had no CPU, 0 to 1.
    pub fn starvation(&self) -> f64 {
        self.total.client.starvation_without(&self.drain.client)
    }
}

/// Receives the events of a run.
pub type LoadObserver<'a> = dyn FnMut(LoadEvent<'_>) + Send + 'a;
