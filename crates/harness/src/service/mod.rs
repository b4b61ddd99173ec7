//! What the harness does, for the API and for the pages alike: each verb is one transaction, and tells who watches.

pub mod attempts;
pub mod error;
pub mod news;
pub mod orders;
pub mod people;
pub mod runs;
pub mod shifts;
pub mod views;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use archive::{Archive, OpenArchive};
use queue::api::{ControllerSeen, HostList, QueueList};
use queue::{ControllerRow, Entry, EntryId, EntryState, LEASE, LeaseWatch, lapse, outlook};

use self::error::ServiceError;
use self::news::Newsroom;
use crate::folder::HarnessFolder;
use crate::secrets::unix_ms;
use crate::store::Transaction;
use crate::store::handle::StoreHandle;

/// Entries of one page of what is at its end.
pub const ENDED_PAGE: u32 = 50;

/// Former runs of a question, whose median is the estimate.
const FORMER_RUNS: u32 = 9;

/// How long entries may wait with nothing running before the queue says that it stands still.
const STALLED: Duration = Duration::from_mins(2);

/// States of entries that are not at their end.
pub const OPEN_STATES: [EntryState; 5] =
    [EntryState::Storing, EntryState::Running, EntryState::Claimed, EntryState::Waiting, EntryState::Paused];

/// The harness.
#[derive(Debug)]
pub struct Harness {
    store: StoreHandle,
    archive: Archive,
    /// The same archive, for lists.
    listed: Arc<OpenArchive>,
    folder: HarnessFolder,
    news: Newsroom,
    started: Instant,
    /// When controllers called, here or at another server of the database; and since when something waits while nothing runs.
    heard: Mutex<HashMap<String, Instant>>,
    counters: Mutex<HashMap<String, u64>>,
    still_since: Mutex<Option<Instant>>,
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
            started: Instant::now(),
            heard: Mutex::default(),
            counters: Mutex::default(),
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

    /// A controller has called.
    fn hear(&self, controller: &str) {
        let mut heard = self.heard.lock().expect("no thread panics with it");
        heard.insert(controller.to_owned(), Instant::now());
    }

    fn is_heard(&self, controller: &str) -> bool {
        let heard = self.heard.lock().expect("no thread panics with it");
        heard.get(controller).is_some_and(|at| at.elapsed() < LEASE)
    }

    /// A controller whose counter has changed has called another server.
    fn see_counters(&self, controllers: &[ControllerRow]) {
        let mut counters = self.counters.lock().expect("no thread panics with it");
        for ControllerRow { id, counter, .. } in controllers {
            if counters.insert(id.clone(), *counter).is_some_and(|seen| seen != *counter) {
                self.hear(id);
            }
        }
    }

    /// The queue: what is not at its end; and what is, before this number, where it is asked for.
    pub async fn list(&self, ended_before: Option<Option<EntryId>>) -> Result<QueueList, ServiceError> {
        let (open, ended, hosts, controllers, durations_s) = self
            .store
            .transact(move |rows| {
                let mut open = rows.entries(&OPEN_STATES)?;
                open.sort_by_key(|entry| !entry.state.is_active());
                let ended = match ended_before {
                    Some(before) => rows.ended(before, ENDED_PAGE)?,
                    None => Vec::new(),
                };
                let durations_s = estimates(rows, &open)?;
                Ok::<_, ServiceError>((open, ended, rows.hosts()?, rows.controllers()?, durations_s))
            })
            .await?;
        let outlooks = outlook(&open, &hosts, &controllers, &|id| self.is_heard(id), &durations_s, unix_ms());
        let alarm = self.alarm(&open, &controllers);
        Ok(QueueList { entries: open.into_iter().chain(ended).collect(), outlooks, alarm })
    }

    /// What is wrong with the queue as a whole.
    fn alarm(&self, open: &[Entry], controllers: &[ControllerRow]) -> Option<String> {
        let waits = open.iter().any(|entry| entry.state == EntryState::Waiting);
        let runs = open.iter().any(|entry| entry.state.is_active());
        let mut still_since = self.still_since.lock().expect("no thread panics with it");
        if !waits || runs {
            *still_since = None;
            return None;
        }
        let since = still_since.get_or_insert_with(Instant::now).elapsed();
        let is_just_started = self.started.elapsed() < Duration::from_secs(10);
        if !controllers.iter().any(|row| self.is_heard(&row.id)) && !is_just_started {
            return Some(
                "No controller asks for work: restart `showdown serve`, or run `showdown controller`."
                    .to_owned(),
            );
        }
        let minutes = since.as_secs() / 60;
        (since > STALLED).then(|| {
            format!("Nothing has run for {minutes} minutes although runs wait: see why in the queue.")
        })
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

    /// Ends the leases of controllers that are silent, and sees which controllers call other servers. Called about once a second.
    pub async fn look(&self, watch: &mut LeaseWatch) -> Result<(), ServiceError> {
        let active = [EntryState::Claimed, EntryState::Running, EntryState::Storing];
        let looked = self
            .store
            .transact(move |rows| Ok::<_, ServiceError>((rows.entries(&active)?, rows.controllers()?)))
            .await;
        let (entries, controllers) = match looked {
            Ok(found) => found,
            Err(error) => {
                watch.forget();
                return Err(error);
            }
        };
        self.see_counters(&controllers);
        for attempt in watch.look(&entries, self.started.elapsed()) {
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
            if ended.await?.is_some() {
                self.tell(attempt.entry);
            }
        }
        Ok(())
    }

    /// A controller's process on a host has ended: what it had need not wait for its lease. A process that had the id of another
    /// machine's controller had nothing.
    pub async fn controller_ended(&self, controller: String, host: String) -> Result<(), ServiceError> {
        let gone = controller.clone();
        let ended = self.store.transact(move |rows| {
            if rows.controller(&gone)?.is_none_or(|known| known.host != host) {
                return Ok(Vec::new());
            }
            Ok::<_, ServiceError>(queue::lost_controller(rows, &gone, unix_ms())?)
        });
        for entry in ended.await? {
            self.tell(entry.id);
        }
        self.heard.lock().expect("no thread panics with it").remove(&controller);
        Ok(())
    }
}

/// The median of former runs of each question, seconds.
fn estimates(rows: &mut dyn Transaction, open: &[Entry]) -> Result<BTreeMap<String, f64>, ServiceError> {
    let mut found = BTreeMap::new();
    for entry in open {
        if found.contains_key(&entry.question) {
            continue;
        }
        let mut durations = rows.durations_s(&entry.question, FORMER_RUNS)?;
        durations.sort_by(f64::total_cmp);
        if let Some(median) = durations.get(durations.len() / 2) {
            found.insert(entry.question.clone(), *median);
        }
    }
    Ok(found)
}
