//! Orders: how many transfers to maintain and from when, clients that leave with their first byte, and marks.

use std::time::Duration;

use super::super::record::Advances;
use super::super::slot::{Ramp, Stage};
use super::super::spec::TransferOrder;
use super::{PROBE_SLOTS, TURNS, Worker};
use crate::clock::Nanos;

impl Worker<'_> {
    /// Follows an order.
    pub(super) fn obey(&mut self, order: TransferOrder) {
        match order {
            TransferOrder::Maintain { transfers, from, until } => {
                let most = self.slots.len() as u32 - PROBE_SLOTS;
                let to = transfers.min(most);
                for client in to..self.clients {
                    self.leave(PROBE_SLOTS + client);
                }
                self.clients = self.clients.min(to);
                self.ramp = Some(Ramp { from, until, first: self.clients, to });
                self.is_maintained = false;
            }
            TransferOrder::Probe { per_s } => {
                self.probe_gap = (per_s > 0.0).then(|| Nanos((1e9 / per_s) as u64));
                // The probes of the processes are spread over the gap.
                let first = self.probe_gap.map(|gap| {
                    let part = gap.0 / u64::from(self.processes) * u64::from(self.process);
                    Nanos::now().after(Duration::from_nanos(part))
                });
                self.next_probe = first.unwrap_or(Nanos::NEVER);
            }
            TransferOrder::Mark => {
                self.is_maintained = true;
                for slot in &mut self.slots[PROBE_SLOTS as usize..] {
                    slot.is_marked = slot.stage == Stage::InProgress;
                    (slot.advances, slot.bytes_since_mark) = (0, 0);
                }
            }
            TransferOrder::Advances => {}
        }
    }

    /// How far the transfers of the last mark have come.
    pub(super) fn advances(&self) -> Advances {
        let marked = || self.slots.iter().filter(|slot| slot.is_marked);
        let with = |advances| marked().filter(|slot| slot.advances == advances).count() as u64;
        Advances {
            transfers: marked().count() as u64,
            never: with(0),
            once: with(1),
            fewest_bytes: marked().map(|slot| u64::from(slot.bytes_since_mark)).min().unwrap_or_default(),
        }
    }

    /// Begins the attempts that are due; returns whether more are.
    pub(super) fn begin_due(&mut self, now: Nanos) -> bool {
        let mut turns = 0;
        while let Some(ramp) = self.ramp {
            if self.clients >= ramp.to {
                self.ramp = None;
                break;
            }
            let due = ramp.due(self.clients);
            if due > now {
                break;
            }
            if turns == TURNS {
                return true;
            }
            turns += 1;
            let slot = PROBE_SLOTS + self.clients;
            self.clients += 1;
            self.begin(slot, due);
        }
        while let Some(gap) = self.probe_gap.filter(|_| self.next_probe <= now) {
            let due = self.next_probe;
            self.next_probe = due.after(gap.into());
            let free = (0..PROBE_SLOTS).find(|&slot| self.slots[slot as usize].stage == Stage::Idle);
            match free {
                Some(slot) => self.begin(slot, due),
                None => self.count_probe(false),
            }
        }
        false
    }
}
