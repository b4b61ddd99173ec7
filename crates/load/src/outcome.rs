//! One run of the engine: how it is interrupted, its events, its outcome and what can go wrong.
//! [`session`](crate::session) runs it.

#[cfg(test)]
pub(crate) mod example;
pub mod hlog;
pub mod spans;
pub mod summary;
pub mod user_summary;
pub mod validity;

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use crate::clock::{ClientClock, ClockDrift};
use crate::record::{CompactInterval, DRAIN, ErrorKind, Errors, Interval, SingleOperation};
use crate::spec::LoadSpec;
use crate::worker_groups::client::LoadClient;
use crate::worker_groups::threads::WorkerThreadsError;

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
    #[error("none of {connections} connections{between} could be opened: {reason}{}", remedy(*.kind))]
    NothingOpens {
        /// Between which machines, as ` of c1, c2 to 10.1.0.5:80`; empty where the load has no clients elsewhere.
        between: String,
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
    /// A client does not make its part of the load.
    #[error("{}", of_client(client, failure))]
    Client {
        /// Its name.
        client: String,
        /// Why.
        failure: WorkerFailure,
    },
    /// Some clients would have no connection.
    #[error("{clients} clients cannot share {connections} connections: give each one at least")]
    TooFewConnections {
        /// How many clients there are.
        clients: u32,
        /// How many connections the spec has.
        connections: u32,
    },
    /// A program of this machine makes the load.
    #[error("a runner makes its load on this machine: leave the clients out")]
    RunnerWithClients,
    /// A socket of the file system is of one machine.
    #[error(
        "a Unix socket is reached from its own machine only: leave the clients out, or let the server listen on a port"
    )]
    SocketWithClients,
    /// A file that the clients need cannot be read.
    #[error("cannot read {path}: {source}")]
    Certificate {
        /// The file.
        path: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// Interrupted before anything was measured.
    #[error("interrupted before the load began")]
    Interrupted,
}

impl RunError {
    /// Whether no connection opened because of the server: the client had what it needs for one.
    pub fn is_of_server(&self) -> bool {
        let is_of_client = |kind: ErrorKind| {
            matches!(
                kind,
                ErrorKind::NoDescriptors | ErrorKind::NoPorts | ErrorKind::Unreachable | ErrorKind::Unsent
            )
        };
        matches!(self, Self::NothingOpens { kind, .. } if !is_of_client(*kind))
    }
}

/// A failure on a client, with its name. That of a lost machine has the name already.
pub(crate) fn of_client(client: &str, failure: &WorkerFailure) -> String {
    match failure {
        WorkerFailure::ProcessLost(why) => why.clone(),
        other => format!("client {client}: {other}"),
    }
}

/// What may help where no connection opens.
fn remedy(kind: ErrorKind) -> &'static str {
    match kind {
        // These reasons contain their remedies. What the server replied shows that it is up, and mostly which protocol it has.
        ErrorKind::Tls | ErrorKind::UnexpectedReply => "",
        ErrorKind::NoDescriptors => ": raise the limit of descriptors (ulimit -n)",
        ErrorKind::NoPorts => {
            ": give more local addresses, or wait until the ports of earlier connections are free"
        }
        ErrorKind::Timeout | ErrorKind::Unreachable => {
            ": check that the server is up, and that firewalls and routes let TCP through to it"
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
    /// [`load_process_main`](crate::load_process_main). None: one process must suffice.
    pub load_process: Option<Arc<dyn Fn() -> Command + Send + Sync>>,
    /// Machines that make the load, each an equal part. Empty: this machine makes it.
    pub clients: Vec<Arc<dyn LoadClient>>,
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
    /// For how long operations fell due before the measured part: [`LoadPart::due_before`](crate::spec::LoadPart::due_before).
    pub due_before: Duration,
    /// The merged record of the measured part, the drain included.
    pub total: Interval,
    /// What ended after the last operation had begun.
    pub drain: Interval,
    /// Single operations, where the part asked for some: the slowest of each worker, and some drawn at random.
    pub singles: Vec<SingleOperation>,
    /// The intervals in order of time: those of the warm-up, those measured, and the drain.
    pub intervals: Vec<TimedInterval>,
    /// Connections that were open at the start; 0 where each operation opens its own.
    pub opened: u32,
    /// Why others were not.
    pub setup_errors: Errors,
    /// Ended early by the user.
    pub interrupted: bool,
    /// Processes that made the load.
    pub processes: u32,
    /// What each client measured; empty where this machine made the load.
    pub clients: Vec<ClientOutcome>,
}

/// What one of several clients measured: its part of the load.
#[derive(Clone, Debug)]
pub struct ClientOutcome {
    /// The client.
    pub name: String,
    /// How its clock was compared with the one here.
    pub clock: ClientClock,
    /// How far its clock drifted until the end of the load; of several parts, the part in which it did most. None where it was
    /// not compared again.
    pub drift: Option<ClockDrift>,
    /// Why it ended before the load, in one line, if it did.
    pub lost: Option<String>,
    /// As if there were no other client.
    pub outcome: LoadOutcome,
}

/// Which part of a run an interval belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntervalStage {
    /// Before measuring.
    WarmUp,
    /// Measured.
    Measured,
    /// What ended after the last operation had begun.
    Drain,
}

/// One interval of a run, all workers merged.
#[derive(Clone, Debug, PartialEq)]
pub struct TimedInterval {
    /// The part of the run.
    pub stage: IntervalStage,
    /// From the beginning of measuring; 0 for the warm-up, which is before it.
    pub start: Duration,
    /// Its length.
    pub length: Duration,
    /// What was recorded.
    pub stats: CompactInterval,
}

impl TimedInterval {
    /// An interval of a run whose measured part took `measured` and its drain `draining`, by the worker's index.
    pub(crate) fn new(
        (index, stats): (i64, CompactInterval),
        interval: Duration,
        (measured, draining): (Duration, Duration),
    ) -> Self {
        let (stage, start, length) = match index {
            DRAIN => (IntervalStage::Drain, measured, draining),
            0.. => {
                let start = interval.saturating_mul(index as u32);
                (IntervalStage::Measured, start, interval.min(measured.saturating_sub(start)))
            }
            _ => (IntervalStage::WarmUp, Duration::ZERO, interval),
        };
        Self { stage, start, length, stats }
    }
}

/// An interval shorter than this share of the planned length was cut. The lengths of slices are drawn at random, so that
/// they differ from the first one's; and a slice that ends when its server is idle may have half of its longest length.
const FULL_LENGTH: f64 = 0.35;

impl LoadOutcome {
    /// The measured intervals in order, but for one that the end of the run cut.
    pub fn observations(&self) -> Vec<&TimedInterval> {
        let full = self.spec.part.interval.mul_f64(FULL_LENGTH);
        let is_whole =
            |interval: &&TimedInterval| interval.stage == IntervalStage::Measured && interval.length >= full;
        let mut intervals: Vec<&TimedInterval> = self.intervals.iter().filter(is_whole).collect();
        intervals.sort_by_key(|interval| interval.start);
        intervals
    }

    /// Adds a later part of the same session, whose measuring began `after` this one's. Both count as measured; the time
    /// between them does not.
    pub fn append(&mut self, later: Self, after: Duration) {
        self.measured += later.measured;
        self.draining += later.draining;
        self.due_before += later.due_before;
        self.total.append(&later.total);
        self.drain.append(&later.drain);
        self.singles.extend(later.singles);
        let moved = later.intervals.into_iter().map(|interval| {
            let start = interval.start + after;
            TimedInterval { start, ..interval }
        });
        self.intervals.extend(moved);
        self.interrupted |= later.interrupted;
        for (client, later) in self.clients.iter_mut().zip(later.clients) {
            client.outcome.append(later.outcome, after);
            client.lost = client.lost.take().or(later.lost);
            if later.clock.error_ns > client.clock.error_ns {
                client.clock = later.clock;
            }
            let drifts = [client.drift, later.drift].into_iter().flatten();
            client.drift = drifts.max_by_key(ClockDrift::certain_ns);
        }
    }

    /// For how long the server was loaded or answered what was left: its own time.
    pub fn own_time(&self) -> Duration {
        self.measured + self.draining
    }

    /// For how long the operations fell due.
    pub fn due_for(&self) -> Duration {
        self.measured + self.due_before
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::example;

    #[test]
    fn parts_of_a_session_add_up_and_keep_their_place_in_time() {
        let mut all = example::outcome();
        let (requests, measured) = (all.total.succeeded(), all.measured);
        all.append(example::outcome(), Duration::from_secs(15));
        assert_eq!((all.total.succeeded(), all.measured), (2 * requests, 2 * measured));
        let starts: Vec<Duration> = all.intervals.iter().map(|interval| interval.start).collect();
        assert_eq!(starts, [Duration::ZERO, Duration::from_secs(15)]);
        assert!(all.intervals.iter().all(|interval| interval.stage == IntervalStage::Measured));
    }
}
