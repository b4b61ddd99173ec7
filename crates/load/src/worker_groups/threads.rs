//! The workers of one process: threads that start together and begin the load together.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

use crate::driver::Driver;
use crate::drivers::OperationError;
use crate::drivers::protocol::{DriverUse, WorkerShare};
use crate::inputs::worker_share::WorkerSet;
use crate::record::Interval;
use crate::runner::{self, RunnerSpec};
use crate::spec::LoadSpec;
use crate::tls::{self, TlsError};
use crate::worker::{self, PartStart, WorkerContext, WorkerMessage};

/// Why workers cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum WorkerThreadsError {
    /// An operation cannot be carried out.
    #[error(transparent)]
    Operation(#[from] OperationError),
    /// TLS cannot be set up.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The system starts no thread.
    #[error("cannot start a thread for a worker: {0}: give fewer threads")]
    Thread(#[from] std::io::Error),
}

/// Worker threads of this process. Dropping it lets them end after the part that they run.
pub(crate) struct WorkerThreads {
    threads: Vec<JoinHandle<()>>,
    start: Vec<Sender<PartStart>>,
    cleared: Vec<Sender<Box<Interval>>>,
    workers: WorkerSet,
}

impl WorkerThreads {
    /// Starts the given workers of a load. They open their connections, report that they are ready, and wait for a part,
    /// and then for the next. They end a part early once `stop` is set.
    pub fn spawn(
        spec: &Arc<LoadSpec>,
        workers: WorkerSet,
        to_collector: &Sender<WorkerMessage>,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self, WorkerThreadsError> {
        let mut pool = Self { threads: Vec::new(), start: Vec::new(), cleared: Vec::new(), workers };
        for worker in workers.iter() {
            let (start, wait_for_start) = mpsc::channel();
            let (give_back, cleared) = mpsc::channel();
            let context = WorkerContext {
                spec: spec.clone(),
                worker,
                tls: spec
                    .tls
                    .as_ref()
                    .map(|tls| tls::context(tls, spec.protocol.protocol().alpn()))
                    .transpose()?,
                to_collector: to_collector.clone(),
                cleared,
                start: wait_for_start,
                stop: stop.clone(),
            };
            pool.threads.push(spawn_worker(context)?);
            pool.start.push(start);
            pool.cleared.push(give_back);
        }
        Ok(pool)
    }

    /// All workers begin a part of the load.
    pub fn start(&self, order: &PartStart) {
        for worker in &self.start {
            // A worker that has ended has reported that to the collector.
            let _ = worker.send(order.clone());
        }
    }

    /// Returns an interval to a worker, to be filled again.
    pub fn recycle(&self, worker: u32, mut interval: Box<Interval>) {
        let of_this_process = self.workers.place_of(worker).and_then(|at| self.cleared.get(at));
        if let Some(to_worker) = of_this_process {
            interval.clear();
            let _ = to_worker.send(interval);
        }
    }

    /// Waits until all have ended.
    pub fn join(mut self) {
        self.start.clear();
        for thread in self.threads.drain(..) {
            // The thread has printed its panic and reported it to the collector, which fails the run.
            let _ = thread.join();
        }
    }
}

fn spawn_worker(context: WorkerContext) -> Result<JoinHandle<()>, WorkerThreadsError> {
    let spec = context.spec.clone();
    let share = WorkerShare {
        worker: context.worker,
        workers: spec.workers,
        is_one_per_connection: spec.requests_per_connection == Some(1),
        is_local: spec.addresses.iter().all(|address| address.ip().to_canonical().is_loopback()),
    };
    let thread = thread::Builder::new().name(format!("load-{}", context.worker));
    Ok(spec.protocol.drive(share, SpawnWorker { thread, context })??)
}

/// Starts the thread of a worker: one instance of its loop is compiled for each driver.
struct SpawnWorker {
    thread: thread::Builder,
    context: WorkerContext,
}

impl DriverUse for SpawnWorker {
    type Output = std::io::Result<JoinHandle<()>>;

    fn driver<D: Driver + Send + 'static>(self, driver: D) -> Self::Output {
        let Self { thread, context } = self;
        thread.spawn(move || worker::run(driver, context))
    }

    fn runner(self, runner: &RunnerSpec) -> Self::Output {
        let Self { thread, context } = self;
        let runner = runner.clone();
        thread.spawn(move || runner::run(&runner, &context))
    }
}
