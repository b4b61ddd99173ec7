//! Errors of the archive. Each is one line: what failed, why, what to do.

use crate::{
    id::{RunId, RunIdError},
    telemetry::TelemetryError,
};
use std::{
    io,
    path::{Path, PathBuf},
};
use thiserror::Error;

/// Any error of this crate.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// The disk or the quota is full.
    #[error("{}: the disk is full: free some space; earlier files are kept", .path.display())]
    DiskFull {
        /// The file that was being written.
        path: PathBuf,
    },
    /// The file system became read-only, or is mounted so.
    #[error("{}: the file system is read-only: make it writable; earlier files are kept", .path.display())]
    ReadOnly {
        /// The file that was being written.
        path: PathBuf,
    },
    /// Runs cannot be kept in the folder that was chosen for them.
    #[error("{} cannot be written: choose another with --runs", .path.display())]
    RunsFolder {
        /// The folder of run directories.
        path: PathBuf,
    },
    /// Any other error of the file system.
    #[error("{}: {source}", .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file of a run is cut short, malformed or of a later format.
    #[error("{}: {problem}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong, where, and what to do.
        problem: String,
    },
    /// A value would not read back after it is written; a bug of the writer.
    #[error("{}: cannot be written, because it would not read back: {problem}", .path.display())]
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
    /// No run matches a name.
    #[error("no run matches {name:?} in {}: `showdown list` lists the runs", .root.display())]
    NoSuchRun {
        /// The name.
        name: String,
        /// The folder of run directories.
        root: PathBuf,
    },
    /// Several runs match a name.
    #[error("{name:?} matches {}: type more of the name", list(.candidates))]
    Ambiguous {
        /// The name.
        name: String,
        /// The matching runs, newest first.
        candidates: Vec<RunId>,
    },
    /// No run's id begins with a name.
    #[error(
        "no run's id is {name:?} or begins with it in {}: `showdown list` lists the runs; nothing was removed",
        .root.display()
    )]
    NoRunBeginsWith {
        /// The name.
        name: String,
        /// The folder of run directories.
        root: PathBuf,
    },
    /// Another process is writing the run.
    #[error("{id} is still running: stop it first, or wait")]
    Running {
        /// The run.
        id: RunId,
    },
    /// The archive already has the run.
    #[error("{id} is already in the archive: run `showdown rm {id}` first to replace it")]
    Exists {
        /// The run.
        id: RunId,
    },
    /// The name of a folder is not a run id.
    #[error(transparent)]
    Id(#[from] RunIdError),
    /// A file was not made by `export`, or is not safe to unpack.
    #[error("{}: {problem}; nothing was imported", .path.display())]
    Import {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        problem: String,
    },
    /// A run could not be packed, or the packed run could not be written.
    #[error("cannot pack the run: {0}")]
    Packing(#[source] io::Error),
    /// A file of a run cannot be rewritten without names of the machine.
    #[error("{}: cannot be made anonymous: {problem}: remove the file, or report this as a bug; nothing was exported", .path.display())]
    NotAnonymous {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// The index cannot be used, even after it was rebuilt.
    #[error("{}: {source}: delete it; it is rebuilt from the run directories", .path.display())]
    Index {
        /// The database.
        path: PathBuf,
        /// The error of `SQLite`.
        source: rusqlite::Error,
    },
    /// Another process writes the index and does not end.
    #[error("{}: another process keeps it locked: wait until that process ends, and try again", .path.display())]
    IndexBusy {
        /// The database.
        path: PathBuf,
    },
    /// A telemetry file cannot be read or written.
    #[error("{}: {source}", .path.display())]
    Telemetry {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: TelemetryError,
    },
}

/// The result of most functions of this crate.
pub type Result<T, E = ArchiveError> = std::result::Result<T, E>;

impl ArchiveError {
    /// A JSON file that does not parse.
    pub(crate) fn malformed(path: &Path, error: &serde_json::Error) -> Self {
        let state = if error.is_eof() { "cut short" } else { "malformed" };
        let problem =
            format!("{state}: {error}: restore it from an export of the run, or continue without it");
        Self::Unreadable { path: path.to_path_buf(), problem }
    }

    /// An error of `SQLite` with the index at a path. A full disk and a locked index have their own errors. An index whose log
    /// another process has just removed is as good as locked.
    pub(crate) fn index(path: PathBuf, source: rusqlite::Error) -> Self {
        use rusqlite::{ErrorCode, ffi};
        let extended = source.sqlite_error().map(|error| error.extended_code);
        if extended == Some(ffi::SQLITE_IOERR_DELETE_NOENT) {
            return Self::IndexBusy { path };
        }
        match source.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::DiskFull { path },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::IndexBusy { path },
            _ => Self::Index { path, source },
        }
    }

    /// An I/O error while the folder of run directories is made, or a folder in it.
    pub(crate) fn runs_folder(root: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| match source.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
                Self::RunsFolder { path: root.to_path_buf() }
            }
            _ => Self::io(root)(source),
        }
    }

    /// An I/O error with its file. A full disk or quota has its own error.
    pub(crate) fn io(path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        move |source| {
            let path = path.as_ref().to_path_buf();
            match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull { path },
                io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly { path },
                _ => Self::Io { path, source },
            }
        }
    }
}

/// Number of runs that the error for an ambiguous name lists.
const CANDIDATES: usize = 10;

fn list(ids: &[RunId]) -> String {
    let listed: Vec<&str> = ids.iter().take(CANDIDATES).map(RunId::as_str).collect();
    match ids.len().saturating_sub(CANDIDATES) {
        0 => format!("{} runs: {}", ids.len(), listed.join(", ")),
        more => format!("{} runs: {} and {more} more", ids.len(), listed.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    #[test]
    fn a_folder_that_cannot_be_written_is_refused_with_the_option_that_chooses_another() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let below = file.path().join("runs");
        let not_a_folder = std::fs::create_dir_all(&below).expect_err("a file is no folder");
        for error in [not_a_folder, io::ErrorKind::PermissionDenied.into()] {
            let error = ArchiveError::runs_folder(&below)(error).to_string();
            let expected = format!("{} cannot be written: choose another with --runs", below.display());
            assert_eq!(error, expected);
        }
    }

    #[test]
    fn an_index_whose_log_another_process_has_removed_is_busy() {
        let error = |code| {
            let source = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            ArchiveError::index(PathBuf::from("index.sqlite"), source)
        };
        assert!(matches!(error(ffi::SQLITE_IOERR_DELETE_NOENT), ArchiveError::IndexBusy { .. }));
        assert!(matches!(error(ffi::SQLITE_BUSY), ArchiveError::IndexBusy { .. }));
        assert!(matches!(error(ffi::SQLITE_IOERR_READ), ArchiveError::Index { .. }));
    }
}
