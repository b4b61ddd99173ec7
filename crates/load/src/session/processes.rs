//! All workers of a session, wherever they run: as threads of this process, in further processes of this machine, or in
//! processes of clients.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;

use crate::clock::ClientClock;
use crate::inputs::worker_share::WorkerSet;
use crate::outcome::{RunContext, RunError};
use crate::record::Interval;
use crate::spec::LoadSpec;
use crate::worker::{PartStart, WorkerFailure, WorkerMessage};
use crate::worker_groups::client::LoadClient;
use crate::worker_groups::processes::{LoadProcess, child};
use crate::worker_groups::threads::WorkerThreads;

/// All workers of a session. Dropping it ends them.
pub(crate) struct SessionProcesses {
    workers: Option<WorkerThreads>,
    /// Process p is one of client p modulo their number.
    processes: Vec<LoadProcess>,
    stop: Arc<AtomicBool>,
}

impl SessionProcesses {
    /// Starts them, and with them their connections. The number of processes divides that of the workers, and that of the
    /// clients divides it.
    pub fn spawn(
        spec: &Arc<LoadSpec>,
        processes: u32,
        limit: u64,
        context: &RunContext,
        to_collector: &mpsc::Sender<WorkerMessage>,
    ) -> Result<Self, RunError> {
        let mut running = Self { workers: None, processes: Vec::new(), stop: Arc::default() };
        if !context.clients.is_empty() {
            running.processes = on_clients(&context.clients, spec, processes, to_collector)?;
            return Ok(running);
        }
        if processes == 1 {
            let all = WorkerSet::all(spec.workers);
            running.workers = Some(WorkerThreads::spawn(spec, all, to_collector, &running.stop)?);
            return Ok(running);
        }
        let Some(command) = &context.load_process else {
            return Err(RunError::TooManyConnections { connections: spec.connections, limit });
        };
        for process in 0..processes {
            let workers = WorkerSet::part(spec.workers, process, processes);
            let pipes = child(command()).map_err(RunError::Process)?;
            running.processes.push(LoadProcess::assign(pipes, spec, workers, to_collector.clone()));
        }
        Ok(running)
    }

    /// All workers begin a part at the instant of the order. `clocks` are those of the clients.
    pub fn start(&mut self, order: &PartStart, clocks: &[ClientClock]) {
        self.workers.iter().for_each(|workers| workers.start(order));
        for (number, process) in self.processes.iter_mut().enumerate() {
            let clock = clocks.get(number % clocks.len().max(1)).copied().unwrap_or_default();
            process.start(order, &clock);
        }
    }

    /// Asks all workers to end now and to send what they have.
    pub fn stop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.processes.iter_mut().for_each(LoadProcess::interrupt);
    }

    /// Returns an interval to a worker of this process, to be filled again.
    pub fn recycle(&self, interval: Option<(u32, Box<Interval>)>) {
        if let (Some(workers), Some((worker, interval))) = (&self.workers, interval) {
            workers.recycle(worker, interval);
        }
    }

    fn join(&mut self) {
        self.workers.take().into_iter().for_each(WorkerThreads::join);
        self.processes.drain(..).for_each(LoadProcess::join);
    }
}

impl Drop for SessionProcesses {
    fn drop(&mut self) {
        self.stop();
        self.join();
    }
}

/// Starts the processes of all clients at the same time: each start takes a round trip.
fn on_clients(
    clients: &[Arc<dyn LoadClient>],
    spec: &LoadSpec,
    processes: u32,
    to_collector: &mpsc::Sender<WorkerMessage>,
) -> Result<Vec<LoadProcess>, RunError> {
    let start = |process: u32| {
        let client = &clients[process as usize % clients.len()];
        let pipes = client.start().map_err(|error| lost(client.name(), &error))?;
        // A loopback address is one of each machine.
        let is_loopback = spec.addresses.iter().all(|to| to.ip().is_loopback());
        let sources = if is_loopback { None } else { client.source() };
        let spec = sources.map_or_else(|| spec.clone(), |source| spec.clone().with_sources(vec![source]));
        let workers = WorkerSet::part(spec.workers, process, processes);
        Ok(LoadProcess::assign(pipes, &spec, workers, to_collector.clone()))
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..processes).map(|process| scope.spawn(move || start(process))).collect();
        let joined = threads.into_iter().map(|thread| thread.join().expect("a start does not panic"));
        joined.collect()
    })
}

/// That a client cannot be asked.
pub(crate) fn lost(client: &str, error: &dyn std::fmt::Display) -> RunError {
    RunError::Client { client: client.to_owned(), failure: WorkerFailure::ProcessLost(error.to_string()) }
}
