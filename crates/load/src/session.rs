//! A load whose connections stay open: it opens them once, and then runs one part after another. Between two parts it uses
//! no CPU and sends nothing.
//!
//! So several servers can be up at once and be loaded in turns, for milliseconds each, without a new connection or a cold
//! worker at each turn. A whole run is a session with one part.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, SystemTime};

use rustix::process::setpriority_process;
use rustix::thread::gettid;

use crate::clock::Nanos;
use crate::collector::{Collector, CompleteInterval};
use crate::outcome::{LoadEvent, LoadObserver, LoadOutcome, RunContext, RunError, TimedInterval};
use crate::processes::{LoadProcess, connections_a_process, distribute};
use crate::record::{ConnectionStats, Errors, Interval};
use crate::spec::{LoadPart, LoadSpec};
use crate::worker::{PartStart, WorkerFailure, WorkerMessage};
use crate::worker_threads::{WorkerThreads, WorkerThreadsError};

/// From the order to begin to the begin, so that every worker receives the order in time: of threads, and of processes.
const LEAD: Duration = Duration::from_millis(2);
const LEAD_OF_PROCESSES: Duration = Duration::from_millis(20);

/// How long the collector waits for a message before it checks for an interruption.
const INTERRUPTION_CHECK: Duration = Duration::from_millis(50);

/// Open connections and the workers that have them. Dropping it closes them.
pub struct LoadSession {
    /// With the number of workers that run.
    spec: LoadSpec,
    operations: Vec<String>,
    counters: &'static [&'static str],
    running: LoadProcesses,
    processes: u32,
    /// What opening the connections took: it belongs to the first part, and is taken from here by it.
    opening: ConnectionStats,
    messages: mpsc::Receiver<WorkerMessage>,
    /// Connections that are open.
    opened: u32,
    /// Why others are not.
    setup_errors: Errors,
}

impl LoadSession {
    /// Opens the connections of a load. An error if none opens.
    pub fn open(spec: &LoadSpec, context: &RunContext) -> Result<Self, RunError> {
        let (operations, counters) = spec.protocol.names().map_err(WorkerThreadsError::from)?;
        let limit = connections_a_process();
        let (processes, workers) = distribute(spec.connections, spec.workers, limit);
        let spec = LoadSpec { workers, ..spec.clone() };
        let (sender, messages) = mpsc::channel();
        let running = LoadProcesses::spawn(&Arc::new(spec.clone()), processes, limit, context, &sender)?;
        let mut session = Self {
            spec,
            operations,
            counters,
            running,
            processes,
            opening: ConnectionStats::default(),
            messages,
            opened: 0,
            setup_errors: Errors::default(),
        };
        session.wait_until_ready(context)?;
        Ok(session)
    }

    /// Connections that are open from the start; 0 where each operation opens its own.
    pub fn opened(&self) -> u32 {
        self.opened
    }

    fn wait_until_ready(&mut self, context: &RunContext) -> Result<(), RunError> {
        let mut waiting = self.spec.workers;
        while waiting > 0 {
            if context.interrupted.load(Ordering::Relaxed) {
                self.running.stop();
            }
            match self.messages.recv_timeout(INTERRUPTION_CHECK) {
                Ok(WorkerMessage::Ready { open, errors, .. }) => {
                    waiting -= 1;
                    self.opened += open;
                    self.setup_errors.merge(&errors);
                }
                Ok(WorkerMessage::Done { failure, .. }) => {
                    return Err(failure.unwrap_or(WorkerFailure::Lost).into());
                }
                Ok(WorkerMessage::Interval { stats, .. }) => self.opening.merge(&stats.connections),
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => return Err(WorkerFailure::Lost.into()),
            }
        }
        if context.interrupted.load(Ordering::Relaxed) {
            return Err(RunError::Interrupted);
        }
        if let (0, Some((&kind, reason))) = (self.opened, self.setup_errors.examples.iter().next()) {
            let connections = self.setup_errors.total();
            return Err(RunError::NothingOpens { connections, kind, reason: reason.clone() });
        }
        Ok(())
    }

    /// Runs a part of the load. Calls `observe` meanwhile, one event after the other, from a thread with a lower priority
    /// than the workers. After an interruption, or a worker's failure, no further part can be run.
    pub fn run(
        &mut self,
        part: &LoadPart,
        context: &RunContext,
        observe: &mut LoadObserver<'_>,
    ) -> Result<LoadOutcome, RunError> {
        let spec = LoadSpec { part: part.clone(), ..self.spec.clone() };
        let (operations, counters) = (self.operations.len(), self.counters.len());
        let mut collector = Collector::new(spec.workers, operations, counters);
        collector.total.connections.merge(&std::mem::take(&mut self.opening));
        observe(LoadEvent::Begins { opened: self.opened, errors: &self.setup_errors });
        let lead = if self.processes == 1 { LEAD } else { LEAD_OF_PROCESSES };
        let (start, clock_time) = (Nanos::now().after(lead), SystemTime::now() + lead);
        self.running.start(&PartStart { begin: start, part: part.clone() });
        let (messages, running) = (&mut self.messages, &mut self.running);
        let collector = thread::scope(|scope| {
            let collecting = scope.spawn(move || {
                lower_priority();
                collect(collector, messages, running, context, observe)
            });
            collecting.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })?;
        let measured = collector.stopped.since(start.after(spec.part.warmup)).into();
        let draining = collector.ended.since(collector.stopped).into();
        let timed = |interval| TimedInterval::new(interval, spec.part.interval, (measured, draining));
        Ok(LoadOutcome {
            intervals: collector.intervals.into_iter().map(timed).collect(),
            measured,
            draining,
            began: clock_time + spec.part.warmup,
            spec,
            operations: self.operations.clone(),
            counters: self.counters.iter().map(|&name| name.to_owned()).collect(),
            total: collector.total,
            drain: collector.drain,
            opened: self.opened,
            setup_errors: self.setup_errors.clone(),
            interrupted: context.interrupted.load(Ordering::Relaxed),
            processes: self.processes,
        })
    }
}

/// Gives the calling thread the lowest priority. It shares the workers' CPUs: merging and compacting an interval takes more
/// than half a millisecond, and no reply would be read during that time.
fn lower_priority() {
    // Where that is not allowed, replies are read late at the end of intervals.
    let _ = setpriority_process(Some(gettid()), 19);
}

/// Takes the workers' messages until all have ended the part. Returns what they measured.
fn collect(
    mut collector: Collector,
    messages: &mut mpsc::Receiver<WorkerMessage>,
    running: &mut LoadProcesses,
    context: &RunContext,
    observe: &mut LoadObserver<'_>,
) -> Result<Collector, RunError> {
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
        while let Some(CompleteInterval { worker, index, stats }) = collector.next_complete() {
            observe(LoadEvent::Tick { index, stats: &stats });
            running.recycle(Some((worker, stats)));
        }
    }
    match collector.failure.take() {
        Some(failure) => Err(failure.into()),
        None => Ok(collector),
    }
}

/// All workers of a session, in this process or in others. Dropping it ends them.
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

    /// All workers begin a part at the instant of the order.
    fn start(&mut self, order: &PartStart) {
        self.workers.iter().for_each(|workers| workers.start(order));
        self.processes.iter_mut().for_each(|process| process.start(order));
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

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpListener};
    use std::sync::atomic::AtomicU32;

    use super::*;
    use crate::drivers::ProtocolSpec;
    use crate::drivers::http::{HttpOperation, HttpSpec};
    use crate::outcome::IntervalStage;
    use crate::record::RecordedTimes as _;
    use crate::spec::{Arrivals, Shape};

    /// A server that answers everything at once, and the number of connections that it has accepted.
    fn server() -> (SocketAddr, Arc<AtomicU32>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let accepted = Arc::new(AtomicU32::new(0));
        let count = accepted.clone();
        thread::spawn(move || {
            for mut client in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::Relaxed);
                thread::spawn(move || {
                    while client.read(&mut [0; 1024]).is_ok_and(|bytes| bytes > 0) {
                        let _ = client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
                    }
                });
            }
        });
        (address, accepted)
    }

    fn spec(address: SocketAddr) -> LoadSpec {
        let protocol = HttpSpec { authority: address.to_string(), operations: vec![HttpOperation::get("/")] };
        LoadSpec::closed(ProtocolSpec::Http(protocol), address, 4).with_duration(None).with_requests(20)
    }

    fn run(session: &mut LoadSession, part: &LoadPart) -> LoadOutcome {
        session.run(part, &RunContext::default(), &mut |_| {}).expect("an outcome")
    }

    #[test]
    fn parts_share_connections_and_have_their_own_counts() {
        let (address, accepted) = server();
        let spec = spec(address);
        let mut session = LoadSession::open(&spec, &RunContext::default()).expect("a session");
        for requests in [20, 30, 40] {
            let part = LoadPart { requests: Some(requests), ..spec.part.clone() };
            let outcome = run(&mut session, &part);
            assert_eq!((outcome.total.succeeded(), outcome.total.errors().total()), (requests, 0));
        }
        let shape = Shape::open(10_000.0, Arrivals::Constant);
        let outcome = run(&mut session, &LoadPart { shape, requests: Some(50), ..spec.part.clone() });
        assert_eq!(outcome.total.succeeded(), 50, "a closed loop can be followed by an open one");
        assert_eq!(accepted.load(Ordering::Relaxed), 4);
    }

    #[test]
    fn two_sessions_take_turns() {
        let servers = [server(), server()];
        let mut sessions = servers.each_ref().map(|(address, _)| {
            LoadSession::open(&spec(*address), &RunContext::default()).expect("a session")
        });
        for _ in 0..10 {
            for session in &mut sessions {
                let part = session.spec.part.clone();
                assert_eq!(run(session, &part).total.succeeded(), 20);
            }
        }
        for (_, accepted) in &servers {
            assert_eq!(accepted.load(Ordering::Relaxed), 4);
        }
    }

    #[test]
    fn connections_of_a_warm_up_are_not_measured_and_the_first_ones_are() {
        let (address, accepted) = server();
        let spec = spec(address).with_requests_per_connection(5);
        let mut session = LoadSession::open(&spec, &RunContext::default()).expect("a session");
        let (warmup, duration) = (Duration::from_millis(300), Some(Duration::from_millis(100)));
        let part = LoadPart { warmup, duration, requests: None, ..spec.part.clone() };
        let outcome = run(&mut session, &part);
        drop(session);
        let before = outcome.intervals.iter().filter(|interval| interval.stage == IntervalStage::WarmUp);
        let in_warm_up: u64 = before.map(|interval| interval.stats.connections.connect.count()).sum();
        let measured = outcome.total.connections.connect.len();
        assert_eq!(measured + in_warm_up, u64::from(accepted.load(Ordering::Relaxed)));
    }

    #[test]
    fn a_connection_that_the_server_closed_between_two_parts_is_opened_again() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        thread::spawn(move || {
            for mut client in listener.incoming().flatten() {
                thread::spawn(move || {
                    for _ in 0..5 {
                        if !client.read(&mut [0; 1024]).is_ok_and(|bytes| bytes > 0) {
                            return;
                        }
                        let _ = client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
                    }
                });
            }
        });
        let spec = LoadSpec { connections: 1, ..spec(address) };
        let mut session = LoadSession::open(&spec, &RunContext::default()).expect("a session");
        let part = LoadPart { requests: Some(5), ..spec.part.clone() };
        for _ in 0..3 {
            assert_eq!(run(&mut session, &part).total.succeeded(), 5);
            // The close needs a moment to arrive.
            thread::sleep(Duration::from_millis(20));
        }
    }
}
