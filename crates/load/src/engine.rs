//! One run of the engine: workers in this process, or in as many as its connections need; their intervals
//! put together; an outcome.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, SystemTime};

use crate::clock::Nanos;
use crate::collector::{Collector, Progress, Slice};
use crate::crew::{Crew, CrewError};
use crate::processes::{LoadProcess, connections_a_process};
use crate::record::{Errors, Interval};
use crate::spec::LoadSpec;

/// From "all are ready" to the start, so that every worker has heard of it in time.
const LEAD: Duration = Duration::from_millis(20);

/// How long the collector waits for a message before it looks whether the run was interrupted.
const LOOK: Duration = Duration::from_millis(50);

/// Why a run came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Workers cannot be started.
    #[error(transparent)]
    Crew(#[from] CrewError),
    /// A load process cannot be started.
    #[error("a load process cannot be started: {0}")]
    Process(std::io::Error),
    /// Not one connection could be opened.
    #[error(
        "none of {connections} connections could be opened: {reason}: is the server up, and is it this protocol?"
    )]
    NothingOpens {
        /// How many were tried.
        connections: u32,
        /// The first error.
        reason: String,
    },
    /// More connections than can be held by the processes that may be started.
    #[error(
        "{connections} connections need several load processes, which this program cannot start: ask for at most {limit}"
    )]
    TooManyConnections {
        /// How many were asked for.
        connections: u32,
        /// What one process may hold.
        limit: u64,
    },
    /// A worker ended before its time.
    #[error("a load worker failed: {0}")]
    Worker(String),
    /// Interrupted before anything was measured.
    #[error("interrupted before the load began")]
    Interrupted,
}

/// What happens during a run, for whoever watches.
#[derive(Debug)]
pub enum Event<'a> {
    /// Connections are open, as far as they could be; the load begins.
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

/// What surrounds a run.
#[derive(Clone, Default)]
pub struct Surroundings {
    /// Set to end the run early and keep what was measured.
    pub interrupted: Arc<AtomicBool>,
    /// Makes the command of a further load process, one that calls
    /// [`load_process_main`](crate::processes::load_process_main); without it one process must do.
    pub load_process: Option<Arc<dyn Fn() -> Command + Send + Sync>>,
}

/// What a run measured.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was asked; with as many workers as there were.
    pub spec: LoadSpec,
    /// Names of the operations, by id.
    pub operations: Vec<String>,
    /// Names of the driver's counters.
    pub tallies: Vec<String>,
    /// When the measured part began.
    pub began: SystemTime,
    /// How long operations began in the measured part.
    pub measured: Duration,
    /// All of the measured part.
    pub total: Interval,
    /// Interval by interval, the warm-up's with negative indices.
    pub slices: Vec<Slice>,
    /// Connections that were open at the start; none where each operation opens its own.
    pub opened: u32,
    /// Why others were not.
    pub setup_errors: Errors,
    /// Ended early by the user.
    pub interrupted: bool,
    /// Processes that the load came from.
    pub processes: u32,
}

/// Runs the load. `observe` is called from this thread as the run goes on.
pub fn run(
    spec: &LoadSpec,
    surroundings: &Surroundings,
    observe: &mut dyn FnMut(Event<'_>),
) -> Result<Outcome, RunError> {
    let (operations, tallies) = spec.protocol.names().map_err(CrewError::from)?;
    let limit = connections_a_process();
    let processes = u64::from(spec.connections).div_ceil(limit) as u32;
    let mut spec = spec.clone();
    // Every process has a worker at least, and no process more connections than it can hold.
    spec.workers = spec.workers.min(spec.connections).max(processes).next_multiple_of(processes);
    let spec = Arc::new(spec);
    let (sender, messages) = mpsc::channel();
    let mut fleet = Fleet::spawn(&spec, processes, limit, surroundings, &sender)?;
    drop(sender);

    let mut collector = Collector::new(spec.workers, operations.len(), tallies.len());
    let mut begin = None;
    let mut told = false;
    loop {
        if surroundings.interrupted.load(Ordering::Relaxed) && !told {
            told = true;
            fleet.interrupt();
        }
        let message = match messages.recv_timeout(LOOK) {
            Ok(message) => message,
            Err(mpsc::RecvTimeoutError::Timeout) => continue,
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                collector.failure.get_or_insert_with(|| "it ended without a word".to_owned());
                break;
            }
        };
        let (progress, spare) = collector.take(message);
        if let Some((worker, interval)) = spare {
            fleet.recycle(worker, interval);
        }
        match progress {
            Progress::Nothing => {}
            Progress::AllReady => {
                if let (0, Some(reason)) = (collector.opened, collector.setup_errors.examples.values().next())
                {
                    let error =
                        RunError::NothingOpens { connections: spec.connections, reason: reason.clone() };
                    fleet.join();
                    return Err(error);
                }
                observe(Event::Begins { opened: collector.opened, errors: &collector.setup_errors });
                let at = Nanos::now().after(LEAD);
                begin = Some((at, SystemTime::now() + LEAD));
                fleet.start(at);
            }
            Progress::Complete(index, stats) => observe(Event::Tick { index, stats: &stats }),
            Progress::AllDone => break,
        }
    }
    fleet.join();
    collector.complete_rest();
    if let Some(failure) = collector.failure {
        return Err(RunError::Worker(failure));
    }
    let (begin, began) = begin.ok_or(RunError::Interrupted)?;
    let measured_from = begin.after(spec.warmup);
    let lasted = Duration::from(collector.ended.since(measured_from));
    Ok(Outcome {
        measured: spec.duration.map_or(lasted, |duration| duration.min(lasted)),
        began: began + spec.warmup,
        spec: Arc::unwrap_or_clone(spec),
        operations,
        tallies: tallies.iter().map(|&name| name.to_owned()).collect(),
        total: collector.total,
        slices: collector.slices,
        opened: collector.opened,
        setup_errors: collector.setup_errors,
        interrupted: surroundings.interrupted.load(Ordering::Relaxed),
        processes,
    })
}

/// All workers of a run, wherever they are.
struct Fleet {
    crew: Option<Crew>,
    processes: Vec<LoadProcess>,
}

impl Fleet {
    fn spawn(
        spec: &Arc<LoadSpec>,
        processes: u32,
        limit: u64,
        surroundings: &Surroundings,
        to_collector: &mpsc::Sender<crate::worker::FromWorker>,
    ) -> Result<Self, RunError> {
        let mut fleet = Self { crew: None, processes: Vec::new() };
        if processes == 1 {
            let all = 0..spec.workers;
            fleet.crew = Some(Crew::spawn(spec, all, to_collector, &surroundings.interrupted)?);
            return Ok(fleet);
        }
        let Some(command) = &surroundings.load_process else {
            return Err(RunError::TooManyConnections { connections: spec.connections, limit });
        };
        let each = spec.workers / processes;
        for process in 0..processes {
            let workers = process * each..(process + 1) * each;
            let started = LoadProcess::spawn(command(), spec, workers, to_collector.clone());
            fleet.processes.push(started.map_err(RunError::Process)?);
        }
        Ok(fleet)
    }

    fn start(&mut self, begin: Nanos) {
        self.crew.iter().for_each(|crew| crew.start(begin));
        self.processes.iter_mut().for_each(|process| process.start(begin));
    }

    fn interrupt(&mut self) {
        self.processes.iter_mut().for_each(LoadProcess::interrupt);
    }

    fn recycle(&self, worker: u32, interval: Box<Interval>) {
        if let Some(crew) = &self.crew {
            crew.recycle(worker, interval);
        }
    }

    fn join(self) {
        self.crew.into_iter().for_each(Crew::join);
        self.processes.into_iter().for_each(LoadProcess::join);
    }
}
