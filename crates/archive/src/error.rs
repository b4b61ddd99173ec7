//! What can go wrong with an archive, each in one line with the thing, the reason and the mend.

use crate::id::{RunId, RunIdError};
use std::{
    io,
    path::{Path, PathBuf},
};
use thiserror::Error;

/// Any error of this crate.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// The file system takes no more.
    #[error("{}: the disk is full: make room and go on; what was written before is kept", .path.display())]
    DiskFull {
        /// The file that did not fit.
        path: PathBuf,
    },
    /// Any other failure of the file system.
    #[error("{}: {source}", .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file of a run is cut short, malformed or from another version.
    #[error("{}: {problem}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, where, and the mend.
        problem: String,
    },
    /// A value cannot be written so that it reads back; a bug of the writer.
    #[error("{}: cannot be written so that it reads back: {problem}", .path.display())]
    Unwritable {
        /// The file that was to be written.
        path: PathBuf,
        /// What does not fit the format, such as a NaN.
        problem: String,
    },
    /// A name that leads out of the run directory.
    #[error("{name:?} leads out of the run directory: name files relative to it, without `..`")]
    OutsideRun {
        /// The name.
        name: String,
    },
    /// No run is meant by a name.
    #[error("no run is called {name:?} in {}: `showdown list` names them", .root.display())]
    NoSuchRun {
        /// What was asked for.
        name: String,
        /// Where it was looked for.
        root: PathBuf,
    },
    /// Several runs are meant by a name.
    #[error("{name:?} may be {}: give more of the name", join(.candidates))]
    Ambiguous {
        /// What was asked for.
        name: String,
        /// Up to five that it may mean.
        candidates: Vec<RunId>,
    },
    /// The run is being written by another process.
    #[error("{id} is still running: stop it first, or wait")]
    Running {
        /// The run.
        id: RunId,
    },
    /// The run is in the archive already.
    #[error("{id} is in the archive already: `showdown rm {id}` first to take it in anew")]
    Exists {
        /// The run.
        id: RunId,
    },
    /// The name of a folder is no run's.
    #[error(transparent)]
    Id(#[from] RunIdError),
    /// A file is not what `export` makes, or is not to be trusted.
    #[error("{}: {problem}; nothing was imported", .path.display())]
    Import {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        problem: String,
    },
    /// The index cannot be used even after rebuilding it.
    #[error("{}: {source}: delete it, it is made anew from the run directories", .path.display())]
    Index {
        /// The database.
        path: PathBuf,
        /// What `SQLite` says.
        source: rusqlite::Error,
    },
    /// Telemetry that is no table.
    #[error("{}: {problem}", .path.display())]
    Telemetry {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
}

/// The result of nearly everything here.
pub type Result<T, E = ArchiveError> = std::result::Result<T, E>;

impl ArchiveError {
    /// What `SQLite` says of the index at a path; a full disk has an error of its own.
    pub(crate) fn index(path: PathBuf, source: rusqlite::Error) -> Self {
        match source.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DiskFull) => Self::DiskFull { path },
            _ => Self::Index { path, source },
        }
    }

    /// Names the file that an I/O error belongs to; a full disk or quota has an error of its own.
    pub(crate) fn io(path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        move |source| {
            let path = path.as_ref().to_path_buf();
            match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull { path },
                _ => Self::Io { path, source },
            }
        }
    }
}

fn join(ids: &[RunId]) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ")
}
