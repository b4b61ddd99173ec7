//! The archive: a folder of run directories with an index, and the operations on a whole run.

use crate::{
    bundle::{self, AnonymousRun, Identity},
    error::{ArchiveError, Result},
    files,
    id::RunId,
    index::{self, ListedRun, Query},
    layout,
    model::Plan,
    name_rule::NameRule,
    origin::is_imported,
    run::{Run, RunHead, folders, is_running},
    sessions::sessions,
    writer::{RunWriter, lock},
};
use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// A folder of run directories. The first run creates it.
#[derive(Debug, Clone)]
pub struct Archive {
    root: PathBuf,
}

impl Archive {
    /// The archive in the folder `root`, usually `runs`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Creates a run that starts now.
    pub fn create(&self, plan: &Plan) -> Result<RunWriter> {
        RunWriter::create(&self.root, plan, SystemTime::now())
    }

    /// Finds a run by its id, a unique part of its id, or `latest`. That is the newest run of this archive; an imported one only if
    /// there is no other.
    pub fn find(&self, name: &str) -> Result<RunId> {
        let mut ids = index::run_ids(&self.root)?;
        let no_such_run = || ArchiveError::NoSuchRun { name: name.to_owned(), root: self.root.clone() };
        if name == "latest" {
            let newest = ids.iter().rev().find(|id| !is_imported(&self.dir(id))).cloned();
            return newest.or_else(|| ids.pop()).ok_or_else(no_such_run);
        }
        NameRule::AnyPart.choose(&ids, name)?.ok_or_else(no_such_run)
    }

    /// The ids of all runs, the oldest first.
    pub fn ids(&self) -> Result<Vec<RunId>> {
        index::run_ids(&self.root)
    }

    /// The error for a name that no run has that may be deleted.
    pub fn nothing_to_remove(&self, name: &str) -> ArchiveError {
        ArchiveError::NoRunBeginsWith { name: name.to_owned(), root: self.root.clone() }
    }

    /// The directory of a run.
    pub fn dir(&self, id: &RunId) -> PathBuf {
        self.root.join(id.as_str())
    }

    /// The directory of the run with this name (see [`Archive::find`]), or this path if it is one.
    pub fn locate(&self, name: &str) -> Result<PathBuf> {
        let path = Path::new(name);
        if path.components().count() > 1 || path.join(layout::PLAN).is_file() {
            return Ok(path.to_path_buf());
        }
        Ok(self.dir(&self.find(name)?))
    }

    /// Reads the run with this name, or the run directory at this path (see [`Archive::locate`]), with the answer of the other runs of
    /// its plan.
    pub fn open(&self, name: &str) -> Result<Run> {
        let dir = self.locate(name)?;
        Ok(Run { sessions: sessions(&dir), ..Run::open(&dir)? })
    }

    /// The runs that match a query, newest first. Updates the index first.
    pub fn list(&self, query: &Query) -> Result<Vec<ListedRun>> {
        if self.exists()? { index::list(&self.root, query) } else { Ok(Vec::new()) }
    }

    /// Rebuilds the index from the run directories, and deletes leftovers of crashes; returns the number of runs.
    pub fn reindex(&self) -> Result<usize> {
        if !self.exists()? {
            return Ok(0);
        }
        self.delete_leftovers()?;
        index::rebuild(&self.root)
    }

    /// Adds and removes tags of a run; returns its tags.
    pub fn tag(&self, id: &RunId, add: &[String], remove: &[String]) -> Result<Vec<String>> {
        let dir = self.dir(id);
        let mut tags = RunHead::read(&dir).tags;
        tags.retain(|tag| !remove.contains(tag));
        for tag in add {
            if !tags.contains(tag) {
                tags.push(tag.clone());
            }
        }
        files::write_json(&dir, dir.join(layout::TAGS), &tags)?;
        Ok(tags)
    }

    /// Deletes a run; refused while it is running.
    pub fn remove(&self, id: &RunId) -> Result<()> {
        self.remove_all(std::slice::from_ref(id), &mut |_| {})
    }

    /// Deletes runs, and calls `removed` after each. If one of them is running, none is deleted.
    ///
    /// A run gets a hidden name first, so that no reader sees a part of it.
    pub fn remove_all(&self, ids: &[RunId], removed: &mut dyn FnMut(&RunId)) -> Result<()> {
        let locks: Vec<_> = ids.iter().map(|id| lock(&self.dir(id), id)).collect::<Result<_>>()?;
        for (id, lock) in ids.iter().zip(locks) {
            let dir = self.dir(id);
            let hidden = self.root.join(format!("{}{id}", layout::REMOVING));
            // One that was killed while it removed a run of this id has left a part of it.
            match fs::remove_dir_all(&hidden) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(ArchiveError::io(&hidden)(error));
                }
                _ => {}
            }
            fs::rename(&dir, &hidden).map_err(ArchiveError::io(&dir))?;
            fs::remove_dir_all(&hidden).map_err(ArchiveError::io(&hidden))?;
            drop(lock);
            removed(id);
        }
        Ok(())
    }

    /// Writes a run as `.tar.gz`; refused while it is running.
    pub fn export(&self, id: &RunId, out: impl Write) -> Result<()> {
        let dir = self.dir(id);
        let _lock = lock(&dir, id)?;
        bundle::export(&dir, id, out)
    }

    /// A run without what identifies its machine and user, to export it; refused while it is running.
    pub fn anonymous(&self, id: &RunId, identity: &Identity) -> Result<AnonymousRun> {
        let dir = self.dir(id);
        let lock = lock(&dir, id)?;
        AnonymousRun::new(&dir, id, identity, lock)
    }

    /// Adds the run in a file that [`Archive::export`] made, here or elsewhere.
    pub fn import(&self, file: &Path) -> Result<RunId> {
        fs::create_dir_all(&self.root).map_err(ArchiveError::runs_folder(&self.root))?;
        bundle::import(&self.root, file)
    }

    fn exists(&self) -> Result<bool> {
        self.root.try_exists().map_err(ArchiveError::io(&self.root))
    }

    /// The folders of searches for tunings whose process was killed: hours of finished trials may be in them.
    pub fn abandoned_searches(&self) -> Result<Vec<PathBuf>> {
        if !self.exists()? {
            return Ok(Vec::new());
        }
        let entries = fs::read_dir(&self.root).map_err(ArchiveError::io(&self.root))?;
        let is_search = |path: &PathBuf| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(layout::TUNING_RUNS))
        };
        let paths = entries.flatten().map(|entry| entry.path()).filter(is_search);
        // A process that still works on the folder has locked it.
        Ok(paths.filter(|path| path.is_dir() && !is_running(path)).collect())
    }

    /// Deletes hidden folders of runs whose creation, import or removal was cut off. A search for tunings with runs in it stays.
    fn delete_leftovers(&self) -> Result<()> {
        for entry in fs::read_dir(&self.root).map_err(ArchiveError::io(&self.root))? {
            let entry = entry.map_err(ArchiveError::io(&self.root))?;
            let path = entry.path();
            let is_old = |changed: SystemTime| changed.elapsed().is_ok_and(|age| age >= LEFTOVER_AGE);
            let is_staging = layout::is_staging(&entry.file_name().to_string_lossy());
            let old = entry.metadata().and_then(|metadata| metadata.modified()).is_ok_and(is_old);
            // A process that still works on the folder has locked it.
            if is_staging && old && path.is_dir() && !is_running(&path) {
                let is_search = entry.file_name().to_string_lossy().starts_with(layout::TUNING_RUNS);
                if is_search && !folders(&path)?.is_empty() {
                    continue;
                }
                match fs::remove_dir_all(&path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        return Err(ArchiveError::io(&path)(error));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

/// Age at which a hidden folder counts as a leftover.
const LEFTOVER_AGE: Duration = Duration::from_hours(1);
