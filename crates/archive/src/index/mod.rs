//! The index over run directories: a table of contents in `SQLite`. All of its data is also in the directories.
//!
//! Before each query it compares the names and modification times of the directories with its entries, and reads new
//! and changed directories again. Several processes may do this at once. A damaged index is rebuilt. For a server that lists often,
//! [`OpenArchive`] looks at less.

mod entry;
mod open;
mod query;
mod schema;

pub use open::OpenArchive;
pub use query::{ListedRun, Query, RunOrder};

use crate::{
    error::{ArchiveError, Result},
    id::RunId,
    run::{RunState, folders, is_running},
};
use entry::IndexedRun;
use rusqlite::{Connection, ErrorCode, TransactionBehavior};
use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

/// The file of the index in the root of an archive; `SQLite` adds `-wal` and `-shm` beside it.
pub const INDEX: &str = "index.sqlite";

/// The pause before another attempt to open an index that another process holds. It holds it for milliseconds.
const BUSY_PAUSE: Duration = Duration::from_millis(5);

/// The open index of an archive.
pub(crate) struct Index {
    db: Connection,
    root: PathBuf,
}

/// The runs under `root` that match a query. `root` must exist.
pub(crate) fn list(root: &Path, query: &Query) -> Result<Vec<ListedRun>> {
    let ask = |index: &mut Index| {
        index.update()?;
        query::select(&index.db, query).map_err(|error| index.error(error))
    };
    match with_index(root, ask) {
        // A list needs no space on disk.
        Err(ArchiveError::DiskFull { .. }) => with_index_in_memory(root, ask),
        done => done,
    }
}

/// Rebuilds the index from the run directories; returns their number.
pub(crate) fn rebuild(root: &Path) -> Result<usize> {
    with_index(root, |index| {
        let entries: Vec<IndexedRun> =
            run_ids(root)?.into_iter().filter_map(|id| IndexedRun::read(root, id).ok()).collect();
        index.replace(&entries).map_err(|error| index.error(error))?;
        Ok(entries.len())
    })
}

/// Runs `work` with the index of `root`. A damaged index is deleted and rebuilt. Where the index cannot be written,
/// `work` gets one in memory.
fn with_index<T>(root: &Path, work: impl Fn(&mut Index) -> Result<T>) -> Result<T> {
    let path = root.join(INDEX);
    let on_disk = || patiently(|| work(&mut Index::new(root, Connection::open(&path))?));
    match on_disk() {
        Err(ArchiveError::Index { source, .. }) if is_damaged(&source) => {
            discard(root)?;
            on_disk()
        }
        Err(ArchiveError::Index { source, .. }) if is_read_only(&source) => with_index_in_memory(root, work),
        done => done,
    }
}

/// Runs `work` again while another process holds the index. `SQLite` waits by itself for a writer, but not where the
/// journal becomes a log or where the last connection removes the log (<https://sqlite.org/wal.html>, section 9).
fn patiently<T>(work: impl Fn() -> Result<T>) -> Result<T> {
    let start = Instant::now();
    loop {
        match work() {
            Err(ArchiveError::IndexBusy { .. }) if start.elapsed() < schema::BUSY_TIMEOUT => {
                thread::sleep(BUSY_PAUSE);
            }
            done => return done,
        }
    }
}

fn with_index_in_memory<T>(root: &Path, work: impl Fn(&mut Index) -> Result<T>) -> Result<T> {
    work(&mut Index::new(root, Connection::open_in_memory())?)
}

impl Index {
    fn new(root: &Path, opened: rusqlite::Result<Connection>) -> Result<Self> {
        let prepared = opened.and_then(|mut db| schema::prepare(&mut db).map(|()| db));
        let root = root.to_path_buf();
        match prepared {
            Ok(db) => Ok(Self { db, root }),
            Err(source) => Err(ArchiveError::index(root.join(INDEX), source)),
        }
    }

    /// Reads directories that are new or changed since the last query, and removes entries without a directory.
    fn update(&mut self) -> Result<()> {
        let mut known = self.known().map_err(|error| self.error(error))?;
        let mut fresh = Vec::new();
        for (id, changed_ns) in directories(&self.root)? {
            let is_current = known.remove(&id).is_some_and(|(state, seen_ns)| {
                seen_ns == changed_ns && is_in_state(&self.root.join(id.as_str()), state)
            });
            if !is_current {
                // A directory that was removed meanwhile cannot be read.
                fresh.extend(IndexedRun::read(&self.root, id).ok());
            }
        }
        let gone: Vec<&RunId> = known.keys().collect();
        if fresh.is_empty() && gone.is_empty() {
            return Ok(());
        }
        self.apply(&fresh, &gone).map_err(|error| self.error(error))
    }

    fn known(&self) -> rusqlite::Result<HashMap<RunId, (RunState, i64)>> {
        let mut select = self.db.prepare_cached("SELECT id, state, changed_ns FROM run")?;
        let rows = select.query_map([], |row| {
            let state = RunState::from_name(row.get_ref(1)?.as_str()?).unwrap_or(RunState::Damaged);
            Ok((row.get(0)?, (state, row.get(2)?)))
        })?;
        rows.collect()
    }

    fn apply(&mut self, fresh: &[IndexedRun], gone: &[&RunId]) -> rusqlite::Result<()> {
        // A transaction that starts with a read cannot wait for another writer, so this one starts with a write lock.
        let change = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for id in gone {
            change.prepare_cached("DELETE FROM run WHERE id = ?1")?.execute([id])?;
        }
        fresh.iter().try_for_each(|entry| entry.store(&change))?;
        change.commit()
    }

    fn replace(&mut self, entries: &[IndexedRun]) -> rusqlite::Result<()> {
        let change = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        change.execute("DELETE FROM run", [])?;
        entries.iter().try_for_each(|entry| entry.store(&change))?;
        change.commit()
    }

    fn error(&self, source: rusqlite::Error) -> ArchiveError {
        ArchiveError::index(self.root.join(INDEX), source)
    }
}

fn is_damaged(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt))
}

fn is_read_only(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied)
    )
}

/// Deletes a damaged index.
fn discard(root: &Path) -> Result<()> {
    for suffix in ["", "-wal", "-shm"] {
        let path = root.join(format!("{INDEX}{suffix}"));
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(ArchiveError::io(&path)(error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether a run is still in the state of its index entry.
fn is_in_state(dir: &Path, state: RunState) -> bool {
    match state {
        RunState::Finished | RunState::Interrupted | RunState::Damaged => true,
        RunState::Running => is_running(dir),
        RunState::Unfinished => !is_running(dir),
    }
}

/// The run directories under a root with their modification times.
fn directories(root: &Path) -> Result<Vec<(RunId, i64)>> {
    let mut directories = Vec::new();
    for entry in fs::read_dir(root).map_err(ArchiveError::io(root))? {
        let entry = entry.map_err(ArchiveError::io(root))?;
        let id = entry.file_name().to_str().and_then(|name| name.parse().ok());
        // The entry's own metadata: a lookup of the whole path takes twice as long.
        if let Some((id, metadata)) = id.zip(entry.metadata().ok()).filter(|(_, metadata)| metadata.is_dir())
        {
            directories.push((id, entry::changed_ns(&metadata)));
        }
    }
    Ok(directories)
}

/// The runs under a root, oldest first. Folders with other names are not runs.
pub(crate) fn run_ids(root: &Path) -> Result<Vec<RunId>> {
    Ok(folders(root)?.iter().filter_map(|name| name.parse().ok()).collect())
}
