//! An index that stays open, for a server that lists often: it looks at what may have changed, not at every directory.
//!
//! | change | when a list has it |
//! |---|---|
//! | a run begins, is imported, removed or renamed | at once: the folder of the archive has another modification time |
//! | a run ends, is interrupted or goes on | after [`UNSETTLED_LOOK`] |
//! | what the server itself does to a run | at once: [`OpenArchive::changed`] |
//! | another program changes files of a finished run, such as its tags | after the next [`OpenArchive::look`] |

use super::{
    Index, entry, entry::IndexedRun, is_in_state, list, query, query::ListedRun, query::Query, run_ids,
    with_index,
};
use crate::{
    error::{ArchiveError, Result},
    id::RunId,
    run::{Run, RunState},
    sessions::sessions_of,
};
use rusqlite::Connection;
use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
    sync::Mutex,
    time::{Duration, Instant, SystemTime},
};

/// How often runs are looked at that have not ended.
const UNSETTLED_LOOK: Duration = Duration::from_secs(1);

/// A folder that changed so shortly before a look may change again with the same modification time.
const SAME_TIME: Duration = Duration::from_secs(1);

/// An archive whose index stays open. Several threads may list at once; they wait for each other.
#[derive(Debug)]
pub struct OpenArchive {
    root: PathBuf,
    open: Mutex<Option<OpenIndex>>,
    changed: Mutex<HashSet<RunId>>,
}

/// The index, and what was seen of the archive.
struct OpenIndex {
    index: Index,
    /// The modification time of the folder; none where the folder may change again without another modification time.
    folder: Option<SystemTime>,
    unsettled: Instant,
}

impl std::fmt::Debug for OpenIndex {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("OpenIndex").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl OpenArchive {
    /// The archive in the folder `root`. The first list opens it.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), open: Mutex::default(), changed: Mutex::default() }
    }

    /// The runs that match a query, as [`Archive::list`](crate::Archive::list) finds them, but see the table of this module.
    pub fn list(&self, query: &Query) -> Result<Vec<ListedRun>> {
        if !self.root.try_exists().map_err(ArchiveError::io(&self.root))? {
            return Ok(Vec::new());
        }
        let mut open = self.open.lock().expect("no thread panics with it");
        if let Ok(found) = self.list_open(&mut open, query) {
            return Ok(found);
        }
        // The index is damaged, of another version, or cannot be written. This mends it where it can.
        *open = None;
        list(&self.root, query)
    }

    /// A run with all its files, as [`Archive::open`](crate::Archive::open) opens it. The index says which runs confirm it: the plans of
    /// all others are not read.
    pub fn open(&self, id: &RunId) -> Result<Run> {
        let dir = self.root.join(id.as_str());
        Ok(Run { sessions: sessions_of(&dir, |first| self.confirming(first)), ..Run::open(&dir)? })
    }

    /// The names of the runs that confirm this one, and its own if it is there.
    fn confirming(&self, first: &str) -> Option<Vec<String>> {
        let query = Query { confirms: Some(first.to_owned()), ..Query::default() };
        let mut names: Vec<String> =
            self.list(&query).ok()?.into_iter().map(|run| run.id.to_string()).collect();
        if self.root.join(first).is_dir() {
            names.push(first.to_owned());
        }
        names.sort();
        Some(names)
    }

    /// This run has been changed, removed or put back: the next list looks at it.
    pub fn changed(&self, id: &RunId) {
        self.changed.lock().expect("no thread panics with it").insert(id.clone());
    }

    /// Looks at every directory, beside lists that go on.
    pub fn look(&self) -> Result<()> {
        if !self.root.try_exists().map_err(ArchiveError::io(&self.root))? {
            return Ok(());
        }
        with_index(&self.root, Index::update)
    }

    fn list_open(&self, open: &mut Option<OpenIndex>, query: &Query) -> Result<Vec<ListedRun>> {
        let changed = std::mem::take(&mut *self.changed.lock().expect("no thread panics with it"));
        let kept = match open {
            Some(kept) => {
                kept.follow(changed)?;
                kept
            }
            None => open.insert(OpenIndex::new(&self.root)?),
        };
        query::select(&kept.index.db, query).map_err(|error| kept.index.error(error))
    }
}

impl OpenIndex {
    fn new(root: &Path) -> Result<Self> {
        let index = Index::new(root, Connection::open(root.join(super::INDEX)))?;
        let mut open = Self { index, folder: None, unsettled: Instant::now() };
        // Before the directories: a change while they are read causes another look.
        let folder = settled(open.modified()?);
        open.index.update()?;
        open.folder = folder;
        Ok(open)
    }

    fn modified(&self) -> Result<SystemTime> {
        let root = &self.index.root;
        fs::metadata(root).and_then(|folder| folder.modified()).map_err(ArchiveError::io(root))
    }

    /// Reads what may have changed.
    fn follow(&mut self, changed: HashSet<RunId>) -> Result<()> {
        let mut suspects = changed;
        let folder = self.modified()?;
        let is_settled = settled(folder).is_some();
        if self.folder != Some(folder) {
            let mut known: HashSet<RunId> =
                self.index.known().map_err(|error| self.index.error(error))?.into_keys().collect();
            for id in run_ids(&self.index.root)? {
                if !known.remove(&id) {
                    suspects.insert(id);
                }
            }
            suspects.extend(known);
            self.folder = is_settled.then_some(folder);
        }
        if self.unsettled.elapsed() >= UNSETTLED_LOOK {
            self.unsettled = Instant::now();
            suspects.extend(self.unsettled().map_err(|error| self.index.error(error))?);
        }
        let (mut fresh, mut gone) = (Vec::new(), Vec::new());
        for id in &suspects {
            if self.index.root.join(id.as_str()).is_dir() {
                // A directory that is removed meanwhile cannot be read.
                fresh.extend(IndexedRun::read(&self.index.root, id.clone()).ok());
            } else {
                gone.push(id);
            }
        }
        if fresh.is_empty() && gone.is_empty() {
            return Ok(());
        }
        self.index.apply(&fresh, &gone).map_err(|error| self.index.error(error))
    }

    /// The runs that had not ended, and are not as the index has them.
    fn unsettled(&self) -> rusqlite::Result<Vec<RunId>> {
        let states = [RunState::Running, RunState::Unfinished];
        let mut select =
            self.index.db.prepare_cached("SELECT id, state, changed_ns FROM run WHERE state IN (?1, ?2)")?;
        let mut rows = select.query(states.map(RunState::name))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let id: RunId = row.get(0)?;
            let state = RunState::from_name(row.get_ref(1)?.as_str()?).unwrap_or(RunState::Damaged);
            let dir = self.index.root.join(id.as_str());
            let changed_ns = fs::metadata(&dir).map_or(0, |directory| entry::changed_ns(&directory));
            if changed_ns != row.get::<_, i64>(2)? || !is_in_state(&dir, state) {
                found.push(id);
            }
        }
        Ok(found)
    }
}

/// The modification time of a folder, if a change after this moment will have another one.
fn settled(folder: SystemTime) -> Option<SystemTime> {
    let is_old = folder.elapsed().is_ok_and(|age| age >= SAME_TIME);
    is_old.then_some(folder)
}
