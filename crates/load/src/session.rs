//! A load whose connections stay open: it opens them once, and then runs one part after another. Between two parts it uses
//! no CPU and sends nothing.
//!
//! So several servers can be up at once and be loaded in turns, for milliseconds each, without a new connection or a cold
//! worker at each turn. A whole run is a session with one part.

pub mod background;
mod clocks;
mod collector;
mod collectors;
pub mod engine;
pub mod outside_load;
mod processes;
pub mod slices;
mod spec_for_clients;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rustix::process::setpriority_process;
use rustix::thread::gettid;

use crate::clock::ClientClock;
use crate::clock::Nanos;
use crate::inputs::worker_share::share;
use crate::outcome::{
    ClientOutcome, LoadEvent, LoadObserver, LoadOutcome, RunContext, RunError, TimedInterval, of_client,
};
use crate::record::{ConnectionStats, Errors};
use crate::session::clocks::ClientClocks;
use crate::session::collector::{Collector, CompleteInterval};
use crate::session::collectors::ClientCollectors;
use crate::session::processes::SessionProcesses;
use crate::session::spec_for_clients::{check_for_clients, for_clients};
use crate::spec::{LoadPart, LoadSpec};
use crate::worker::{PartStart, WorkerFailure, WorkerMessage};
use crate::worker_groups::client::LoadClient;
use crate::worker_groups::processes::{connections_a_process, distribute};
use crate::worker_groups::threads::WorkerThreadsError;

/// From the order to begin to the begin, so that every worker receives the order in time: of threads, and of processes.
const LEAD: Duration = Duration::from_millis(2);
const LEAD_OF_PROCESSES: Duration = Duration::from_millis(20);

/// How long a client may be silent beside what its operations take: the connections of a large load are opened, and the order to end has
/// arrived. A host that is lost is noticed earlier, by its connection.
const SILENCE: Duration = Duration::from_mins(1);
/// The same after Ctrl-C.
const AFTER_INTERRUPTION: Duration = Duration::from_secs(20);

/// How long the collector waits for a message before it checks for an interruption.
const INTERRUPTION_CHECK: Duration = Duration::from_millis(50);

/// Open connections and the workers that have them. Dropping it closes them.
pub struct LoadSession {
    /// With the number of workers that run.
    spec: LoadSpec,
    operations: Vec<String>,
    counters: &'static [&'static str],
    running: SessionProcesses,
    processes: u32,
    messages: mpsc::Receiver<WorkerMessage>,
    /// Connections of all workers.
    opened: OpenedConnections,
    /// The clients with their connections, in the order of the context.
    clients: Vec<SessionClient>,
    clocks: ClientClocks,
}

/// Connections that are open before the load begins.
#[derive(Default)]
struct OpenedConnections {
    /// What opening them took: it belongs to the first part, and is taken from here by it.
    opening: ConnectionStats,
    open: u32,
    /// Why others are not.
    errors: Errors,
}

/// A client of a session.
struct SessionClient {
    name: String,
    opened: OpenedConnections,
    /// Why it can make no further load.
    failure: Option<WorkerFailure>,
}

impl LoadSession {
    /// Opens the connections of a load. An error if none opens.
    pub fn open(spec: &LoadSpec, context: &RunContext) -> Result<Self, RunError> {
        let is_interrupted = || context.interrupted.load(Ordering::Relaxed);
        Self::open_unless_interrupted(spec, context).map_err(|error| match error {
            // What waits for a client ends with the interruption.
            RunError::Client { .. } if is_interrupted() => RunError::Interrupted,
            other => other,
        })
    }

    fn open_unless_interrupted(spec: &LoadSpec, context: &RunContext) -> Result<Self, RunError> {
        let (operations, counters) = spec.protocol.names().map_err(WorkerThreadsError::from)?;
        let clients = context.clients.len() as u32;
        let room_there = context.clients.iter().map(|client| client.connections_a_process()).min();
        let limit = room_there.unwrap_or_else(connections_a_process);
        check_for_clients(spec, clients)?;
        let (processes, workers) = distribute(spec.connections, spec.workers, limit, clients.max(1));
        let spec = spec.clone().with_workers(workers);
        let (sender, messages) = mpsc::channel();
        let sent = if clients > 0 { for_clients(&spec)? } else { spec.clone() };
        let running = SessionProcesses::spawn(&Arc::new(sent), processes, limit, context, &sender)?;
        let client = |client: &Arc<dyn LoadClient>| SessionClient {
            name: client.name().to_owned(),
            opened: OpenedConnections::default(),
            failure: None,
        };
        let mut session = Self {
            spec,
            operations,
            counters,
            running,
            processes,
            messages,
            opened: OpenedConnections::default(),
            clients: context.clients.iter().map(client).collect(),
            clocks: ClientClocks::none(),
        };
        session.wait_until_ready(context)?;
        session.clocks = ClientClocks::compare(&context.clients)?;
        Ok(session)
    }

    /// Connections that are open from the start; 0 where each operation opens its own.
    pub fn opened(&self) -> u32 {
        self.opened.open
    }

    fn wait_until_ready(&mut self, context: &RunContext) -> Result<(), RunError> {
        let mut waiting: BTreeSet<u32> = (0..self.spec.workers).collect();
        let mut patience = Patience::new(Some(self.spec.timeout + SILENCE));
        while let Some(&late) = waiting.first() {
            if context.interrupted.load(Ordering::Relaxed) {
                self.running.stop();
                patience.end_after(AFTER_INTERRUPTION);
            }
            if !self.clients.is_empty() && patience.is_over() {
                let client = late as usize % self.clients.len();
                return Err(self.failed(client, silent()));
            }
            let message = match self.messages.recv_timeout(INTERRUPTION_CHECK) {
                Ok(message) => message,
                Err(mpsc::RecvTimeoutError::Timeout) => continue,
                Err(mpsc::RecvTimeoutError::Disconnected) => return Err(WorkerFailure::Lost.into()),
            };
            let client = message.worker() as usize % self.clients.len().max(1);
            let counted = [Some(&mut self.opened), self.clients.get_mut(client).map(|c| &mut c.opened)];
            match &message {
                WorkerMessage::Ready { worker, open, errors } => {
                    waiting.remove(worker);
                    for opened in counted.into_iter().flatten() {
                        opened.open += open;
                        opened.errors.merge(errors);
                    }
                }
                WorkerMessage::Interval { stats, .. } => {
                    counted.into_iter().flatten().for_each(|o| o.opening.merge(&stats.connections));
                }
                // There was no part yet.
                WorkerMessage::Singles { .. } => {}
                // An interrupted process may end before it is ready.
                WorkerMessage::Done { .. } if context.interrupted.load(Ordering::Relaxed) => {
                    return Err(RunError::Interrupted);
                }
                WorkerMessage::Done { failure, .. } => {
                    let failure = failure.clone().unwrap_or(WorkerFailure::Lost);
                    return Err(self.failed(client, failure));
                }
            }
        }
        if context.interrupted.load(Ordering::Relaxed) {
            return Err(RunError::Interrupted);
        }
        let OpenedConnections { open, errors, .. } = &self.opened;
        if let (0, Some((&kind, reason))) = (*open, errors.examples.iter().next()) {
            return Err(RunError::NothingOpens {
                between: self.between(),
                connections: errors.total(),
                kind,
                reason: reason.clone(),
            });
        }
        Ok(())
    }

    /// The clients and what they connect to, for a message.
    fn between(&self) -> String {
        let names: Vec<&str> = self.clients.iter().map(|client| client.name.as_str()).collect();
        let to = self.spec.addresses.first().map(ToString::to_string).unwrap_or_default();
        if names.is_empty() { String::new() } else { format!(" of {} to {to}", names.join(", ")) }
    }

    /// A worker's failure, with the name of its client if it has one.
    fn failed(&self, client: usize, failure: WorkerFailure) -> RunError {
        match self.clients.get(client) {
            Some(client) => RunError::Client { client: client.name.clone(), failure },
            None => failure.into(),
        }
    }

    /// Runs a part of the load. Calls `observe` meanwhile, one event after the other, from a thread with a lower priority
    /// than the workers. After an interruption, a worker's failure or the loss of a client, no further part can be run.
    pub fn run(
        &mut self,
        part: &LoadPart,
        context: &RunContext,
        observe: &mut LoadObserver<'_>,
    ) -> Result<LoadOutcome, RunError> {
        if let Some((client, failure)) = self.clients.iter().find_map(|c| Some((c, c.failure.clone()?))) {
            return Err(RunError::Client { client: client.name.clone(), failure });
        }
        self.clocks.refresh(&context.clients)?;
        let spec = LoadSpec { part: part.clone(), ..self.spec.clone() };
        let (operations, counters) = (self.operations.len(), self.counters.len());
        let mut collectors =
            ClientCollectors::new(self.clients.len() as u32, spec.workers, operations, counters);
        collectors.all.total.connections.merge(&std::mem::take(&mut self.opened.opening));
        for (client, collector) in self.clients.iter_mut().zip(&mut collectors.clients) {
            collector.own.total.connections.merge(&std::mem::take(&mut client.opened.opening));
        }
        observe(LoadEvent::Begins { opened: self.opened.open, errors: &self.opened.errors });
        let clocks: Vec<ClientClock> = self.clocks.all().to_vec();
        let lead = lead(self.processes, &clocks);
        let (start, clock_time) = (Nanos::now().after(lead), SystemTime::now() + lead);
        self.running.start(&PartStart { begin: start, part: part.clone() }, &clocks);
        let (messages, running) = (&mut self.messages, &mut self.running);
        let time = part
            .duration
            .map(|duration| lead + part.warmup + duration + part.idle_within + spec.timeout + SILENCE);
        let patience = Patience::new(time);
        let mut collectors = thread::scope(|scope| {
            let collecting = scope.spawn(move || {
                lower_priority();
                collect(collectors, messages, running, (context, patience), observe)
            });
            collecting.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })?;
        let is_interrupted = context.interrupted.load(Ordering::Relaxed);
        let is_whole = !is_interrupted && collectors.failure().is_none();
        let drifts = is_whole.then(|| self.clocks.drifts(&context.clients)).flatten();
        let timing = PartTiming { measured_from: start.after(part.warmup), began: clock_time + part.warmup };
        let mut outcome = self.outcome(collectors.all, &spec, &self.opened, &timing);
        (outcome.interrupted, outcome.processes) = (is_interrupted, self.processes);
        let number = self.clients.len() as u32;
        for (place, collector) in collectors.clients.into_iter().enumerate() {
            let client = &self.clients[place];
            let failure = collector.own.failure.clone();
            let connections = share(spec.connections.into(), place as u32, number) as u32;
            let spec = spec.clone().with_connections(connections).with_workers(spec.workers / number);
            let mut own = self.outcome(collector.own, &spec, &client.opened, &timing);
            (own.interrupted, own.processes) = (is_interrupted, self.processes / number);
            outcome.clients.push(ClientOutcome {
                name: client.name.clone(),
                clock: clocks[place],
                drift: drifts.as_ref().map(|drifts| drifts[place]),
                lost: failure.as_ref().map(|failure| of_client(&client.name, failure)),
                outcome: own,
            });
            self.clients[place].failure = failure;
        }
        Ok(outcome)
    }

    fn outcome(
        &self,
        collector: Collector,
        spec: &LoadSpec,
        opened: &OpenedConnections,
        timing: &PartTiming,
    ) -> LoadOutcome {
        let measured = collector.stopped.since(timing.measured_from).into();
        let draining = collector.ended.since(collector.stopped).into();
        let timed = |interval| TimedInterval::new(interval, spec.part.interval, (measured, draining));
        LoadOutcome {
            intervals: collector.intervals.into_iter().map(timed).collect(),
            measured,
            draining,
            due_before: spec.part.due_before,
            began: timing.began,
            spec: spec.clone(),
            operations: self.operations.clone(),
            counters: self.counters.iter().map(|&name| name.to_owned()).collect(),
            total: collector.total,
            drain: collector.drain,
            singles: collector.singles,
            opened: opened.open,
            setup_errors: opened.errors.clone(),
            interrupted: false,
            processes: 1,
            clients: Vec::new(),
        }
    }
}

/// How long clients are waited for. The processes of this machine are not watched: they are this program's.
struct Patience {
    until: Option<Instant>,
    is_shortened: bool,
}

impl Patience {
    /// For this time; without one, until it is shortened.
    fn new(time: Option<Duration>) -> Self {
        Self { until: time.map(|time| Instant::now() + time), is_shortened: false }
    }

    /// From now on, for this time at most. Later calls change nothing.
    fn end_after(&mut self, time: Duration) {
        if !std::mem::replace(&mut self.is_shortened, true) {
            let end = Instant::now() + time;
            self.until = Some(self.until.map_or(end, |until| until.min(end)));
        }
    }

    fn is_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }
}

/// A client that does not report.
fn silent() -> WorkerFailure {
    WorkerFailure::ProcessLost("its load process does not report: check the host".to_owned())
}

/// When the measured time of a part begins.
struct PartTiming {
    measured_from: Nanos,
    began: SystemTime,
}

/// How long before its begin the order for a part is sent.
fn lead(processes: u32, clocks: &[ClientClock]) -> Duration {
    let of_clients = clocks.iter().map(|clock| Duration::from_nanos(clock.round_trip_ns)).max();
    match of_clients {
        // The order of a large part may take longer than an exchange.
        Some(round_trip) => LEAD_OF_PROCESSES + 2 * round_trip,
        None if processes == 1 => LEAD,
        None => LEAD_OF_PROCESSES,
    }
}

/// Gives the calling thread the lowest priority. It shares the workers' CPUs: merging and compacting an interval takes more
/// than half a millisecond, and no reply would be read during that time.
fn lower_priority() {
    // Where that is not allowed, replies are read late at the end of intervals.
    let _ = setpriority_process(Some(gettid()), 19);
}

/// Takes the workers' messages until all have ended the part. Returns what they measured. When a client is lost, the load of
/// the others ends, too, and what they have measured is kept.
fn collect(
    mut collectors: ClientCollectors,
    messages: &mut mpsc::Receiver<WorkerMessage>,
    running: &mut SessionProcesses,
    (context, mut patience): (&RunContext, Patience),
    observe: &mut LoadObserver<'_>,
) -> Result<ClientCollectors, RunError> {
    while !collectors.all.all_done() {
        if context.interrupted.load(Ordering::Relaxed) {
            running.stop();
            patience.end_after(AFTER_INTERRUPTION);
        }
        if let Some(failure) = collectors.failure() {
            if collectors.clients.is_empty() {
                return Err(failure.into());
            }
            running.stop();
            patience.end_after(SILENCE);
        }
        if patience.is_over() && !collectors.clients.is_empty() {
            collectors.give_up(&silent());
        }
        match messages.recv_timeout(INTERRUPTION_CHECK) {
            Ok(message) => running.recycle(collectors.take(message)),
            Err(mpsc::RecvTimeoutError::Timeout) => continue,
            Err(mpsc::RecvTimeoutError::Disconnected) => return Err(WorkerFailure::Lost.into()),
        }
        while let Some(CompleteInterval { worker, index, stats }) = collectors.all.next_complete() {
            observe(LoadEvent::Tick { index, stats: &stats });
            running.recycle(Some((worker, stats)));
        }
    }
    match collectors.failure() {
        Some(failure) if collectors.clients.is_empty() => Err(failure.into()),
        _ => Ok(collectors),
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_clients;
