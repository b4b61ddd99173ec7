//! From an open connection to one that is ready for operations: the handshake of TLS, and the driver's greeting.

use super::super::connection::ConnectionPhase;
use super::super::pacing::ConnectionId;
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
        self.counts.shift(&mut connection.phase, ConnectionPhase::Greeting);
        let dialogue = connection.dialogue.insert(self.session.dialogue());
        let step = self.session.greet(dialogue, &mut self.meter.stats.counters);
        self.begin_greeting(id, step);
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
