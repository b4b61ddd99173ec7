//! A worker: one thread, one epoll instance, a share of the connections and of the load.
//!
//! The loop begins what is due, waits for sockets until the next instant, and gives each socket with an event its turn.
//! After each turn it checks again what is due, so that a batch of replies does not delay the schedule. The parts are
//! layers; none uses those above it:
//!
//! | part | what it decides |
//! |---|---|
//! | this loop | when to wait and when to stop |
//! | [`operations`] | the life of an operation on its connection |
//! | [`transport`], [`driver_session`] | the life of a connection; a driver's turns |
//! | [`link`] over [`stamp`], [`pacing`] over [`schedule`] and [`walks`], [`meter`], [`poller`] | bytes; what is due when; what is recorded; waiting |
//! | [`clock`], [`wall_clock`] | the time of an instant, and of a receive timestamp |
//! | [`cpu`], [`own_cpu`] | the CPU time that it uses, and whether it has a CPU for itself |

#![expect(
    clippy::inline_always,
    reason = "returns after a system call are expensive, see `operations`; measured"
)]

mod clock;
mod connection;
mod connection_id;
mod cpu;
mod driver_session;
mod link;
mod message;
mod meter;
mod operations;
mod own_cpu;
mod pacing;
mod poller;
mod schedule;
mod stamp;
mod transport;
mod walks;
mod wall_clock;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use rustix::io::Errno;

use self::connection_id::ConnectionId;
use self::meter::Meter;
use self::operations::Operations;
use self::own_cpu::RunningWorker;
use self::pacing::Pacer;
use self::schedule::Schedule;
use self::transport::Dialer;
use crate::clock::Nanos;
use crate::driver::Driver;
use crate::record::{ErrorKind, Interval, Singles};
use crate::spec::{LoadPart, LoadSpec, Shape};
use crate::tls::TlsContext;

pub use self::message::WorkerFailure;
pub(crate) use self::message::{PartStart, WorkerMessage};

/// Connections opened at once before the start: fewer than fit into a listen queue, because an overflow of the queue costs
/// a retransmission after a second.
const OPENING_AT_ONCE: u32 = 100;
/// For this long after the end, operations that still wait for a connection may begin.
const BACKLOG_GRACE: Duration = Duration::from_secs(2);
/// Waits are checked for timeouts at least this often.
const TIMEOUT_CHECK: Duration = Duration::from_millis(100);
/// After an interruption, the worker waits for replies for this long. A part without an end of its own is not cut short
/// when it is stopped: its operations have their whole timeout.
const INTERRUPT_GRACE: Duration = Duration::from_millis(100);

/// The input of one worker.
pub(crate) struct WorkerContext {
    pub spec: Arc<LoadSpec>,
    pub worker: u32,
    pub tls: Option<TlsContext>,
    pub to_collector: Sender<WorkerMessage>,
    pub cleared: Receiver<Box<Interval>>,
    /// Receives the order to begin a part of the load; closed when there is none left.
    pub start: Receiver<PartStart>,
    /// Set to end the part early.
    pub stop: Arc<AtomicBool>,
}

/// Opens the connections and runs one part of the load after another, each when its order comes.
pub(crate) fn run<D: Driver>(driver: D, context: WorkerContext) {
    let reports = PartReports::new(&context);
    let outcome = Worker::new(driver, context).and_then(|mut worker| worker.run_parts(&reports));
    reports.close(outcome.map_err(WorkerFailure::from));
}

/// Reports the end of each part to the collector, and a worker that is gone, also after a panic: a run does not wait for
/// it.
pub(crate) struct PartReports {
    worker: u32,
    to_collector: Sender<WorkerMessage>,
    is_closed: bool,
}

impl PartReports {
    pub fn new(context: &WorkerContext) -> Self {
        Self { worker: context.worker, to_collector: context.to_collector.clone(), is_closed: false }
    }

    /// A part has ended; the worker began operations until `stopped`.
    pub fn ended(&self, stopped: Nanos) {
        self.done(stopped, None);
    }

    /// The worker runs no further part: there is none, or it cannot go on.
    pub fn close(mut self, outcome: Result<(), WorkerFailure>) {
        self.is_closed = true;
        if let Err(failure) = outcome {
            self.done(Nanos::now(), Some(failure));
        }
    }

    fn done(&self, stopped: Nanos, failure: Option<WorkerFailure>) {
        let done = WorkerMessage::Done { worker: self.worker, stopped, ended: Nanos::now(), failure };
        // A collector that is gone has ended the run.
        let _ = self.to_collector.send(done);
    }
}

impl Drop for PartReports {
    fn drop(&mut self) {
        if !self.is_closed {
            self.done(Nanos::now(), Some(WorkerFailure::Panicked));
        }
    }
}

struct Worker<D: Driver> {
    context: WorkerContext,
    operations: Operations<D>,
    /// When waits are next checked for timeouts.
    next_sweep: Nanos,
    /// The part ends from here on as soon as no operation is in flight.
    idle_from: Nanos,
    /// No operation is due from here on.
    end: Nanos,
    /// The worker ends even with operations in flight.
    give_up: Nanos,
    /// How long replies are waited for after a stop.
    stop_grace: Duration,
}

impl<D: Driver> Worker<D> {
    fn new(driver: D, mut context: WorkerContext) -> Result<Self, Errno> {
        let first = Box::new(Interval::new(driver.operations().len(), driver.counters().len()));
        let (_, closed) = std::sync::mpsc::channel();
        let cleared = std::mem::replace(&mut context.cleared, closed);
        let meter = Meter::new(first, context.worker, context.to_collector.clone(), cleared);
        let dialer = Dialer::new(&context.spec, context.worker, context.tls.take());
        let operations = Operations::new(driver, &context.spec, context.worker, dialer, meter)?;
        Ok(Self {
            context,
            operations,
            next_sweep: Nanos(0),
            idle_from: Nanos::NEVER,
            end: Nanos::NEVER,
            give_up: Nanos::NEVER,
            stop_grace: INTERRUPT_GRACE,
        })
    }

    /// Opens the connections, reports that it is ready, and runs each part until there is none left.
    fn run_parts(&mut self, reports: &PartReports) -> Result<(), Errno> {
        let spec = &self.context.spec;
        // A visit brings its connection.
        let has_visits = spec.users.is_some() && matches!(spec.part.shape, Shape::Open { .. });
        if spec.requests_per_connection != Some(1) && !has_visits {
            self.open_all()?;
        }
        self.operations.meter.opened();
        let ready = WorkerMessage::Ready {
            worker: self.context.worker,
            open: self.operations.counts.open(),
            errors: std::mem::take(&mut self.operations.setup_errors),
        };
        let _ = self.context.to_collector.send(ready);
        while let Ok(PartStart { begin, part }) = self.context.start.recv() {
            let _running = RunningWorker::begin();
            self.begin_part(begin, &part)?;
            while !self.is_over() {
                self.turn()?;
            }
            reports.ended(self.end_part());
        }
        Ok(())
    }

    /// Sends the last interval of a part. Returns when the worker stopped to begin operations.
    fn end_part(&mut self) -> Nanos {
        let now = self.operations.tick();
        self.give_up_waiting(Nanos(0));
        let (offered, spun) = self.take_counts(Nanos(0));
        let silent = self.operations.silent();
        let Operations { meter, counts, .. } = &mut self.operations;
        meter.stats.connections.silent = silent;
        meter.finish(now, offered, spun, counts.open());
        if let Some(singles) = self.operations.singles.take() {
            let message =
                WorkerMessage::Singles { worker: self.context.worker, operations: singles.finish() };
            let _ = self.context.to_collector.send(message);
        }
        if let Some(users) = self.operations.pacer.take().and_then(|pacer| pacer.into_users(now)) {
            self.operations.users = Some(users);
        }
        self.end.min(now)
    }

    /// Opens every connection, a few at once, each tried once.
    fn open_all(&mut self) -> Result<(), Errno> {
        let slots = self.operations.slots();
        let mut next: ConnectionId = 0;
        while (next < slots || self.operations.counts.opening() > 0)
            && !self.context.stop.load(Ordering::Relaxed)
        {
            while next < slots && self.operations.counts.opening() < OPENING_AT_ONCE {
                self.operations.open(next);
                next += 1;
            }
            self.sweep_if_time();
            self.serve(self.next_sweep)?;
            // If one connection waits for the whole timeout, so would every other connection.
            let errors = &mut self.operations.setup_errors;
            if next < slots && errors.counts.contains_key(&ErrorKind::Timeout) {
                errors.add(ErrorKind::Timeout, u64::from(slots - next), "");
                next = slots;
            }
        }
        Ok(())
    }

    fn begin_part(&mut self, begin: Nanos, part: &LoadPart) -> Result<(), Errno> {
        let (worker, workers) = (self.context.worker, self.context.spec.workers);
        self.give_up = Nanos::NEVER;
        let has_end = part.duration.is_some() || part.requests.is_some();
        self.stop_grace = if has_end { INTERRUPT_GRACE } else { self.context.spec.timeout + TIMEOUT_CHECK };
        self.operations.reseed(part.seed_of(worker, 0));
        let measured_from = begin.after(part.warmup);
        self.idle_from = part.duration.map_or(Nanos::NEVER, |duration| measured_from.after(duration));
        self.end = self.idle_from.after(part.idle_within);
        let due_from = Nanos(measured_from.0.saturating_sub(Nanos::from(part.due_before).0));
        let (remaining, measured) = (part.requests_of(worker, workers), due_from..self.end);
        let pacer = match (&part.shape, self.operations.users.take()) {
            (Shape::Closed { .. }, Some(users)) => Pacer::users(users, remaining, measured),
            (Shape::Closed { think }, None) => Pacer::closed(*think, remaining, measured),
            (Shape::Open { rate, arrivals }, users) => {
                let place = (worker, workers);
                let seed = part.seed_of(worker, 1);
                let first_due = Nanos(begin.0.saturating_sub(Nanos::from(part.due_before).0));
                let schedule = Schedule::new(rate, *arrivals, part.warmup, first_due, place, seed);
                match users {
                    Some(users) => Pacer::visits(users, schedule, remaining, measured),
                    None => Pacer::open(schedule, remaining, measured),
                }
            }
        };
        // Events from the time since the last part, or in which other workers opened their connections; there is no time
        // to wait for more.
        self.serve(Nanos(0))?;
        std::thread::sleep(begin.since(Nanos::now()).into());
        self.operations.singles = Singles::new(part.singles, measured_from, part.seed_of(worker, 2));
        self.operations.meter.start(begin, (measured_from, due_from), part.interval, self.end);
        self.operations.pacer = Some(pacer);
        for id in 0..self.operations.slots() {
            self.operations.join(id, begin);
        }
        Ok(())
    }

    /// A run has its full length even if nothing falls due in its last part: that is part of the load.
    fn is_over(&self) -> bool {
        let Operations { now, in_flight, pacer, .. } = &self.operations;
        let nothing_is_left =
            |pacer: &Pacer| pacer.is_finished() && (*now >= self.end || pacer.is_exhausted());
        (*in_flight == 0 && pacer.as_ref().is_some_and(nothing_is_left)) || *now >= self.give_up
    }

    /// One round: begins what is due, waits, gives sockets their turns.
    fn turn(&mut self) -> Result<(), Errno> {
        self.operations.tick();
        if self.give_up == Nanos::NEVER && self.context.stop.load(Ordering::Relaxed) {
            self.stop();
        }
        self.keep_up();
        if self.is_over() {
            return Ok(());
        }
        self.sweep_if_time();
        if self.end > self.operations.now && (self.operations.is_used_up() || self.is_idle()) {
            self.end_now();
            if self.is_over() {
                return Ok(());
            }
        }
        let Operations { pacer, meter, .. } = &self.operations;
        let next_due = pacer.as_ref().map_or(Nanos::NEVER, Pacer::next_due);
        self.serve(next_due.min(meter.end()).min(self.next_sweep).min(self.give_up))
    }

    /// From now on no operation begins, and operations that wait for a connection are dropped.
    fn stop(&mut self) {
        let now = self.operations.now;
        self.end = self.end.min(now);
        self.give_up = now.after(self.stop_grace);
        self.operations.meter.stop(now);
        if let Some(pacer) = &mut self.operations.pacer {
            pacer.stop(now);
        }
        self.give_up_waiting(Nanos::NEVER);
    }

    /// Nothing is in flight, and the part has its length.
    fn is_idle(&self) -> bool {
        let Operations { now, in_flight, pacer, .. } = &self.operations;
        *in_flight == 0 && *now >= self.idle_from && pacer.as_ref().is_some_and(|pacer| !pacer.is_behind())
    }

    /// No operation begins any more: the part ends with the operations in flight.
    #[cold]
    fn end_now(&mut self) {
        let now = self.operations.now;
        self.end = now;
        self.operations.meter.stop(now);
        if let Some(pacer) = &mut self.operations.pacer {
            pacer.stop(now);
            pacer.drop_waiting(Nanos::NEVER);
        }
    }

    /// Ends intervals that are over by the last reading of the clock, and begins everything that is due.
    #[inline]
    fn keep_up(&mut self) {
        let now = self.operations.now;
        let end = self.operations.meter.end();
        if now >= end {
            let (offered, spun) = self.take_counts(end);
            let open = self.operations.counts.open();
            self.operations.meter.roll(now, offered, spun, open);
        }
        let operations = &mut self.operations;
        while !operations.is_used_up()
            && let Some(assignment) = operations.pacer.as_mut().and_then(|p| p.due(operations.now))
        {
            operations.assign(assignment);
        }
    }

    /// Operations that fell due, those before `until` also if they have yet to begin, and the time spent spinning.
    fn take_counts(&mut self, until: Nanos) -> (u64, Nanos) {
        let Operations { pacer, poller, meter, .. } = &mut self.operations;
        if let Some(pacer) = pacer {
            pacer.take_users(&mut meter.stats.users);
        }
        (pacer.as_mut().map_or(0, |pacer| pacer.take_offered(until)), poller.take_spun())
    }

    /// Waits for events of sockets until `until`, then gives each socket with an event its turn.
    fn serve(&mut self, until: Nanos) -> Result<(), Errno> {
        let until = if self.operations.queued.is_empty() { until } else { Nanos(0) };
        let woken = self.operations.wait(until)?;
        for at in 0..self.operations.poller.len() {
            let (token, ended) = self.operations.poller.event(at);
            self.operations.on_event(token, ended, woken);
            self.keep_up();
        }
        for id in std::mem::take(&mut self.operations.queued) {
            self.operations.resume(id, woken);
            self.keep_up();
        }
        Ok(())
    }

    /// Ends waits that have timed out; runs twelve times in the length of a timeout.
    fn sweep_if_time(&mut self) {
        let now = self.operations.now;
        if now < self.next_sweep {
            return;
        }
        let timeout = self.context.spec.timeout;
        let pause = (timeout / 12).clamp(Duration::from_millis(1), TIMEOUT_CHECK);
        self.next_sweep = now.after(pause);
        self.operations.time_out();
        let is_late = now >= self.end.after(BACKLOG_GRACE);
        let since = if is_late { Nanos::NEVER } else { now.since(timeout.into()) };
        self.give_up_waiting(since);
    }

    /// Counts operations that have waited for a connection since before `since` as unsent.
    fn give_up_waiting(&mut self, since: Nanos) {
        let Operations { pacer, meter, .. } = &mut self.operations;
        let dropped = pacer.as_mut().map_or(0, |pacer| pacer.drop_waiting(since));
        if dropped > 0 {
            let example = "no connection became free in time";
            meter.stats.connections.errors.add(ErrorKind::Unsent, dropped, example);
        }
    }
}
