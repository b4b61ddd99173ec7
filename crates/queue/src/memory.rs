//! Rows in memory: the model that stores of databases are compared with, and that tests explore.

use std::collections::BTreeMap;
use std::convert::Infallible;

use crate::entry::{Entry, EntryId, EntryState};
use crate::host_row::{ControllerRow, HostRow};
use crate::rows::{Rows, Sequence};

/// Rows in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct MemoryRows {
    numbers: BTreeMap<Sequence, u64>,
    entries: BTreeMap<EntryId, Entry>,
    hosts: BTreeMap<String, HostRow>,
    controllers: BTreeMap<String, ControllerRow>,
}

impl Rows for MemoryRows {
    type Error = Infallible;

    fn next(&mut self, sequence: Sequence) -> Result<u64, Infallible> {
        let number = self.numbers.entry(sequence).or_default();
        *number += 1;
        Ok(*number)
    }

    fn entry(&mut self, id: EntryId) -> Result<Option<Entry>, Infallible> {
        Ok(self.entries.get(&id).cloned())
    }

    fn entry_of_key(&mut self, key: &str) -> Result<Option<Entry>, Infallible> {
        Ok(self.entries.values().find(|entry| entry.key.as_deref() == Some(key)).cloned())
    }

    fn put_entry(&mut self, entry: &Entry) -> Result<(), Infallible> {
        self.entries.insert(entry.id, entry.clone());
        Ok(())
    }

    fn entries(&mut self, states: &[EntryState]) -> Result<Vec<Entry>, Infallible> {
        let mut found: Vec<Entry> =
            self.entries.values().filter(|entry| states.contains(&entry.state)).cloned().collect();
        found.sort_by_key(Entry::place_in_order);
        Ok(found)
    }

    fn in_order_after(
        &mut self,
        state: EntryState,
        after: Option<&Entry>,
        most: u32,
    ) -> Result<Vec<Entry>, Infallible> {
        let mut found = self.entries(&[state])?;
        found.retain(|entry| after.is_none_or(|after| entry.place_in_order() > after.place_in_order()));
        found.truncate(most as usize);
        Ok(found)
    }

    fn host(&mut self, name: &str) -> Result<Option<HostRow>, Infallible> {
        Ok(self.hosts.get(name).cloned())
    }

    fn put_host(&mut self, host: &HostRow) -> Result<(), Infallible> {
        self.hosts.insert(host.name.clone(), host.clone());
        Ok(())
    }

    fn hosts(&mut self) -> Result<Vec<HostRow>, Infallible> {
        Ok(self.hosts.values().cloned().collect())
    }

    fn controller(&mut self, id: &str) -> Result<Option<ControllerRow>, Infallible> {
        Ok(self.controllers.get(id).cloned())
    }

    fn put_controller(&mut self, controller: &ControllerRow) -> Result<(), Infallible> {
        self.controllers.insert(controller.id.clone(), controller.clone());
        Ok(())
    }

    fn controllers(&mut self) -> Result<Vec<ControllerRow>, Infallible> {
        Ok(self.controllers.values().cloned().collect())
    }
}
