//! The conversations of one worker: every connection with the operation that is in flight on it. A line that
//! is open is greeted; a connection that is free takes what the pacer has for it; what the driver says is
//! sent, what the server says is given to the driver; how it ends is recorded.
//!
//! When to look, wait and stop is left to the worker's loop; how a line opens to [`line`](super::line); what
//! is due when to [`pacing`](super::pacing).

use std::time::Duration;

use rustix::io::Errno;

use super::connection::{Census, Connection, Job, Phase};
use super::line::Dialer;
use super::link::{LinkError, Received};
use super::meter::Meter;
use super::pacing::{Assignment, ConnectionId, Pacer};
use super::poller::{Poller, Token};
use super::speaker::Speaker;
use crate::clock::Nanos;
use crate::driver::{Driver, Fault, Step};
use crate::record::{ErrorKind, Errors, record};
use crate::spec::LoadSpec;

/// Cipher text or plain bytes taken from a socket at once.
const WIRE_BUFFER: usize = 64 * 1024;
/// Longer than the above by more than a TLS record, see [`super::link::Link::receive`].
const INPUT_BUFFER: usize = WIRE_BUFFER + 32 * 1024;
/// Reads that a connection may take in one turn before the others have theirs.
const READS_A_TURN: u32 = 2;
/// First pause before a connection that failed is tried again; it doubles up to the longest.
const FIRST_BACKOFF: Duration = Duration::from_millis(10);
const LONGEST_BACKOFF: Duration = Duration::from_secs(1);

/// All connections of one worker.
pub(super) struct Conversations<D: Driver> {
    /// Reports what becomes of the connections' sockets.
    pub poller: Poller,
    /// Records what becomes of their operations.
    pub meter: Meter,
    /// Has their next operations; none until the run begins.
    pub pacer: Option<Pacer>,
    /// What went wrong before the run began.
    pub setup_errors: Errors,
    /// Slots by phase.
    pub census: Census,
    /// Connections whose turn was cut short.
    pub queued: Vec<ConnectionId>,
    /// The last reading of the clock.
    pub now: Nanos,
    /// Connections that have a job.
    pub in_flight: u32,
    speaker: Speaker<D>,
    dialer: Dialer,
    connections: Vec<Connection<D::Dialogue>>,
    /// When each connection's wait is too long; apart from the rest, so that a sweep over them is cheap.
    deadlines: Vec<Nanos>,
    input: Vec<u8>,
    wire: Vec<u8>,
    timeout: Duration,
    uses_limit: u32,
}

impl<D: Driver> Conversations<D> {
    /// The share of worker `worker`; nothing is opened yet.
    pub fn new(driver: D, spec: &LoadSpec, worker: u32, dialer: Dialer, meter: Meter) -> Result<Self, Errno> {
        let slots = spec.connections_of(worker);
        Ok(Self {
            poller: Poller::new()?,
            meter,
            pacer: None,
            setup_errors: Errors::default(),
            census: Census::new(slots),
            queued: Vec::new(),
            now: Nanos::now(),
            in_flight: 0,
            speaker: Speaker::new(driver, spec.seed_of(worker, 0)),
            connections: (0..slots).map(|_| Connection::new()).collect(),
            deadlines: vec![Nanos::NEVER; slots as usize],
            input: vec![0; INPUT_BUFFER],
            wire: if dialer.is_tls() { vec![0; WIRE_BUFFER] } else { Vec::new() },
            dialer,
            timeout: spec.timeout,
            uses_limit: spec.requests_per_connection.unwrap_or(u32::MAX),
        })
    }

    /// Reads the clock.
    pub fn tick(&mut self) -> Nanos {
        self.now = Nanos::now();
        self.now
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
    pub fn assign(&mut self, Assignment { connection: id, due, free_since }: Assignment) {
        let connection = &mut self.connections[id as usize];
        connection.job = Some(Job { due, ready: due.max(free_since) });
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
        self.census.shift(&mut connection.phase, Phase::Opening);
        connection.begun = now;
        connection.uses = 0;
        self.deadlines[id as usize] = now.after(self.timeout);
        if let Err(error) = connection.line.open(id, &self.dialer, &self.poller, now) {
            self.broken(id, &error);
        }
    }

    /// The poller, which woke at `woken`, has something to say of a socket.
    pub fn on_report(&mut self, token: Token, ended: bool, woken: Nanos) {
        let id = token.slot;
        let line = &mut self.connections[id as usize].line;
        if line.generation() != token.generation {
            return;
        }
        let progress = if line.is_connecting() {
            self.now = Nanos::now();
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
    fn read(&mut self, id: ConnectionId, woken: Nanos) {
        let generation = self.connections[id as usize].line.generation();
        for _ in 0..READS_A_TURN {
            let line = &mut self.connections[id as usize].line;
            if line.generation() != generation {
                return;
            }
            match line.receive(&mut self.input, &mut self.wire) {
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

    fn on_data(&mut self, id: ConnectionId, count: usize, woken: Nanos) {
        let now = self.tick();
        if self.connections[id as usize].line.secured(now, &mut self.meter.stats.connections) {
            self.greet_if_open(id);
        }
        let connection = &mut self.connections[id as usize];
        let stats = &mut self.meter.stats;
        match connection.phase {
            _ if count == 0 => return,
            Phase::Busy => {
                if connection.first_byte.is_none() {
                    connection.first_byte = Some(now);
                    record(&mut stats.client.pickup, now.since(woken.max(connection.begun)));
                }
                stats.operations[connection.operation as usize].bytes_received += count as u64;
            }
            Phase::Greeting => {}
            Phase::Closed | Phase::Opening => return,
            Phase::Idle => {
                let detail = "the server sent bytes that no operation asked for".to_owned();
                return self.broken(id, &LinkError { kind: ErrorKind::Protocol, detail });
            }
        }
        let dialogue = connection.dialogue.as_mut().expect("a connection that speaks has a dialogue");
        let step = self.speaker.receive(dialogue, &self.input[..count], &mut stats.tallies);
        self.follow(id, step);
    }

    fn greet_if_open(&mut self, id: ConnectionId) {
        let connection = &mut self.connections[id as usize];
        if connection.phase != Phase::Opening || !connection.line.is_open() {
            return;
        }
        self.census.shift(&mut connection.phase, Phase::Greeting);
        self.meter.note_open(self.census.open());
        let dialogue = connection.dialogue.insert(self.speaker.dialogue());
        let step = self.speaker.greet(dialogue, &mut self.meter.stats.tallies);
        self.follow(id, step);
    }

    /// Begins the connection's operation.
    fn begin(&mut self, id: ConnectionId) {
        let connection = &mut self.connections[id as usize];
        let dialogue = connection.dialogue.as_mut().expect("an idle connection has a dialogue");
        let job = connection.job.expect("an operation is begun for a job");
        connection.operation = self.speaker.begin(dialogue, &mut self.meter.stats.tallies);
        self.census.shift(&mut connection.phase, Phase::Busy);
        connection.first_byte = None;
        let now = Nanos::now();
        connection.begun = now;
        self.now = now;
        self.deadlines[id as usize] = now.after(self.timeout);
        record(&mut self.meter.stats.client.lag, now.since(job.ready));
        self.follow(id, Step::Wait);
    }

    /// Sends what the driver wrote and does what its step says.
    fn follow(&mut self, id: ConnectionId, step: Step) {
        let connection = &mut self.connections[id as usize];
        let words = self.speaker.words();
        if !words.is_empty() {
            if connection.phase == Phase::Busy {
                let stats = &mut self.meter.stats.operations[connection.operation as usize];
                stats.bytes_sent += words.len() as u64;
            }
            if let Err(error) = connection.line.send(words) {
                return self.broken(id, &error);
            }
        }
        match (step, connection.phase) {
            (Step::Wait, _) => {}
            (Step::Done { reuse: true }, Phase::Greeting) => self.on_greeted(id),
            (Step::Done { reuse: false }, Phase::Greeting) => {
                let detail = "the server ended the connection in its greeting".to_owned();
                self.broken(id, &LinkError { kind: ErrorKind::Closed, detail });
            }
            (Step::Failed(fault), Phase::Greeting) => {
                self.broken(id, &LinkError { kind: fault.kind, detail: fault.detail.into_owned() });
            }
            (Step::Done { reuse }, _) => self.succeed(id, reuse),
            (Step::Failed(fault), _) => self.fail(id, &fault),
        }
    }

    /// The connection may do operations: the one it was opened for, or whatever is next.
    fn on_greeted(&mut self, id: ConnectionId) {
        let connection = &mut self.connections[id as usize];
        self.census.shift(&mut connection.phase, Phase::Idle);
        connection.failures = 0;
        self.deadlines[id as usize] = Nanos::NEVER;
        if let Some(job) = &mut connection.job {
            job.ready = job.ready.after(self.now.since(connection.begun).into());
            self.begin(id);
        } else {
            self.offer(id);
        }
    }

    fn succeed(&mut self, id: ConnectionId, reuse: bool) {
        let connection = &self.connections[id as usize];
        let job = connection.job.expect("a busy connection has a job");
        let first_byte = connection.first_byte.unwrap_or(self.now);
        self.meter.succeeded(connection.operation, job.due, connection.begun, first_byte, self.now);
        self.end_operation(id, reuse);
    }

    fn fail(&mut self, id: ConnectionId, fault: &Fault) {
        let operation = self.connections[id as usize].operation;
        self.meter.stats.operations[operation as usize].errors.add(fault.kind, 1, &fault.detail);
        self.end_operation(id, fault.reuse);
    }

    /// The operation has ended, well or not: what is next for its connection?
    fn end_operation(&mut self, id: ConnectionId, reuse: bool) {
        self.take_job(id);
        let connection = &mut self.connections[id as usize];
        self.census.shift(&mut connection.phase, Phase::Idle);
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
    fn offer(&mut self, id: ConnectionId) {
        let now = self.now;
        if let Some(assignment) = self.pacer.as_mut().and_then(|pacer| pacer.release(id, now, now)) {
            self.assign(assignment);
        }
    }

    fn close(&mut self, id: ConnectionId) {
        let connection = &mut self.connections[id as usize];
        self.census.shift(&mut connection.phase, Phase::Closed);
        connection.line.close();
        connection.dialogue = None;
        self.deadlines[id as usize] = Nanos::NEVER;
    }

    /// The peer closed in good order: that ends a reply, or breaks it, or is of no matter.
    fn on_closed(&mut self, id: ConnectionId) {
        self.tick();
        let connection = &mut self.connections[id as usize];
        let detail = match (connection.phase, connection.dialogue.as_mut()) {
            (Phase::Busy | Phase::Greeting, Some(dialogue)) => {
                let step = self.speaker.closed(dialogue);
                return self.follow(id, step);
            }
            (Phase::Idle, _) => "the server closed the connection before it was used",
            _ => "the server closed the connection in the handshake",
        };
        self.broken(id, &LinkError { kind: ErrorKind::Closed, detail: detail.to_owned() });
    }

    /// Ends every wait for the server that has been too long by the last reading of the clock.
    pub fn time_out(&mut self) {
        let now = self.now;
        for id in 0..self.deadlines.len() {
            if self.deadlines[id] <= now {
                let waited = humantime::format_duration(self.timeout);
                let detail = match self.connections[id].phase {
                    Phase::Busy => format!("no whole reply within {waited}"),
                    _ => format!("no connection within {waited}"),
                };
                self.broken(id as ConnectionId, &LinkError { kind: ErrorKind::Timeout, detail });
            }
        }
    }

    /// The line is of no more use.
    fn broken(&mut self, id: ConnectionId, error: &LinkError) {
        let now = self.tick();
        let connection = &mut self.connections[id as usize];
        match connection.phase {
            Phase::Busy => {
                let fault = Fault { kind: error.kind, detail: error.detail.clone().into(), reuse: false };
                self.fail(id, &fault);
            }
            Phase::Idle => {
                // Still on offer: the next operation opens a new line. A server may close or reset one that
                // is not in use, but not before the first use, and it may not speak unasked.
                self.close(id);
                if self.pacer.is_none() {
                    self.setup_errors.add(error.kind, 1, &error.detail);
                } else if error.kind == ErrorKind::Protocol {
                    self.meter.stats.connections.errors.add(error.kind, 1, &error.detail);
                }
            }
            Phase::Opening | Phase::Greeting => {
                let pause = FIRST_BACKOFF.saturating_mul(1 << connection.failures.min(10));
                connection.failures += 1;
                self.close(id);
                let job = self.take_job(id);
                let Some(pacer) = &mut self.pacer else {
                    return self.setup_errors.add(error.kind, 1, &error.detail);
                };
                pacer.rest(id, now.after(pause.min(LONGEST_BACKOFF)));
                if job.is_some() {
                    self.meter.stats.connections.errors.add(error.kind, 1, &error.detail);
                }
            }
            Phase::Closed => {}
        }
    }
}
