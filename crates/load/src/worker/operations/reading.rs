//! A connection's turn to read: as much as the driver needs, and no longer than is fair to the other connections.

use super::super::connection::ConnectionPhase;
use super::super::connection_id::ConnectionId;
use super::super::link::Received;
use super::super::stamp::Stamp;
use super::Operations;
use crate::clock::Nanos;
use crate::driver::{Demand, Driver};

/// Bytes received at once where the driver needs only the front: more than the length of most headers.
const FRONT: usize = 1024;
/// Most reads of a connection in one turn, before the other connections have theirs.
const READS_A_TURN: u32 = 2;

impl<D: Driver> Operations<D> {
    /// Reads until there is nothing more, or the turn is over.
    #[inline(always)]
    pub(super) fn read(&mut self, id: ConnectionId, woken: Nanos) {
        let generation = self.connections[id as usize].transport.generation();
        for _ in 0..READS_A_TURN {
            if self.connections[id as usize].transport.generation() != generation {
                return;
            }
            let demand = self.demand(id);
            let transport = &mut self.connections[id as usize].transport;
            let received = match demand {
                Demand::All => transport.receive(&mut self.input, &mut self.wire),
                Demand::Front => transport.receive(&mut self.input[..FRONT], &mut self.wire),
                Demand::Skip(bytes) => {
                    let most = self.discarded.len();
                    transport
                        .discard(&mut self.discarded[..usize::try_from(bytes).map_or(most, |n| n.min(most))])
                }
            };
            match received {
                Ok(Received::Data(count, stamp)) if matches!(demand, Demand::Skip(_)) => {
                    self.on_discarded(id, count, stamp, woken);
                }
                Ok(Received::Data(count, stamp)) => self.on_data(id, count, stamp, woken),
                Ok(Received::Nothing) => return,
                Ok(Received::Closed) => return self.on_closed(id, woken),
                Err(error) => return self.broken(id, &error),
            }
        }
        let connection = &mut self.connections[id as usize];
        if !connection.queued && connection.transport.has_more() {
            connection.queued = true;
            self.queued.push(id);
        }
    }

    /// Which of the next bytes the driver needs.
    #[inline(always)]
    fn demand(&self, id: ConnectionId) -> Demand {
        let connection = &self.connections[id as usize];
        match &connection.dialogue {
            Some(dialogue) if connection.phase == ConnectionPhase::Busy && !self.dialer.is_tls() => {
                self.session.demand(dialogue)
            }
            _ => Demand::All,
        }
    }

    /// Bytes of a reply that the driver does not need were discarded.
    fn on_discarded(&mut self, id: ConnectionId, count: usize, stamp: Option<Stamp>, woken: Nanos) {
        self.tick();
        let arrival = self.arrival(id, stamp, woken);
        let connection = &mut self.connections[id as usize];
        self.meter.stats.operations[connection.operation as usize].bytes_received += count as u64;
        let dialogue = connection.dialogue.as_mut().expect("a busy connection has a dialogue");
        self.session.skip(dialogue, count as u64);
        let step = self.session.receive(dialogue, &[], &mut self.meter.stats.counters);
        self.follow(id, step, arrival);
    }
}
