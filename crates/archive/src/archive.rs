//! The archive: a folder of run directories with an index, and what can be done to a run as a whole.

use crate::{
    bundle,
    error::{ArchiveError, Result},
    files,
    id::RunId,
    index::{self, ListedRun, Query},
    layout,
    model::Plan,
    run::{Run, RunHead, is_running},
    writer::{RunWriter, lock},
};
use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// A folder of run directories. It need not exist before the first run.
#[derive(Debug, Clone)]
pub struct Archive {
    root: PathBuf,
}

/// How many runs an ambiguous name is answered with.
const CANDIDATES: usize = 5;

impl Archive {
    /// The archive in the folder `root`, usually `runs`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Begins a run that starts now.
    pub fn create(&self, plan: &Plan) -> Result<RunWriter> {
        RunWriter::create(&self.root, plan, SystemTime::now())
    }

    /// The run that a name means: its id, a part of it that no other has, or `latest`.
    pub fn find(&self, name: &str) -> Result<RunId> {
        let mut ids = index::run_ids(&self.root)?;
        let nothing = || ArchiveError::NoSuchRun { name: name.to_owned(), root: self.root.clone() };
        if name == "latest" {
            return ids.pop().ok_or_else(nothing);
        }
        if let Some(exact) = ids.iter().find(|id| id.as_str() == name) {
            return Ok(exact.clone());
        }
        ids.retain(|id| !name.is_empty() && id.as_str().contains(name));
        match ids.len() {
            0 => Err(nothing()),
            1 => Ok(ids.remove(0)),
            _ => {
                ids.reverse();
                ids.truncate(CANDIDATES);
                Err(ArchiveError::Ambiguous { name: name.to_owned(), candidates: ids })
            }
        }
    }

    /// Where a run lies.
    pub fn dir(&self, id: &RunId) -> PathBuf {
        self.root.join(id.as_str())
    }

    /// Reads the run that a name means, as [`Archive::find`] has it, or the run directory at that path.
    pub fn open(&self, name: &str) -> Result<Run> {
        let path = Path::new(name);
        if path.components().count() > 1 || path.join(layout::PLAN).is_file() {
            return Run::open(path);
        }
        Run::open(&self.dir(&self.find(name)?))
    }

    /// The runs that a query lets through, newest first. Brings the index up to date first.
    pub fn list(&self, query: &Query) -> Result<Vec<ListedRun>> {
        if self.exists()? { index::list(&self.root, query) } else { Ok(Vec::new()) }
    }

    /// Makes the index anew from the run directories alone, and clears away what crashes left; gives how many runs
    /// there are.
    pub fn reindex(&self) -> Result<usize> {
        if !self.exists()? {
            return Ok(0);
        }
        self.sweep()?;
        index::rebuild(&self.root)
    }

    /// Adds tags to a run and takes others away; gives what it has now.
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

    /// Removes a run for good; refused while it is running.
    ///
    /// It gets a hidden name first, so that no half of a run is ever seen.
    pub fn remove(&self, id: &RunId) -> Result<()> {
        let dir = self.dir(id);
        let _lock = lock(&dir, id)?;
        let doomed = self.root.join(format!(".removing-{id}"));
        fs::rename(&dir, &doomed).map_err(ArchiveError::io(&dir))?;
        fs::remove_dir_all(&doomed).map_err(ArchiveError::io(&doomed))
    }

    /// Writes a run into one file, `.tar.gz`; refused while it is running.
    pub fn export(&self, id: &RunId, file: &Path) -> Result<()> {
        let dir = self.dir(id);
        let _lock = lock(&dir, id)?;
        bundle::export(&dir, id, file)
    }

    /// Takes in a run from a file that [`Archive::export`] made, here or elsewhere.
    pub fn import(&self, file: &Path) -> Result<RunId> {
        fs::create_dir_all(&self.root).map_err(ArchiveError::io(&self.root))?;
        bundle::import(&self.root, file)
    }

    fn exists(&self) -> Result<bool> {
        self.root.try_exists().map_err(ArchiveError::io(&self.root))
    }

    /// Clears away runs whose making, import or removal was cut off.
    fn sweep(&self) -> Result<()> {
        for entry in fs::read_dir(&self.root).map_err(ArchiveError::io(&self.root))? {
            let entry = entry.map_err(ArchiveError::io(&self.root))?;
            let path = entry.path();
            let is_old = |changed: SystemTime| changed.elapsed().is_ok_and(|age| age >= LEFT_FOR_GOOD);
            let hidden = layout::is_hidden(&entry.file_name().to_string_lossy());
            let old = entry.metadata().and_then(|metadata| metadata.modified()).is_ok_and(is_old);
            // Who is still at work on it holds its lock.
            if hidden && old && path.is_dir() && !is_running(&path) {
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

/// A hidden folder that nobody changed for so long is nobody's.
const LEFT_FOR_GOOD: Duration = Duration::from_hours(1);
