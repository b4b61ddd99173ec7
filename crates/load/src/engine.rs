//! One run of the engine: starts the workers, in one process or in several, collects their intervals, and returns an
//! outcome.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, SystemTime};

use rustix::process::setpriority_process;
use rustix::thread::gettid;

use crate::clock::Nanos;
use crate::collector::{Collector, CompleteInterval, TimedInterval};
use crate::processes::{LoadProcess, connections_a_process, distribute};
use crate::record::{DRAIN, ErrorKind, Errors, Interval};
use crate::spec::LoadSpec;
use crate::worker::WorkerMessage;
use crate::worker_threads::{WorkerThreads, WorkerThreadsError};

pub use crate::worker::WorkerFailure;

/// From "all are ready" to the start, so that every worker receives the start in time.
const LEAD: Duration = Duration::from_millis(20);

/// How long the collector waits for a message before it checks for an interruption.
const INTERRUPTION_CHECK: Duration = Duration::from_millis(50);

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
        let start = self.spec.interval.saturating_mul(interval.index as u32);
        (start, self.spec.interval.min(self.measured.saturating_sub(start)))
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

/// Runs the load. Calls `observe` during the run, one event after the other, from a thread with a lower priority than
/// the workers.
pub fn run(
    spec: &LoadSpec,
    context: &RunContext,
    observe: &mut LoadObserver<'_>,
) -> Result<LoadOutcome, RunError> {
    let (operations, counters) = spec.protocol.names().map_err(WorkerThreadsError::from)?;
    let limit = connections_a_process();
    let (processes, workers) = distribute(spec.connections, spec.workers, limit);
    let spec = Arc::new(LoadSpec { workers, ..spec.clone() });
    let (sender, messages) = mpsc::channel();
    let running = LoadProcesses::spawn(&spec, processes, limit, context, &sender)?;
    drop(sender);

    let collector = Collector::new(workers, operations.len(), counters.len());
    let collected = thread::scope(|scope| {
        let collecting = scope.spawn(move || {
            lower_priority();
            collect(collector, &messages, running, context, observe)
        });
        collecting.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    let (collector, (start, clock_time)) = collected?;
    Ok(LoadOutcome {
        measured: collector.stopped.since(start.after(spec.warmup)).into(),
        draining: collector.ended.since(collector.stopped).into(),
        began: clock_time + spec.warmup,
        spec: Arc::unwrap_or_clone(spec),
        operations,
        counters: counters.iter().map(|&name| name.to_owned()).collect(),
        total: collector.total,
        drain: collector.drain,
        intervals: collector.intervals,
        opened: collector.opened,
        setup_errors: collector.setup_errors,
        interrupted: context.interrupted.load(Ordering::Relaxed),
        processes,
    })
}

/// Gives the calling thread the lowest priority. It shares the workers' CPUs: merging and compacting an interval takes more
/// than half a millisecond, and no reply would be read during that time.
fn lower_priority() {
    // Where that is not allowed, replies are read late at the end of intervals.
    let _ = setpriority_process(Some(gettid()), 19);
}

/// Takes the workers' messages until all have ended. Returns what they measured, and when the run began on both clocks.
fn collect(
    mut collector: Collector,
    messages: &mpsc::Receiver<WorkerMessage>,
    mut running: LoadProcesses,
    context: &RunContext,
    observe: &mut LoadObserver<'_>,
) -> Result<(Collector, (Nanos, SystemTime)), RunError> {
    let mut begin = None;
    while !collector.all_done() && collector.failure.is_none() {
        if context.interrupted.load(Ordering::Relaxed) {
            running.stop();
        }
        match messages.recv_timeout(INTERRUPTION_CHECK) {
            Ok(message) => running.recycle(collector.take(message)),
            Err(mpsc::RecvTimeoutError::Timeout) => continue,
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                collector.failure = Some(WorkerFailure::Lost);
            }
        }
        if begin.is_none() && collector.all_ready() {
            begin = Some(running.start(&collector, context, observe)?);
        }
        while let Some(CompleteInterval { worker, index, stats }) = collector.next_complete() {
            observe(LoadEvent::Tick { index, stats: &stats });
            running.recycle(Some((worker, stats)));
        }
    }
    running.stop();
    running.join();
    if let Some(failure) = collector.failure.take() {
        return Err(failure.into());
    }
    Ok((collector, begin.ok_or(RunError::Interrupted)?))
}

/// All workers of a run, in this process or in others. Dropping it ends them.
struct LoadProcesses {
    workers: Option<WorkerThreads>,
    processes: Vec<LoadProcess>,
    stop: Arc<AtomicBool>,
}

impl LoadProcesses {
    fn spawn(
        spec: &Arc<LoadSpec>,
        processes: u32,
        limit: u64,
        context: &RunContext,
        to_collector: &mpsc::Sender<WorkerMessage>,
    ) -> Result<Self, RunError> {
        let mut running = Self { workers: None, processes: Vec::new(), stop: Arc::default() };
        if processes == 1 {
            let all = 0..spec.workers;
            running.workers = Some(WorkerThreads::spawn(spec, all, to_collector, &running.stop)?);
            return Ok(running);
        }
        let Some(command) = &context.load_process else {
            return Err(RunError::TooManyConnections { connections: spec.connections, limit });
        };
        let each = spec.workers / processes;
        for process in 0..processes {
            let workers = process * each..(process + 1) * each;
            let started = LoadProcess::spawn(command(), spec, workers, to_collector.clone());
            running.processes.push(started.map_err(RunError::Process)?);
        }
        Ok(running)
    }

    /// All workers are ready: sets the instant at which the run begins, and returns it. An error if no connection opened.
    fn start(
        &mut self,
        ready: &Collector,
        context: &RunContext,
        observe: &mut LoadObserver<'_>,
    ) -> Result<(Nanos, SystemTime), RunError> {
        if context.interrupted.load(Ordering::Relaxed) {
            return Err(RunError::Interrupted);
        }
        let errors = &ready.setup_errors;
        if let (0, Some((&kind, reason))) = (ready.opened, errors.examples.iter().next()) {
            let connections = errors.total();
            return Err(RunError::NothingOpens { connections, kind, reason: reason.clone() });
        }
        observe(LoadEvent::Begins { opened: ready.opened, errors });
        let begin = (Nanos::now().after(LEAD), SystemTime::now() + LEAD);
        self.workers.iter().for_each(|workers| workers.start(begin.0));
        self.processes.iter_mut().for_each(|process| process.start(begin.0));
        Ok(begin)
    }

    /// Asks all workers to end now and to send what they have.
    fn stop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.processes.iter_mut().for_each(LoadProcess::interrupt);
    }

    /// Returns an interval to a worker of this process, to be filled again.
    fn recycle(&self, interval: Option<(u32, Box<Interval>)>) {
        if let (Some(workers), Some((worker, interval))) = (&self.workers, interval) {
            workers.recycle(worker, interval);
        }
    }

    fn join(&mut self) {
        self.workers.take().into_iter().for_each(WorkerThreads::join);
        self.processes.drain(..).for_each(LoadProcess::join);
    }
}

impl Drop for LoadProcesses {
    fn drop(&mut self) {
        self.stop();
        self.join();
    }
}
