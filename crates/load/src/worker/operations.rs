//! The operations of one worker: every connection with the operation that is in flight on it. A line that
//! is open is greeted; a connection that is free takes what the pacer has for it; what the driver says is
//! sent, what the server says is given to the driver; how it ends is recorded.
//!
//! When to look, wait and stop is left to the worker's loop; how a line opens to [`transport`](super::transport); what
//! is due when to [`pacing`](super::pacing).
//!
//! A system call leaves the processor's predictor of returns empty, so that each function that is left behind one
//! costs about 25 cycles. What lies between the calls that receive and that send is therefore inlined into the
//! worker's loop, by order; what goes wrong is apart, in [`breakage`], and cold.

mod breakage;

use std::time::Duration;

use rustix::io::Errno;

use super::clock::Clock;
use super::connection::{Connection, ConnectionCounts, Job, Phase};
use super::driver_session::DriverSession;
use super::link::{LinkError, Received};
use super::meter::Meter;
use super::pacing::{Assignment, ConnectionId, Pacer};
use super::poller::{Poller, Token};
use super::transport::Dialer;
use crate::clock::Nanos;
use crate::driver::{Demand, Driver, Fault, Step};
use crate::record::{ErrorKind, Errors};
use crate::spec::LoadSpec;

/// Cipher text or plain bytes taken from a socket at once.
const WIRE_BUFFER: usize = 64 * 1024;
/// Longer than the above by more than a TLS record, see [`super::link::Link::receive`].
const INPUT_BUFFER: usize = WIRE_BUFFER + 32 * 1024;
/// Bytes taken at once where only their front is of interest: more than most heads have.
const FRONT: usize = 1024;
/// Bytes thrown away at once. A call that throws away takes time too, and the schedule waits meanwhile.
const UNSEEN: usize = 512 * 1024;
/// Reads that a connection may take in one turn before the others have theirs.
const READS_A_TURN: u32 = 2;

/// All connections of one worker.
pub(super) struct Operations<D: Driver> {
    /// Reports what becomes of the connections' sockets.
    pub poller: Poller,
    /// Records what becomes of their operations.
    pub meter: Meter,
    /// Has their next operations; none until the run begins.
    pub pacer: Option<Pacer>,
    /// What went wrong before the run began.
    pub setup_errors: Errors,
    /// Slots by phase.
    pub counts: ConnectionCounts,
    /// Connections whose turn was cut short.
    pub queued: Vec<ConnectionId>,
    /// The last reading of the clock.
    pub now: Nanos,
    clock: Clock,
    /// Connections that have a job.
    pub in_flight: u32,
    session: DriverSession<D>,
    dialer: Dialer,
    connections: Vec<Connection<D::Dialogue>>,
    /// When each connection's wait is too long; apart from the rest, so that a sweep over them is cheap.
    deadlines: Vec<Nanos>,
    input: Vec<u8>,
    /// As long as what is thrown away at once. Never written to, so the kernel gives it no memory.
    unseen: Vec<u8>,
    wire: Vec<u8>,
    timeout: Duration,
    uses_limit: u32,
}

impl<D: Driver> Operations<D> {
    /// The share of worker `worker`; nothing is opened yet.
    pub fn new(driver: D, spec: &LoadSpec, worker: u32, dialer: Dialer, meter: Meter) -> Result<Self, Errno> {
        let slots = spec.connections_of(worker);
        let mut clock = Clock::new();
        Ok(Self {
            poller: Poller::new()?,
            meter,
            pacer: None,
            setup_errors: Errors::default(),
            counts: ConnectionCounts::new(slots),
            queued: Vec::new(),
            now: clock.now(),
            clock,
            in_flight: 0,
            session: DriverSession::new(driver, spec.seed_of(worker, 0)),
            connections: (0..slots).map(|_| Connection::new()).collect(),
            deadlines: vec![Nanos::NEVER; slots as usize],
            input: vec![0; INPUT_BUFFER],
            unseen: vec![0; UNSEEN],
            wire: if dialer.is_tls() { vec![0; WIRE_BUFFER] } else { Vec::new() },
            dialer,
            timeout: spec.timeout,
            uses_limit: spec.requests_per_connection.unwrap_or(u32::MAX),
        })
    }

    /// Reads the clock.
    pub fn tick(&mut self) -> Nanos {
        self.now = self.clock.now();
        self.now
    }

    /// Waits for sockets until `until` at the latest, counted from the last reading of the clock. Returns when it
    /// woke.
    #[inline(always)]
    pub fn wait(&mut self, until: Nanos) -> Result<Nanos, Errno> {
        self.now = self.poller.wait(self.now, until, &mut self.clock)?;
        Ok(self.now)
    }

    /// Connection slots.
    pub fn slots(&self) -> u32 {
        self.connections.len() as u32
    }

    /// A connection takes part in the run that began at `begin`, unless it is still being opened: then it does
    /// so once it is open.
    pub fn join(&mut self, id: ConnectionId, begin: Nanos) {
        let (now, slots) = (self.tick(), self.slots());
        let is_free = matches!(self.connections[id as usize].phase, Phase::Idle | Phase::Closed);
        let pacer = self.pacer.as_mut().filter(|_| is_free);
        if let Some(assignment) = pacer.and_then(|pacer| pacer.join(id, slots, begin, now)) {
            self.assign(assignment);
        }
    }

    /// A connection gets an operation: begin it, or open the connection first.
    #[inline(always)]
    pub fn assign(&mut self, Assignment { connection: id, intended_start, free_since }: Assignment) {
        let connection = &mut self.connections[id as usize];
        connection.job = Some(Job { intended_start, ready: intended_start.max(free_since) });
        self.in_flight += 1;
        if connection.phase == Phase::Idle {
            self.begin(id);
        } else {
            self.open(id);
        }
    }

    /// Opens the connection of a closed slot.
    pub fn open(&mut self, id: ConnectionId) {
        let now = self.tick();
        let connection = &mut self.connections[id as usize];
        self.counts.shift(&mut connection.phase, Phase::Opening);
        connection.begun = now;
        connection.uses = 0;
        self.deadlines[id as usize] = now.after(self.timeout);
        if let Err(error) = connection.line.open(id, &self.dialer, &self.poller, now) {
            self.broken(id, &error);
        }
    }

    /// The poller, which woke at `woken`, has something to say of a socket.
    #[inline(always)]
    pub fn on_report(&mut self, token: Token, ended: bool, woken: Nanos) {
        let id = token.slot;
        let line = &mut self.connections[id as usize].line;
        if line.generation() != token.generation {
            return;
        }
        let progress = if line.is_connecting() {
            self.now = self.clock.now();
            line.connected(ended, self.now, &mut self.meter.stats.connections)
        } else {
            line.notice(ended)
        };
        if let Err(error) = progress {
            return self.broken(id, &error);
        }
        self.greet_if_open(id);
        self.read(id, woken);
    }

    /// Goes on with a turn that was cut short.
    pub fn resume(&mut self, id: ConnectionId, woken: Nanos) {
        self.connections[id as usize].queued = false;
        self.read(id, woken);
    }

    /// Reads until there is nothing more, or the turn is over.
    #[inline(always)]
    fn read(&mut self, id: ConnectionId, woken: Nanos) {
        let generation = self.connections[id as usize].line.generation();
        for _ in 0..READS_A_TURN {
            if self.connections[id as usize].line.generation() != generation {
                return;
            }
            let demand = self.demand(id);
            let line = &mut self.connections[id as usize].line;
            let received = match demand {
                Demand::All => line.receive(&mut self.input, &mut self.wire),
                Demand::Front => line.receive(&mut self.input[..FRONT], &mut self.wire),
                Demand::Skip(bytes) => {
                    let most = self.unseen.len();
                    line.discard(&mut self.unseen[..usize::try_from(bytes).map_or(most, |n| n.min(most))])
                }
            };
            match received {
                Ok(Received::Data(count)) if matches!(demand, Demand::Skip(_)) => {
                    self.on_unseen(id, count);
                }
                Ok(Received::Data(count)) => self.on_data(id, count, woken),
                Ok(Received::Nothing) => return,
                Ok(Received::Closed) => return self.on_closed(id),
                Err(error) => return self.broken(id, &error),
            }
        }
        let connection = &mut self.connections[id as usize];
        if !connection.queued && connection.line.has_more() {
            connection.queued = true;
            self.queued.push(id);
        }
    }

    /// What is to be seen of the bytes that come next.
    #[inline(always)]
    fn demand(&self, id: ConnectionId) -> Demand {
        let connection = &self.connections[id as usize];
        match &connection.dialogue {
            Some(dialogue) if connection.phase == Phase::Busy && !self.dialer.is_tls() => {
                self.session.demand(dialogue)
            }
            _ => Demand::All,
        }
    }

    /// Bytes of a reply have come that nobody wants to see.
    fn on_unseen(&mut self, id: ConnectionId, count: usize) {
        self.tick();
        let connection = &mut self.connections[id as usize];
        self.meter.stats.operations[connection.operation as usize].bytes_received += count as u64;
        let dialogue = connection.dialogue.as_mut().expect("a busy connection has a dialogue");
        self.session.skip(dialogue, count as u64);
        let step = self.session.receive(dialogue, &[], &mut self.meter.stats.counters);
        self.follow(id, step);
    }

    #[inline(always)]
    fn on_data(&mut self, id: ConnectionId, count: usize, woken: Nanos) {
        let now = self.tick();
        if self.connections[id as usize].line.secured(now, &mut self.meter.stats.connections) {
            self.on_secured(id);
        }
        let connection = &mut self.connections[id as usize];
        match connection.phase {
            _ if count == 0 => return,
            Phase::Busy => {
                if connection.first_byte.is_none() {
                    connection.first_byte = Some(now);
                    self.meter.picked_up(now.since(woken.max(connection.begun)));
                }
                let stats = &mut self.meter.stats.operations[connection.operation as usize];
                stats.bytes_received += count as u64;
            }
            Phase::Greeting => {}
            Phase::Closed | Phase::Opening => return,
            Phase::Idle => {
                let detail = "the server sent bytes that no operation asked for".to_owned();
                return self.broken(id, &LinkError { kind: ErrorKind::Protocol, detail });
            }
        }
        let dialogue = connection.dialogue.as_mut().expect("a connection that speaks has a dialogue");
        let step = self.session.receive(dialogue, &self.input[..count], &mut self.meter.stats.counters);
        self.follow(id, step);
    }

    #[inline(always)]
    fn greet_if_open(&mut self, id: ConnectionId) {
        let connection = &self.connections[id as usize];
        if connection.phase == Phase::Opening && connection.line.is_open() {
            self.greet(id);
        }
    }

    /// The TLS handshake is over: the greeting begins, or goes on where it asked for TLS.
    #[cold]
    fn on_secured(&mut self, id: ConnectionId) {
        let connection = &mut self.connections[id as usize];
        match connection.dialogue.as_mut().filter(|_| connection.phase == Phase::Greeting) {
            None => self.greet_if_open(id),
            Some(dialogue) => {
                let step = self.session.secured(dialogue, &mut self.meter.stats.counters);
                self.follow(id, step);
            }
        }
    }

    #[cold]
    fn greet(&mut self, id: ConnectionId) {
        let connection = &mut self.connections[id as usize];
        self.counts.shift(&mut connection.phase, Phase::Greeting);
        self.meter.note_open(self.counts.open());
        let dialogue = connection.dialogue.insert(self.session.dialogue());
        let step = self.session.greet(dialogue, &mut self.meter.stats.counters);
        self.follow(id, step);
    }

    /// Begins the connection's operation.
    #[inline(always)]
    fn begin(&mut self, id: ConnectionId) {
        let connection = &mut self.connections[id as usize];
        let dialogue = connection.dialogue.as_mut().expect("an idle connection has a dialogue");
        let job = connection.job.expect("an operation is begun for a job");
        connection.operation = self.session.begin(dialogue, &mut self.meter.stats.counters);
        self.counts.shift(&mut connection.phase, Phase::Busy);
        connection.first_byte = None;
        let now = self.clock.now();
        connection.begun = now;
        self.now = now;
        self.deadlines[id as usize] = now.after(self.timeout);
        self.meter.lagged(now.since(job.ready));
        if let Err(error) = self.speak(id) {
            self.broken(id, &error);
        }
    }

    /// Sends what the driver wrote.
    #[inline(always)]
    fn speak(&mut self, id: ConnectionId) -> Result<(), LinkError> {
        let connection = &mut self.connections[id as usize];
        let words = self.session.output();
        if words.is_empty() {
            return Ok(());
        }
        if connection.phase == Phase::Busy {
            let stats = &mut self.meter.stats.operations[connection.operation as usize];
            stats.bytes_sent += words.len() as u64;
        }
        connection.line.send(words)
    }

    /// Sends what the driver wrote and does what its step says.
    #[inline(always)]
    fn follow(&mut self, id: ConnectionId, step: Step) {
        if let Err(error) = self.speak(id) {
            return self.broken(id, &error);
        }
        match (step, self.connections[id as usize].phase) {
            (Step::Wait, _) => {}
            (Step::Done { reuse: true }, Phase::Greeting) => self.on_greeted(id),
            (Step::Done { reuse: false }, Phase::Greeting) => {
                let detail = "the server ended the connection in its greeting".to_owned();
                self.broken(id, &LinkError { kind: ErrorKind::Closed, detail });
            }
            (Step::Failed(fault), Phase::Greeting) => {
                self.broken(id, &LinkError { kind: fault.kind, detail: fault.detail.into_owned() });
            }
            (Step::Secure, Phase::Greeting) => self.secure(id),
            (Step::Secure, _) => self.fail(id, &Fault::protocol("TLS in the middle of an operation")),
            (Step::Done { reuse }, _) => self.succeed(id, reuse),
            (Step::Failed(fault), _) => self.fail(id, &fault),
        }
    }

    #[cold]
    fn secure(&mut self, id: ConnectionId) {
        let now = self.tick();
        if let Err(error) = self.connections[id as usize].line.secure(&self.dialer, now) {
            self.broken(id, &error);
        }
    }

    /// The connection may do operations: the one it was opened for, or whatever is next.
    #[cold]
    fn on_greeted(&mut self, id: ConnectionId) {
        let connection = &mut self.connections[id as usize];
        self.counts.shift(&mut connection.phase, Phase::Idle);
        connection.failures = 0;
        self.deadlines[id as usize] = Nanos::NEVER;
        if let Some(job) = &mut connection.job {
            job.ready = job.ready.after(self.now.since(connection.begun).into());
            self.begin(id);
        } else {
            self.offer(id);
        }
    }

    #[inline(always)]
    fn succeed(&mut self, id: ConnectionId, reuse: bool) {
        let connection = &self.connections[id as usize];
        let job = connection.job.expect("a busy connection has a job");
        let first_byte = connection.first_byte.unwrap_or(self.now);
        self.meter.succeeded(
            connection.operation,
            job.intended_start,
            connection.begun,
            first_byte,
            self.now,
        );
        self.end_operation(id, reuse);
    }

    #[cold]
    fn fail(&mut self, id: ConnectionId, fault: &Fault) {
        let operation = self.connections[id as usize].operation;
        self.meter.stats.operations[operation as usize].errors.add(fault.kind, 1, &fault.detail);
        self.end_operation(id, fault.reuse);
    }

    /// The operation has ended, well or not: what is next for its connection?
    #[inline(always)]
    fn end_operation(&mut self, id: ConnectionId, reuse: bool) {
        self.take_job(id);
        let connection = &mut self.connections[id as usize];
        self.counts.shift(&mut connection.phase, Phase::Idle);
        connection.uses += 1;
        self.deadlines[id as usize] = Nanos::NEVER;
        if !reuse || connection.uses >= self.uses_limit || connection.line.is_ending() {
            self.close(id);
        }
        self.offer(id);
    }

    fn take_job(&mut self, id: ConnectionId) -> Option<Job> {
        let job = self.connections[id as usize].job.take();
        self.in_flight -= u32::from(job.is_some());
        job
    }

    /// Offers a free connection to the pacer.
    #[inline(always)]
    fn offer(&mut self, id: ConnectionId) {
        let now = self.now;
        if let Some(assignment) = self.pacer.as_mut().and_then(|pacer| pacer.release(id, now, now)) {
            self.assign(assignment);
        }
    }

    #[inline(never)]
    fn close(&mut self, id: ConnectionId) {
        let connection = &mut self.connections[id as usize];
        self.counts.shift(&mut connection.phase, Phase::Closed);
        connection.line.close();
        connection.dialogue = None;
        self.deadlines[id as usize] = Nanos::NEVER;
    }
}
