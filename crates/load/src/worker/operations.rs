//! The operations of one worker: every connection with its operation in flight. A new connection gets the driver's
//! greeting. A free connection gets the pacer's next operation. The driver's output is sent, the server's bytes go to the
//! driver, and the end of the operation is recorded.
//!
//! The worker's loop decides when to wait and when to stop; [`transport`](super::transport) opens connections;
//! [`pacing`](super::pacing) decides what is due when.
//!
//! A system call empties the processor's return predictor, so that each return after one costs about 25 cycles.
//! Therefore everything between receiving and sending is inlined into the worker's loop. A turn to read is in [`reading`];
//! greetings and failures are in [`greeting`] and [`breakage`], and cold.

mod breakage;
mod greeting;
mod reading;

use std::time::Duration;

use rustix::io::Errno;

use super::clock::Clock;
use super::connection::{Answers, Connection, ConnectionCounts, ConnectionPhase, Job};
use super::connection_id::ConnectionId;
use super::driver_session::DriverSession;
use super::meter::{EndedOperation, Meter};
use super::own_cpu::OwnCpus;
use super::pacing::{Assignment, Pacer};
use super::poller::{Poller, Token};
use super::stamp::Stamp;
use super::transport::Dialer;
use super::walks::{PlannedOperation, Walks};
use super::wall_clock::{Arrival, WallClock};
use crate::clock::Nanos;
use crate::connecting::ConnectionError;
use crate::driver::{Driver, Fault, Step};
use crate::record::{ErrorKind, Errors, SingleOperation, Singles};
use crate::spec::LoadSpec;

/// Most cipher text or plain bytes received at once.
const WIRE_BUFFER: usize = 64 * 1024;
/// Longer than the wire buffer by more than a TLS record, see [`super::link::Link::receive`].
const INPUT_BUFFER: usize = WIRE_BUFFER + 32 * 1024;
/// Most bytes discarded at once. Discarding takes time too, and the schedule waits meanwhile.
const DISCARDED_AT_ONCE: usize = 512 * 1024;
/// All connections of one worker.
pub(super) struct Operations<D: Driver> {
    /// Reports the events of the connections' sockets.
    pub poller: Poller,
    /// Records their operations.
    pub meter: Meter,
    /// Keeps single operations, where some are wanted.
    pub singles: Option<Box<Singles>>,
    /// Assigns their next operations; none until the run begins.
    pub pacer: Option<Pacer>,
    /// The users, between two parts of the load.
    pub users: Option<Box<Walks>>,
    /// Failures before the run began.
    pub setup_errors: Errors,
    /// Number of slots in each phase.
    pub counts: ConnectionCounts,
    /// Connections whose turn ended before everything was read.
    pub queued: Vec<ConnectionId>,
    /// The last reading of the clock.
    pub now: Nanos,
    clock: Clock,
    wall_clock: WallClock,
    /// Connections that have a job.
    pub in_flight: u32,
    session: DriverSession<D>,
    dialer: Dialer,
    connections: Vec<Connection<D::Dialogue>>,
    /// When each connection's wait times out; separate from the rest, so that a sweep over all of them is cheap.
    deadlines: Vec<Nanos>,
    input: Vec<u8>,
    /// Its length is the most that is discarded at once. It is never written to, so it takes no memory.
    discarded: Vec<u8>,
    wire: Vec<u8>,
    timeout: Duration,
    uses_limit: u32,
    /// Whether each connection is made for a number of operations, which have its set-up.
    charges_set_up: bool,
}

impl<D: Driver> Operations<D> {
    /// The share of worker `worker`; nothing is opened yet.
    pub fn new(driver: D, spec: &LoadSpec, worker: u32, dialer: Dialer, meter: Meter) -> Result<Self, Errno> {
        let slots = spec.connections_of(worker);
        let mut clock = Clock::new();
        Ok(Self {
            poller: Poller::new(OwnCpus::of(spec.workers, &spec.addresses))?,
            meter,
            singles: None,
            pacer: None,
            users: spec
                .users
                .as_ref()
                .map(|plan| Box::new(Walks::new(plan, slots, spec.part.seed_of(worker, 3)))),
            setup_errors: Errors::default(),
            counts: ConnectionCounts::new(slots),
            queued: Vec::new(),
            now: clock.now(),
            clock,
            wall_clock: WallClock::new(),
            in_flight: 0,
            session: DriverSession::new(driver, spec.part.seed_of(worker, 0)),
            connections: (0..slots).map(|_| Connection::new()).collect(),
            deadlines: vec![Nanos::NEVER; slots as usize],
            input: vec![0; INPUT_BUFFER],
            discarded: vec![0; DISCARDED_AT_ONCE],
            wire: if dialer.is_tls() { vec![0; WIRE_BUFFER] } else { Vec::new() },
            dialer,
            timeout: spec.timeout,
            uses_limit: spec.requests_per_connection.unwrap_or(u32::MAX),
            charges_set_up: spec.requests_per_connection.is_some()
                || spec.protocol.protocol().ends_connections(),
        })
    }

    /// Begins a part: its operations are drawn from this seed.
    pub fn reseed(&mut self, seed: u64) {
        self.session.reseed(seed);
    }

    /// Reads the clock.
    pub fn tick(&mut self) -> Nanos {
        self.now = self.clock.now();
        self.now
    }

    /// Waits for sockets until `until` at the latest, from the last reading of the clock on. Returns when it woke.
    #[inline(always)]
    pub fn wait(&mut self, until: Nanos) -> Result<Nanos, Errno> {
        self.now = self.poller.wait(self.now, until, &mut self.clock)?;
        self.wall_clock.check(self.now);
        Ok(self.now)
    }

    /// Slots whose operations of this part all went without a reply.
    pub fn silent(&self) -> u64 {
        self.connections.iter().filter(|connection| connection.answers == Answers::Awaited).count() as u64
    }

    /// Connection slots.
    pub fn slots(&self) -> u32 {
        self.connections.len() as u32
    }

    /// A connection joins the run that began at `begin`. One that is still opening joins once it is open.
    pub fn join(&mut self, id: ConnectionId, begin: Nanos) {
        self.connections[id as usize].answers = Answers::None;
        let (now, share) = (self.tick(), self.dialer.share(id, self.slots()));
        let is_free =
            matches!(self.connections[id as usize].phase, ConnectionPhase::Idle | ConnectionPhase::Closed);
        let is_used_up = self.is_used_up();
        if is_free
            && !is_used_up
            && let Some(pacer) = &mut self.pacer
            && let Some(assignment) = pacer.join(id, share, begin, now)
        {
            self.assign(assignment);
        }
    }

    /// A connection gets an operation: begins it, or opens the connection first.
    #[inline(always)]
    pub fn assign(&mut self, Assignment { connection: id, intended_start, free_since }: Assignment) {
        let connection = &mut self.connections[id as usize];
        connection.job = Some(Job { intended_start, ready: intended_start.max(free_since) });
        if connection.answers == Answers::None {
            connection.answers = Answers::Awaited;
        }
        self.in_flight += 1;
        if connection.phase == ConnectionPhase::Idle {
            self.begin(id);
        } else {
            self.open(id);
        }
    }

    /// Opens the connection of a closed slot.
    pub fn open(&mut self, id: ConnectionId) {
        let now = self.tick();
        let connection = &mut self.connections[id as usize];
        self.counts.shift(&mut connection.phase, ConnectionPhase::Opening);
        (connection.begun, connection.set_up) = (now, Nanos(0));
        connection.uses = 0;
        self.deadlines[id as usize] = now.after(self.timeout);
        if let Err(error) = connection.transport.open(id, &self.dialer, &self.poller, now) {
            self.broken(id, &error);
        }
    }

    /// The poller, which woke at `woken`, has an event of a socket.
    #[inline(always)]
    pub fn on_event(&mut self, token: Token, ended: bool, woken: Nanos) {
        let id = token.slot;
        let transport = &mut self.connections[id as usize].transport;
        if transport.generation() != token.generation {
            return;
        }
        let progress = if transport.is_connecting() {
            self.now = self.clock.now();
            transport.connected(ended, self.now, &mut self.meter.stats.connections)
        } else {
            transport.notice(ended)
        };
        if let Err(error) = progress {
            return self.broken(id, &error);
        }
        self.greet_if_open(id);
        self.read(id, woken);
    }

    /// Continues a turn that ended before everything was read.
    pub fn resume(&mut self, id: ConnectionId, woken: Nanos) {
        self.connections[id as usize].queued = false;
        self.read(id, woken);
    }

    /// How the bytes came that were read last, which may end the operation of their connection.
    #[inline(always)]
    fn arrival(&self, id: ConnectionId, stamp: Option<Stamp>, woken: Nanos) -> Arrival {
        Arrival::of(stamp, &self.wall_clock, self.connections[id as usize].begun, woken, self.now)
    }

    #[inline(always)]
    fn on_data(&mut self, id: ConnectionId, count: usize, stamp: Option<Stamp>, woken: Nanos) {
        let now = self.tick();
        if self.connections[id as usize].transport.secured(now, &mut self.meter.stats.connections) {
            self.on_secured(id);
        }
        let arrival = self.arrival(id, stamp, woken);
        let connection = &mut self.connections[id as usize];
        match connection.phase {
            _ if count == 0 => return,
            ConnectionPhase::Busy => {
                connection.first_byte.get_or_insert(arrival.received);
                let stats = &mut self.meter.stats.operations[connection.operation as usize];
                stats.bytes_received += count as u64;
            }
            ConnectionPhase::Greeting => {}
            ConnectionPhase::Closed | ConnectionPhase::Opening => return,
            ConnectionPhase::Idle => {
                let detail = "the server sent bytes without a request".to_owned();
                return self.broken(id, &ConnectionError { kind: ErrorKind::Protocol, detail });
            }
        }
        let dialogue = connection.dialogue.as_mut().expect("a connection in use has a dialogue");
        let step = self.session.receive(dialogue, &self.input[..count], &mut self.meter.stats.counters);
        self.follow(id, step, arrival);
    }

    /// Begins the connection's operation.
    #[inline(always)]
    fn begin(&mut self, id: ConnectionId) {
        let planned = self.pacer.as_ref().and_then(|pacer| pacer.planned(id));
        let operation = match planned {
            None => self.session.choose(),
            Some(PlannedOperation { operation, is_first }) => {
                if is_first {
                    self.session.arrive(id);
                }
                operation
            }
        };
        let connection = &mut self.connections[id as usize];
        let dialogue = connection.dialogue.as_mut().expect("an idle connection has a dialogue");
        connection.operation = operation;
        self.session.begin(dialogue, operation, &mut self.meter.stats.counters);
        self.counts.shift(&mut connection.phase, ConnectionPhase::Busy);
        (connection.first_byte, connection.unread_before) = (None, Nanos(0));
        let now = self.clock.now();
        connection.begun = now;
        self.now = now;
        self.deadlines[id as usize] = now.after(self.timeout);
        if let Err(error) = self.send_output(id) {
            self.broken(id, &error);
        }
    }

    /// Sends the driver's output.
    #[inline(always)]
    fn send_output(&mut self, id: ConnectionId) -> Result<(), ConnectionError> {
        let connection = &mut self.connections[id as usize];
        let output = self.session.output();
        if output.is_empty() {
            return Ok(());
        }
        if connection.phase == ConnectionPhase::Busy {
            let stats = &mut self.meter.stats.operations[connection.operation as usize];
            stats.bytes_sent += output.len() as u64;
        }
        connection.transport.send(output)
    }

    /// Sends what the driver wrote, and acts on its step. `arrival` is when the bytes came that the driver has read.
    #[inline(always)]
    fn follow(&mut self, id: ConnectionId, step: Step, arrival: Arrival) {
        if arrival.is_stamped && !self.session.output().is_empty() {
            self.connections[id as usize].unread_before += arrival.unread;
        }
        if let Err(error) = self.send_output(id) {
            return self.broken(id, &error);
        }
        match (step, self.connections[id as usize].phase) {
            (Step::Wait, _) => {}
            (Step::Done { reuse: true }, ConnectionPhase::Greeting) => self.on_greeted(id),
            (Step::Done { reuse: false }, ConnectionPhase::Greeting) => {
                let detail = "the server ended the connection in its greeting".to_owned();
                self.broken(id, &ConnectionError { kind: ErrorKind::Closed, detail });
            }
            (Step::Failed(fault), ConnectionPhase::Greeting) => {
                self.broken(id, &ConnectionError { kind: fault.kind, detail: fault.detail.into_owned() });
            }
            (Step::Reconnect, ConnectionPhase::Busy) => self.reopen(id),
            (Step::Reconnect, _) => {
                let detail = "a new connection outside of an operation".to_owned();
                self.broken(id, &ConnectionError { kind: ErrorKind::Protocol, detail });
            }
            (Step::Secure, ConnectionPhase::Greeting) => self.secure(id),
            (Step::Secure, _) => self.fail(id, &Fault::protocol("TLS in the middle of an operation")),
            (Step::Done { reuse }, _) => self.succeed(id, reuse, arrival),
            (Step::Failed(fault), _) => self.fail(id, &fault),
        }
    }

    #[inline(always)]
    fn succeed(&mut self, id: ConnectionId, reuse: bool, arrival: Arrival) {
        let connection = &mut self.connections[id as usize];
        connection.answers = Answers::Some;
        let job = connection.job.expect("a busy connection has a job");
        let ended = EndedOperation {
            operation: connection.operation,
            intended_start: job.intended_start,
            set_up: connection.charged_set_up(self.charges_set_up, !reuse),
            ready: job.ready,
            sent: connection.begun,
            first_byte: connection.first_byte.unwrap_or(arrival.received),
            unread_before: connection.unread_before,
            arrival,
        };
        self.meter.succeeded(ended);
        if self.singles.is_some() {
            self.keep_single(id, &ended);
        }
        self.end_operation(id, reuse, arrival.received);
    }

    #[inline(never)]
    fn keep_single(&mut self, id: ConnectionId, ended: &EndedOperation) {
        let EndedOperation { operation, intended_start, set_up, ready, sent, unread_before, arrival, .. } =
            *ended;
        let Some(singles) = &mut self.singles else { return };
        let single = SingleOperation {
            response: Nanos(set_up.0 + arrival.received.since(intended_start).0),
            operation: operation.into(),
            local_port: None,
            intended_start,
            ready,
            sent,
            unread_before,
            received: arrival.received,
            read: Nanos(arrival.received.0 + arrival.unread.0),
        };
        let transport = &self.connections[id as usize].transport;
        singles.offer(single, || transport.local_port());
    }

    #[cold]
    fn fail(&mut self, id: ConnectionId, fault: &Fault) {
        let connection = &mut self.connections[id as usize];
        if fault.kind.is_reply() {
            connection.answers = Answers::Some;
        }
        let (operation, begun) = (connection.operation, connection.begun);
        let set_up = connection.charged_set_up(self.charges_set_up, !fault.reuse);
        if let Some(job) = connection.job {
            self.meter.failed(job.intended_start, begun.since(job.ready));
            if fault.kind == ErrorKind::Timeout {
                self.meter.gave_up(Some(operation), job.intended_start, Nanos(set_up.0 + self.now.0));
            }
        }
        self.meter.stats.operations[operation as usize].errors.add(fault.kind, 1, &fault.detail);
        self.end_operation(id, fault.reuse, self.now);
    }

    /// The operation has ended, successfully or not, and the server needs the connection no longer from `free_since` on.
    /// Closes the connection if necessary, and offers it to the pacer.
    #[inline(always)]
    fn end_operation(&mut self, id: ConnectionId, reuse: bool, free_since: Nanos) {
        self.take_job(id);
        let connection = &mut self.connections[id as usize];
        self.counts.shift(&mut connection.phase, ConnectionPhase::Idle);
        connection.uses += 1;
        self.deadlines[id as usize] = Nanos::NEVER;
        if !reuse || connection.uses >= self.uses_limit || connection.transport.is_ending() {
            self.close(id);
        }
        self.offer(id, free_since);
    }

    fn take_job(&mut self, id: ConnectionId) -> Option<Job> {
        let job = self.connections[id as usize].job.take();
        self.in_flight -= u32::from(job.is_some());
        job
    }

    /// Whether the driver has no operation left but the operations that wait for their connections to open.
    #[inline(always)]
    pub fn is_used_up(&self) -> bool {
        self.session.operations_left() <= u64::from(self.in_flight - self.counts.busy())
    }

    /// Offers a connection to the pacer that has been free since `since`.
    #[inline(always)]
    fn offer(&mut self, id: ConnectionId, since: Nanos) {
        if self.is_used_up() {
            return;
        }
        let now = self.now;
        let Some(pacer) = &mut self.pacer else { return };
        if let Some(assignment) = pacer.release(id, now, since) {
            self.assign(assignment);
        } else if pacer.has_left(id) && self.connections[id as usize].phase == ConnectionPhase::Idle {
            self.close(id);
        }
    }

    #[inline(never)]
    fn close(&mut self, id: ConnectionId) {
        let connection = &mut self.connections[id as usize];
        self.counts.shift(&mut connection.phase, ConnectionPhase::Closed);
        connection.transport.close();
        connection.dialogue = None;
        self.deadlines[id as usize] = Nanos::NEVER;
    }
}
