//! What the harness does, for the API and for the pages alike: each verb is one transaction, and tells who watches.

pub mod attempts;
pub mod error;
pub mod lists;
pub mod news;
pub mod orders;
pub mod people;
pub mod runs;
pub mod shifts;
pub mod trash;
pub mod views;

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use archive::{Archive, OpenArchive};
use queue::api::{ControllerSeen, HostList};
use queue::{ControllerRow, Entry, EntryId, EntryState, LeaseWatch, Presence, host_identity, lapse};

use self::error::ServiceError;
use self::news::Newsroom;
use crate::clock::Clock;
use crate::folder::HarnessFolder;
use crate::secrets::unix_ms;
use crate::store::handle::StoreHandle;

/// How long entries may wait with nothing running before the queue says that it stands still.
const STALLED: Duration = Duration::from_mins(2);

/// States of entries that controllers have.
const ACTIVE: [EntryState; 3] = [EntryState::Storing, EntryState::Running, EntryState::Claimed];

/// The harness.
#[derive(Debug)]
pub struct Harness {
    store: StoreHandle,
    archive: Archive,
    /// The same archive, for lists.
    listed: Arc<OpenArchive>,
    folder: HarnessFolder,
    news: Newsroom,
    clock: Clock,
    /// Which controllers are there; and since when something waits while nothing runs.
    presence: Mutex<Presence>,
    still_since: Mutex<Option<Duration>>,
}

impl Harness {
    /// The harness of a directory of runs.
    pub fn new(store: StoreHandle, archive: Archive, folder: HarnessFolder) -> Self {
        Self {
            store,
            listed: Arc::new(OpenArchive::new(archive.root())),
            archive,
            folder,
            news: Newsroom::default(),
            clock: Clock::default(),
            presence: Mutex::default(),
            still_since: Mutex::default(),
        }
    }

    /// The store.
    pub fn store(&self) -> &StoreHandle {
        &self.store
    }

    /// The runs.
    pub fn archive(&self) -> &Archive {
        &self.archive
    }

    /// Where changes are told.
    pub fn news(&self) -> &Newsroom {
        &self.news
    }

    /// Tells who watches that an entry has changed; 0 where anything may have.
    pub fn tell(&self, entry: EntryId) {
        self.news.tell(entry);
    }

    /// Tells of an entry that has changed: its end may be that of its sequence, too.
    fn tell_of(&self, entry: &Entry) {
        self.tell(if entry.next.is_some() && entry.state.is_ended() { 0 } else { entry.id });
    }

    /// A controller has called.
    fn hear(&self, controller: &str) {
        self.presence().hear(controller, self.clock.now());
    }

    fn is_heard(&self, controller: &str) -> bool {
        self.presence().is_heard(controller, self.clock.now())
    }

    fn presence(&self) -> MutexGuard<'_, Presence> {
        self.presence.lock().expect("no thread panics with it")
    }

    /// What is wrong with a queue in which entries wait and none runs.
    fn alarm_of_still(&self, controllers: &[ControllerRow]) -> Option<String> {
        let now = self.clock.now();
        let is_just_started = now < Duration::from_secs(10);
        if !controllers.iter().any(|row| self.is_heard(&row.id)) && !is_just_started {
            return Some(
                "No controller asks for work: restart `showdown serve`, or run `showdown controller`."
                    .to_owned(),
            );
        }
        let still_since = *self.still_since.lock().expect("no thread panics with it");
        let since = now.saturating_sub(still_since.unwrap_or(now));
        let minutes = since.as_secs() / 60;
        (since > STALLED).then(|| {
            format!("Nothing has run for {minutes} minutes although runs wait: see why in the queue.")
        })
    }

    /// Whether something waits while nothing runs, at this time.
    fn note_still(&self, is_still: bool, now: Duration) {
        let mut still_since = self.still_since.lock().expect("no thread panics with it");
        *still_since = if is_still { still_since.or(Some(now)) } else { None };
    }

    /// Hosts and controllers.
    pub async fn hosts(&self) -> Result<HostList, ServiceError> {
        let (hosts, controllers) =
            self.store.transact(|rows| Ok::<_, ServiceError>((rows.hosts()?, rows.controllers()?))).await?;
        let mut seen = Vec::new();
        for row in controllers {
            let is_heard = self.is_heard(&row.id);
            seen.push(ControllerSeen { row, is_heard });
        }
        Ok(HostList { hosts, controllers: seen })
    }

    /// Ends the leases of controllers that are silent, and sees which controllers call other servers, and whether the queue stands still.
    /// Called about once a second.
    pub async fn look(&self, watch: &mut LeaseWatch) -> Result<(), ServiceError> {
        let looked = self
            .store
            .transact(move |rows| {
                let is_waiting = rows.waiting_after(None)?.is_some();
                Ok::<_, ServiceError>((rows.entries(&ACTIVE)?, rows.controllers()?, is_waiting))
            })
            .await;
        let (entries, controllers, is_waiting) = match looked {
            Ok(found) => found,
            Err(error) => {
                watch.forget();
                return Err(error);
            }
        };
        let now = self.clock.now();
        self.presence().look(&controllers, &entries, now);
        self.note_still(is_waiting && entries.is_empty(), now);
        for attempt in watch.look(&entries, now) {
            let ended = self.store.transact(move |rows| {
                let ended = lapse(rows, attempt, unix_ms())?;
                if let Some(entry) = &ended {
                    rows.audit(
                        unix_ms(),
                        "the server",
                        &format!("entry {}: lease ended, {}", entry.id, entry.state.name()),
                    )?;
                }
                Ok::<_, ServiceError>(ended)
            });
            if let Some(entry) = ended.await? {
                self.tell_of(&entry);
            }
        }
        Ok(())
    }

    /// A controller's process on a host has ended: what it had need not wait for its lease. A process that had the id of another
    /// machine's controller had nothing.
    pub async fn controller_ended(&self, controller: String, host: String) -> Result<(), ServiceError> {
        let gone = controller.clone();
        let ended = self.store.transact(move |rows| {
            if rows.controller(&gone)?.is_none_or(|known| host_identity(&known.host) != host_identity(&host))
            {
                return Ok(Vec::new());
            }
            Ok::<_, ServiceError>(queue::lost_controller(rows, &gone, unix_ms())?)
        });
        for entry in ended.await? {
            self.tell_of(&entry);
        }
        self.presence().forget(&controller);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
