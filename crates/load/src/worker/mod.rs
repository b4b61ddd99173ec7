//! A worker: one thread, one epoll instance, a share of the connections and of the load.
//!
//! The loop begins what is due, waits for sockets until the next instant that matters, and lets each socket
//! that has something to say take its turn. What is due is looked at again after each turn, so that a batch
//! of replies does not hold up the schedule. The parts know nothing of each other: [`pacing`] decides what
//! begins when, [`poller`] waits, [`link`] moves bytes, [`meter`] records, the driver speaks the protocol.

mod connection;
mod link;
mod message;
mod meter;
mod pacing;
mod poller;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use rustix::io::Errno;

use self::connection::{Connection, Job, Phase};
use self::link::{Link, LinkError, Received};
use self::meter::Meter;
use self::pacing::{Assignment, ConnectionId, Pacer, Schedule};
use self::poller::Poller;
use crate::clock::Nanos;
use crate::driver::{Driver, Step, Turn};
use crate::record::{ErrorKind, Errors, Interval, record};
use crate::spec::{LoadSpec, Shape};
use crate::tls::TlsContext;

pub(crate) use self::message::FromWorker;

/// Cipher text or plain bytes taken from a socket at once.
const WIRE_BUFFER: usize = 64 * 1024;
/// Longer than the above by more than a TLS record, see [`Link::receive`].
const INPUT_BUFFER: usize = WIRE_BUFFER + 32 * 1024;
/// Reads that a connection may take in one turn before the others have theirs.
const READS_A_TURN: u32 = 2;
/// Connections opened at once before the start: fewer than a listen queue holds, for an overflowing queue
/// costs a retransmission after a second.
const OPENING_AT_ONCE: u32 = 100;
/// First pause before a connection that failed is tried again; it doubles up to the longest.
const FIRST_BACKOFF: Duration = Duration::from_millis(10);
const LONGEST_BACKOFF: Duration = Duration::from_secs(1);
/// After the end, operations that still wait for a connection are begun for so long.
const BACKLOG_GRACE: Duration = Duration::from_secs(2);
/// After an interruption, replies are waited for so long.
const INTERRUPT_GRACE: Duration = Duration::from_millis(100);

/// Everything that one worker runs with.
pub(crate) struct Context {
    pub spec: Arc<LoadSpec>,
    pub worker: u32,
    pub tls: Option<TlsContext>,
    pub to_collector: std::sync::mpsc::Sender<FromWorker>,
    pub cleared: std::sync::mpsc::Receiver<Box<Interval>>,
    /// Gives the instant at which the run begins; closed if there will be none.
    pub start: std::sync::mpsc::Receiver<Nanos>,
    pub interrupted: Arc<AtomicBool>,
}

/// Opens the connections, waits for the start, runs, and tells the collector that it is over.
pub(crate) fn run<D: Driver>(driver: D, context: Context) {
    let (worker, to_collector) = (context.worker, context.to_collector.clone());
    let failure = Worker::new(driver, context).and_then(Worker::live).err();
    let failure = failure.map(|errno| format!("epoll: {}", std::io::Error::from(errno)));
    let _ = to_collector.send(FromWorker::Done { worker, at: Nanos::now(), failure });
}

struct Worker<D: Driver> {
    driver: D,
    context: Context,
    address: SocketAddr,
    timeout: Duration,
    uses_limit: u32,
    poller: Poller,
    /// None until the run begins.
    pacer: Option<Pacer>,
    meter: Meter,
    connections: Vec<Connection<D::Dialogue>>,
    /// When each connection's wait is too long; apart from the rest, so that a sweep over them is cheap.
    deadlines: Vec<Nanos>,
    next_sweep: Nanos,
    /// Connections whose turn was cut short.
    queued: Vec<ConnectionId>,
    rng: Pcg64Mcg,
    out: Vec<u8>,
    input: Vec<u8>,
    wire: Vec<u8>,
    /// Slots that have an operation to do.
    in_flight: u32,
    opening: u32,
    open: u32,
    setup_errors: Errors,
    /// The last reading of the clock.
    latest: Nanos,
    /// No operation is due from here on.
    end: Nanos,
    /// Operations in flight are given up.
    give_up: Nanos,
}

impl<D: Driver> Worker<D> {
    fn new(driver: D, mut context: Context) -> Result<Self, Errno> {
        let spec = context.spec.clone();
        let slots = spec.connections_of(context.worker);
        let first = Box::new(Interval::new(driver.operations().len(), driver.tallies().len()));
        let (_, nobody) = std::sync::mpsc::channel();
        let cleared = std::mem::replace(&mut context.cleared, nobody);
        let meter = Meter::new(first, context.worker, context.to_collector.clone(), cleared);
        Ok(Self {
            address: spec.address,
            timeout: spec.timeout,
            uses_limit: spec.requests_per_connection.unwrap_or(u32::MAX),
            poller: Poller::new()?,
            pacer: None,
            meter,
            connections: (0..slots).map(|_| Connection::new()).collect(),
            deadlines: vec![Nanos::NEVER; slots as usize],
            next_sweep: Nanos(0),
            queued: Vec::new(),
            rng: Pcg64Mcg::seed_from_u64(spec.seed_of(context.worker, 0)),
            out: Vec::with_capacity(4096),
            input: vec![0; INPUT_BUFFER],
            wire: if context.tls.is_some() { vec![0; WIRE_BUFFER] } else { Vec::new() },
            in_flight: 0,
            opening: 0,
            open: 0,
            setup_errors: Errors::default(),
            latest: Nanos::now(),
            end: Nanos::NEVER,
            give_up: Nanos::NEVER,
            driver,
            context,
        })
    }

    fn live(mut self) -> Result<(), Errno> {
        if self.uses_limit > 1 {
            self.open_all()?;
        }
        let errors = std::mem::take(&mut self.setup_errors);
        let _ = self.context.to_collector.send(FromWorker::Ready {
            worker: self.context.worker,
            open: self.open,
            errors,
        });
        let Ok(begin) = self.context.start.recv() else { return Ok(()) };
        self.begin_run(begin);
        while !self.is_over() {
            self.turn()?;
        }
        let (due, spun) = self.take_counts();
        let now = self.tick();
        self.meter.finish(now, due, spun);
        Ok(())
    }

    /// Opens every connection, a few at once, each tried once.
    fn open_all(&mut self) -> Result<(), Errno> {
        let mut next: ConnectionId = 0;
        let slots = self.connections.len() as u32;
        while (next < slots || self.opening > 0) && !self.context.interrupted.load(Ordering::Relaxed) {
            while next < slots && self.opening < OPENING_AT_ONCE {
                self.open(next);
                next += 1;
            }
            self.take_turns()?;
        }
        Ok(())
    }

    fn begin_run(&mut self, begin: Nanos) {
        let spec = self.context.spec.clone();
        let worker = self.context.worker;
        let measured_from = begin.after(spec.warmup);
        self.end = spec.duration.map_or(Nanos::NEVER, |duration| measured_from.after(duration));
        self.meter.start(begin, measured_from, spec.interval, self.end);
        let remaining = spec.requests_of(worker);
        let mut pacer = match &spec.shape {
            Shape::Closed { think } => Pacer::closed(*think, remaining, self.end),
            Shape::Open { rate, arrivals } => {
                let place = (worker, spec.workers);
                let seed = spec.seed_of(worker, 1);
                let schedule = Schedule::new(rate, *arrivals, spec.warmup, begin, place, seed);
                Pacer::open(schedule, remaining, self.end)
            }
        };
        std::thread::sleep(begin.since(Nanos::now()).into());
        let now = self.tick();
        let slots = self.connections.len() as u32;
        let first: Vec<Assignment> = (0..slots)
            .filter(|&c| matches!(self.connections[c as usize].phase, Phase::Idle | Phase::Closed))
            .filter_map(|c| pacer.join(c, slots, now))
            .collect();
        self.pacer = Some(pacer);
        for assignment in first {
            self.assign(assignment);
        }
    }

    fn is_over(&self) -> bool {
        let nothing_comes = self.pacer.as_ref().is_some_and(|p| p.is_finished(self.latest));
        (nothing_comes && self.in_flight == 0) || self.latest >= self.give_up
    }

    /// One round: begin what is due, wait, let sockets take their turns.
    fn turn(&mut self) -> Result<(), Errno> {
        let now = self.tick();
        if now >= self.meter.end() {
            let (due, spun) = self.take_counts();
            self.meter.roll(now, due, spun);
        }
        if self.give_up == Nanos::NEVER && self.context.interrupted.load(Ordering::Relaxed) {
            self.interrupt(now);
        }
        self.begin_due();
        if self.is_over() {
            return Ok(());
        }
        self.take_turns()
    }

    fn interrupt(&mut self, now: Nanos) {
        self.end = self.end.min(now);
        self.give_up = now.after(INTERRUPT_GRACE);
        self.meter.stop(now);
        if let Some(pacer) = &mut self.pacer {
            pacer.stop(now);
            pacer.drop_waiting(Nanos::NEVER);
        }
    }

    /// Begins everything that is due by the last reading of the clock.
    fn begin_due(&mut self) {
        while let Some(assignment) = self.pacer.as_mut().and_then(|p| p.due(self.latest)) {
            self.assign(assignment);
        }
    }

    fn take_turns(&mut self) -> Result<(), Errno> {
        if self.latest >= self.next_sweep {
            self.sweep();
        }
        let next_due = self.pacer.as_ref().map_or(Nanos::NEVER, Pacer::next_due);
        let until = if self.queued.is_empty() {
            next_due.min(self.meter.end()).min(self.next_sweep).min(self.give_up)
        } else {
            self.latest
        };
        self.poller.wait(until)?;
        let woken = self.tick();
        for at in 0..self.poller.len() {
            let (data, ended) = self.poller.event(at);
            self.on_report(data, ended, woken);
            self.begin_due();
        }
        for id in std::mem::take(&mut self.queued) {
            self.connections[id as usize].queued = false;
            self.read(id, woken);
            self.begin_due();
        }
        Ok(())
    }

    fn tick(&mut self) -> Nanos {
        self.latest = Nanos::now();
        self.latest
    }

    fn take_counts(&mut self) -> (u64, Nanos) {
        (self.pacer.as_mut().map_or(0, Pacer::take_due_count), self.poller.take_spun())
    }

    /// Ends waits that have been too long, a dozen times in the length of a timeout.
    fn sweep(&mut self) {
        let now = self.latest;
        let pause = (self.timeout / 12).clamp(Duration::from_millis(1), Duration::from_millis(100));
        self.next_sweep = now.after(pause);
        for id in 0..self.deadlines.len() {
            if self.deadlines[id] <= now {
                let waited = humantime::format_duration(self.timeout);
                let detail = match self.connections[id].phase {
                    Phase::Busy => format!("no whole reply within {waited}"),
                    _ => format!("no connection within {waited}"),
                };
                self.broken(id as ConnectionId, LinkError { kind: ErrorKind::Timeout, detail });
            }
        }
        let since = if now >= self.end.after(BACKLOG_GRACE) {
            Nanos::NEVER
        } else {
            now.since(Nanos::from(self.timeout))
        };
        let dropped = self.pacer.as_mut().map_or(0, |p| p.drop_waiting(since));
        if dropped > 0 {
            let example = "no connection became free in time";
            self.meter.now.connections.errors.add(ErrorKind::Unsent, dropped, example);
        }
    }

    /// A connection gets an operation: begin it, or open the connection first.
    fn assign(&mut self, Assignment { connection: id, due, free_since }: Assignment) {
        let connection = &mut self.connections[id as usize];
        connection.job = Some(Job { due, free_since });
        self.in_flight += 1;
        if connection.phase == Phase::Idle {
            self.begin(id);
        } else {
            self.open(id);
        }
    }

    fn open(&mut self, id: ConnectionId) {
        let now = self.tick();
        let sources = &self.context.spec.sources;
        let turn = id as usize * self.context.spec.workers as usize + self.context.worker as usize;
        let source: Option<IpAddr> = (!sources.is_empty()).then(|| sources[turn % sources.len()]);
        let connection = &mut self.connections[id as usize];
        connection.generation = connection.generation.wrapping_add(1);
        connection.phase = Phase::Connecting;
        connection.begun = now;
        (connection.uses, connection.first_byte) = (0, None);
        self.opening += 1;
        self.deadlines[id as usize] = now.after(self.timeout);
        let data = u64::from(connection.generation) << 32 | u64::from(id);
        let link = Link::connect(self.address, source, self.context.tls.as_ref())
            .and_then(|link| Ok(self.poller.watch(&link, data).map(|()| link)?));
        match link {
            Ok(link) => connection.link = Some(link),
            Err(error) => self.broken(id, error),
        }
    }

    /// The poller has something to say of a socket.
    fn on_report(&mut self, data: u64, ended: bool, woken: Nanos) {
        let id = data as ConnectionId;
        let connection = &mut self.connections[id as usize];
        let Some(link) = connection.link.as_mut().filter(|_| u64::from(connection.generation) == data >> 32)
        else {
            return;
        };
        link.notice(ended);
        let progress = if connection.phase == Phase::Connecting { link.connected() } else { link.flush() };
        if let Err(error) = progress {
            return self.broken(id, error);
        }
        if self.connections[id as usize].phase == Phase::Connecting {
            self.on_connected(id);
        }
        self.read(id, woken);
    }

    fn on_connected(&mut self, id: ConnectionId) {
        let now = self.tick();
        self.open += 1;
        let open_peak = &mut self.meter.now.connections.open_peak;
        *open_peak = (*open_peak).max(u64::from(self.open));
        let connection = &mut self.connections[id as usize];
        record(&mut self.meter.now.connections.connect, now.since(connection.begun));
        let link = connection.link.as_mut().expect("a connected slot has a link");
        if !link.is_tls() {
            return self.greet(id);
        }
        connection.phase = Phase::Securing;
        connection.begun = now;
        if let Err(error) = link.send(&[]) {
            self.broken(id, error);
        }
    }

    fn greet(&mut self, id: ConnectionId) {
        let connection = &mut self.connections[id as usize];
        connection.phase = Phase::Greeting;
        let dialogue = connection.dialogue.insert(self.driver.dialogue());
        self.out.clear();
        let turn = Turn { out: &mut self.out, rng: &mut self.rng, tallies: &mut self.meter.now.tallies };
        let step = self.driver.greet(dialogue, turn);
        self.follow(id, step);
    }

    /// Begins the connection's operation.
    fn begin(&mut self, id: ConnectionId) {
        let connection = &mut self.connections[id as usize];
        let dialogue = connection.dialogue.as_mut().expect("an idle connection has a dialogue");
        self.out.clear();
        let turn = Turn { out: &mut self.out, rng: &mut self.rng, tallies: &mut self.meter.now.tallies };
        connection.operation = self.driver.begin(dialogue, turn);
        connection.phase = Phase::Busy;
        connection.first_byte = None;
        let job = connection.job.expect("an operation is begun for a job");
        let now = Nanos::now();
        connection.begun = now;
        self.latest = now;
        self.deadlines[id as usize] = now.after(self.timeout);
        record(&mut self.meter.now.client.lag, now.since(job.due.max(job.free_since)));
        self.follow(id, Step::Wait);
    }

    /// Reads until there is nothing more, or the turn is over.
    fn read(&mut self, id: ConnectionId, woken: Nanos) {
        let generation = self.connections[id as usize].generation;
        for _ in 0..READS_A_TURN {
            let connection = &mut self.connections[id as usize];
            let Some(link) = connection.link.as_mut().filter(|_| connection.generation == generation) else {
                return;
            };
            match link.receive(&mut self.input, &mut self.wire) {
                Ok(Received::Data(count)) => self.on_data(id, count, woken),
                Ok(Received::Nothing) => return,
                Ok(Received::Closed) => return self.on_closed(id),
                Err(error) => return self.broken(id, error),
            }
        }
        let connection = &mut self.connections[id as usize];
        if !connection.queued && connection.link.as_ref().is_some_and(Link::has_more) {
            connection.queued = true;
            self.queued.push(id);
        }
    }

    fn on_data(&mut self, id: ConnectionId, count: usize, woken: Nanos) {
        let now = self.tick();
        if self.connections[id as usize].phase == Phase::Securing {
            self.on_secured(id, now);
        }
        let connection = &mut self.connections[id as usize];
        match connection.phase {
            _ if count == 0 => return,
            Phase::Busy => {
                if connection.first_byte.is_none() {
                    connection.first_byte = Some(now);
                    record(&mut self.meter.now.client.pickup, now.since(woken.max(connection.begun)));
                }
                self.meter.now.operations[connection.operation as usize].bytes_received += count as u64;
            }
            Phase::Greeting => {}
            Phase::Closed | Phase::Connecting | Phase::Securing => return,
            Phase::Idle => {
                let detail = "the server sent bytes that no operation asked for".to_owned();
                return self.broken(id, LinkError { kind: ErrorKind::Protocol, detail });
            }
        }
        let dialogue = connection.dialogue.as_mut().expect("a connection that speaks has a dialogue");
        self.out.clear();
        let turn = Turn { out: &mut self.out, rng: &mut self.rng, tallies: &mut self.meter.now.tallies };
        let step = self.driver.receive(dialogue, &self.input[..count], turn);
        self.follow(id, step);
    }

    fn on_secured(&mut self, id: ConnectionId, now: Nanos) {
        let connection = &mut self.connections[id as usize];
        let secured = connection.link.as_mut().and_then(Link::take_secured);
        if let Some(resumed) = secured {
            let stats = &mut self.meter.now.connections;
            record(&mut stats.tls, now.since(connection.begun));
            stats.tls_resumed += u64::from(resumed);
            self.greet(id);
        }
    }

    /// Sends what the driver wrote and does what its step says.
    fn follow(&mut self, id: ConnectionId, step: Step) {
        let connection = &mut self.connections[id as usize];
        if !self.out.is_empty() {
            if connection.phase == Phase::Busy {
                let stats = &mut self.meter.now.operations[connection.operation as usize];
                stats.bytes_sent += self.out.len() as u64;
            }
            let link = connection.link.as_mut().expect("a connection that speaks has a link");
            if let Err(error) = link.send(&self.out) {
                return self.broken(id, error);
            }
        }
        match (step, connection.phase) {
            (Step::Wait, _) => {}
            (Step::Done { reuse: true }, Phase::Greeting) => self.on_greeted(id),
            (Step::Done { reuse: false }, Phase::Greeting) => {
                let detail = "the server ended the connection in its greeting".to_owned();
                self.broken(id, LinkError { kind: ErrorKind::Protocol, detail });
            }
            (Step::Failed(fault), Phase::Greeting) => {
                self.broken(id, LinkError { kind: fault.kind, detail: fault.detail.into_owned() });
            }
            (Step::Done { reuse }, _) => self.succeed(id, reuse),
            (Step::Failed(fault), _) => {
                let stats = &mut self.meter.now.operations[connection.operation as usize];
                stats.errors.add(fault.kind, 1, &fault.detail);
                self.end_operation(id, fault.reuse);
            }
        }
    }

    /// The connection may do operations: the one it was opened for, or whatever is next.
    fn on_greeted(&mut self, id: ConnectionId) {
        let now = self.latest;
        let connection = &mut self.connections[id as usize];
        connection.phase = Phase::Idle;
        connection.failures = 0;
        self.opening -= 1;
        self.deadlines[id as usize] = Nanos::NEVER;
        if let Some(job) = &mut connection.job {
            job.free_since = now;
            self.begin(id);
        } else {
            self.offer(id, now);
        }
    }

    fn succeed(&mut self, id: ConnectionId, reuse: bool) {
        let now = self.latest;
        let connection = &self.connections[id as usize];
        let job = connection.job.expect("a busy connection has a job");
        let stats = &mut self.meter.now.operations[connection.operation as usize];
        record(&mut stats.response, now.since(job.due));
        record(&mut stats.service, now.since(connection.begun));
        record(&mut stats.first_byte, connection.first_byte.unwrap_or(now).since(connection.begun));
        self.meter.now.client.drained += u64::from(now >= self.end);
        self.end_operation(id, reuse);
    }

    /// The operation has ended, well or not: what is next for its connection?
    fn end_operation(&mut self, id: ConnectionId, reuse: bool) {
        let now = self.latest;
        let connection = &mut self.connections[id as usize];
        connection.job = None;
        connection.phase = Phase::Idle;
        connection.uses += 1;
        self.in_flight -= 1;
        self.deadlines[id as usize] = Nanos::NEVER;
        if !reuse || connection.uses >= self.uses_limit {
            self.close(id);
        }
        self.offer(id, now);
    }

    /// Offers a free connection to the pacer.
    fn offer(&mut self, id: ConnectionId, now: Nanos) {
        if let Some(assignment) = self.pacer.as_mut().and_then(|p| p.release(id, now, now)) {
            self.assign(assignment);
        }
    }

    fn close(&mut self, id: ConnectionId) {
        self.connections[id as usize].close();
        self.open -= 1;
    }

    /// The peer closed in good order: that ends a reply, or breaks it, or is of no matter.
    fn on_closed(&mut self, id: ConnectionId) {
        self.tick();
        let connection = &mut self.connections[id as usize];
        match (connection.phase, connection.dialogue.as_mut()) {
            (Phase::Busy | Phase::Greeting, Some(dialogue)) => {
                let step = self.driver.closed(dialogue);
                self.out.clear();
                self.follow(id, step);
            }
            // A kept-alive connection may be closed at any time; the next operation opens a new one.
            (Phase::Idle, _) => self.close(id),
            _ => {
                let detail = "the server closed the connection in the handshake".to_owned();
                self.broken(id, LinkError { kind: ErrorKind::Closed, detail });
            }
        }
    }

    /// The link is of no more use.
    fn broken(&mut self, id: ConnectionId, error: LinkError) {
        let now = self.tick();
        let connection = &mut self.connections[id as usize];
        let phase = connection.phase;
        if phase == Phase::Busy {
            let stats = &mut self.meter.now.operations[connection.operation as usize];
            stats.errors.add(error.kind, 1, &error.detail);
            return self.end_operation(id, false);
        }
        let was_open = !matches!(phase, Phase::Connecting | Phase::Closed);
        connection.close();
        self.open -= u32::from(was_open);
        self.deadlines[id as usize] = Nanos::NEVER;
        if phase == Phase::Idle {
            // Still on offer: the next operation opens a new connection.
            if error.kind == ErrorKind::Protocol {
                self.meter.now.connections.errors.add(error.kind, 1, &error.detail);
            }
            return;
        }
        self.opening -= 1;
        let pause = FIRST_BACKOFF.saturating_mul(1 << connection.failures.min(10)).min(LONGEST_BACKOFF);
        connection.failures += 1;
        let job = connection.job.take();
        self.in_flight -= u32::from(job.is_some());
        match &mut self.pacer {
            None => self.setup_errors.add(error.kind, 1, &error.detail),
            Some(pacer) => {
                self.meter.now.connections.errors.add(error.kind, u64::from(job.is_some()), &error.detail);
                pacer.rest(id, now.after(pause));
            }
        }
    }
}
