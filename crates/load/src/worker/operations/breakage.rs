//! Failures: a peer that closes, a wait that times out, a connection that fails; and when a connection is tried again.

use std::time::Duration;

use super::super::connection::ConnectionPhase;
use super::super::connection_id::ConnectionId;
use super::Operations;
use crate::clock::Nanos;
use crate::connecting::ConnectionError;
use crate::driver::{Driver, Fault};
use crate::record::ErrorKind;

/// First pause before a failed connection is tried again; the pause doubles up to the longest.
const FIRST_BACKOFF: Duration = Duration::from_millis(10);
const LONGEST_BACKOFF: Duration = Duration::from_secs(1);

impl<D: Driver> Operations<D> {
    /// The peer closed without an error: this ends a reply, or breaks it, or is harmless.
    #[cold]
    pub(super) fn on_closed(&mut self, id: ConnectionId, woken: Nanos) {
        self.tick();
        // The kernel gives no timestamp of an end of file.
        let arrival = self.arrival(id, None, woken);
        let connection = &mut self.connections[id as usize];
        let detail = match (connection.phase, connection.dialogue.as_mut()) {
            (ConnectionPhase::Busy | ConnectionPhase::Greeting, Some(dialogue)) => {
                let step = self.session.closed(dialogue, &mut self.meter.stats.counters);
                return self.follow(id, step, arrival);
            }
            (ConnectionPhase::Idle, _) => "the server closed the connection before it was used",
            _ => "the server closed the connection in the handshake",
        };
        self.broken(id, &ConnectionError { kind: ErrorKind::Closed, detail: detail.to_owned() });
    }

    /// Ends every wait for the server that has timed out by the last reading of the clock.
    pub fn time_out(&mut self) {
        let now = self.now;
        for id in 0..self.deadlines.len() {
            if self.deadlines[id] <= now {
                let waited = humantime::format_duration(self.timeout);
                let detail = match self.connections[id].phase {
                    ConnectionPhase::Busy => format!("no complete reply within {waited}"),
                    _ => format!("no connection within {waited}"),
                };
                self.broken(id as ConnectionId, &ConnectionError { kind: ErrorKind::Timeout, detail });
            }
        }
    }

    /// The connection has failed.
    #[cold]
    pub(super) fn broken(&mut self, id: ConnectionId, error: &ConnectionError) {
        let now = self.tick();
        let connection = &mut self.connections[id as usize];
        match connection.phase {
            ConnectionPhase::Opening if connection.is_continuing => {
                connection.is_continuing = false;
                self.counts.shift(&mut connection.phase, ConnectionPhase::Busy);
                self.broken(id, error);
            }
            ConnectionPhase::Busy => {
                let fault = Fault { kind: error.kind, detail: error.detail.clone().into(), reuse: false };
                self.fail(id, &fault);
            }
            ConnectionPhase::Idle => {
                // The pacer still has this slot: its next operation opens a new connection. A server may close or reset an
                // idle connection, but not before its first use, and it may not send without a request.
                self.close(id);
                if self.pacer.is_none() {
                    self.setup_errors.add(error.kind, 1, &error.detail);
                } else if error.kind == ErrorKind::Protocol {
                    self.meter.stats.connections.errors.add(error.kind, 1, &error.detail);
                }
            }
            ConnectionPhase::Opening | ConnectionPhase::Greeting => {
                let pause = FIRST_BACKOFF.saturating_mul(1 << connection.failures.min(10));
                connection.failures += 1;
                self.close(id);
                let job = self.take_job(id);
                let Some(pacer) = &mut self.pacer else {
                    return self.setup_errors.add(error.kind, 1, &error.detail);
                };
                pacer.rest(id, now.after(pause.min(LONGEST_BACKOFF)));
                if let Some(job) = job {
                    if error.kind == ErrorKind::Timeout {
                        self.meter.gave_up(None, job.intended_start, now);
                    }
                    self.meter.stats.connections.errors.add(error.kind, 1, &error.detail);
                }
            }
            ConnectionPhase::Closed => {}
        }
    }
}
