//! From an open connection to one that is ready for operations: the handshake of TLS, and the driver's greeting.

use super::super::connection::ConnectionPhase;
use super::super::connection_id::ConnectionId;
use super::super::wall_clock::Arrival;
use super::Operations;
use crate::clock::Nanos;
use crate::driver::{Driver, Step};

impl<D: Driver> Operations<D> {
    #[inline(always)]
    pub(super) fn greet_if_open(&mut self, id: ConnectionId) {
        let connection = &self.connections[id as usize];
        if connection.phase == ConnectionPhase::Opening && connection.transport.is_open() {
            self.greet(id);
        }
    }

    /// The TLS handshake is over: the greeting begins, or continues where it requested TLS.
    #[cold]
    pub(super) fn on_secured(&mut self, id: ConnectionId) {
        let connection = &mut self.connections[id as usize];
        match connection.dialogue.as_mut().filter(|_| connection.phase == ConnectionPhase::Greeting) {
            None => self.greet_if_open(id),
            Some(dialogue) => {
                let step = self.session.secured(dialogue, &mut self.meter.stats.counters);
                self.begin_greeting(id, step);
            }
        }
    }

    #[cold]
    fn greet(&mut self, id: ConnectionId) {
        let connection = &mut self.connections[id as usize];
        if std::mem::take(&mut connection.is_continuing) {
            self.counts.shift(&mut connection.phase, ConnectionPhase::Busy);
            let dialogue = connection.dialogue.as_mut().expect("an operation that continues has a dialogue");
            let step = self.session.reconnected(dialogue, &mut self.meter.stats.counters);
            return self.begin_greeting(id, step);
        }
        self.counts.shift(&mut connection.phase, ConnectionPhase::Greeting);
        let dialogue = connection.dialogue.insert(self.session.dialogue(id));
        let step = self.session.greet(dialogue, &mut self.meter.stats.counters);
        self.begin_greeting(id, step);
    }

    /// The operation in flight continues on a new connection; its wait for the server begins anew.
    #[cold]
    pub(super) fn reopen(&mut self, id: ConnectionId) {
        let now = self.tick();
        let connection = &mut self.connections[id as usize];
        connection.transport.close();
        connection.is_continuing = true;
        connection.uses = 0;
        self.counts.shift(&mut connection.phase, ConnectionPhase::Opening);
        self.deadlines[id as usize] = now.after(self.timeout);
        if let Err(error) = connection.transport.open(id, &self.dialer, &self.poller, now) {
            self.broken(id, &error);
        }
    }

    /// Follows a step of the greeting that no bytes of the server led to.
    #[cold]
    fn begin_greeting(&mut self, id: ConnectionId, step: Step) {
        self.follow(id, step, Arrival { received: self.now, unread: Nanos(0), is_stamped: false });
    }

    #[cold]
    pub(super) fn secure(&mut self, id: ConnectionId) {
        let now = self.tick();
        if let Err(error) = self.connections[id as usize].transport.secure(&self.dialer, now) {
            self.broken(id, &error);
        }
    }

    /// The connection is ready for operations: the one it was opened for, or the next one.
    #[cold]
    pub(super) fn on_greeted(&mut self, id: ConnectionId) {
        let connection = &mut self.connections[id as usize];
        self.counts.shift(&mut connection.phase, ConnectionPhase::Idle);
        self.meter.note_open(self.counts.open());
        connection.failures = 0;
        self.deadlines[id as usize] = Nanos::NEVER;
        if let Some(job) = &mut connection.job {
            job.ready = job.ready.after(self.now.since(connection.begun).into());
            self.begin(id);
        } else {
            connection.set_up = self.now.since(connection.begun);
            self.offer(id, self.now);
        }
    }
}
