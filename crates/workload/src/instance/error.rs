//! What can go wrong with a server of a workload, each in one line with the mend.

use std::io;
use std::path::PathBuf;

use host::process::LogTail;
use load::engine::RunError;

use crate::data::DataError;

/// Why a server does not run, or not as it should.
#[derive(Debug, thiserror::Error)]
pub enum InstanceError {
    /// Its data.
    #[error(transparent)]
    Data(#[from] DataError),
    /// Its port.
    #[error(transparent)]
    Port(#[from] host::ports::Error),
    /// Starting, being ready, stopping.
    #[error(transparent)]
    Process(Box<host::process::Error>),
    /// A file of its directory.
    #[error("cannot write {path}: {source}")]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A path that configuration files cannot hold.
    #[error(
        "the directory {0:?} has a quote, a backslash, a $ or a line feed in its name, which configuration files cannot hold: choose another"
    )]
    Path(PathBuf),
    /// The server's workers cannot come to the data.
    #[error(
        "{server} runs its workers as {user}, who may not enter {path}: chmod o+x it, or keep the data elsewhere, such as in /var/cache/showdown"
    )]
    Unreachable {
        /// The server.
        server: String,
        /// Its workers' user.
        user: String,
        /// The directory that bars the way.
        path: PathBuf,
    },
    /// A template or a knob that does not work out with the values of this start.
    #[error("{server}: {what}")]
    Configuration {
        /// The server.
        server: String,
        /// What does not.
        what: String,
    },
    /// An operation that the workload does not have.
    #[error("workload {0}")]
    NoOperation(String),
    /// A reply that is not as it should be.
    #[error("{server} does not answer {operation:?} as it should: {what}{log}")]
    Check {
        /// The server.
        server: String,
        /// The operation.
        operation: String,
        /// What came instead.
        what: String,
        /// The end of its log.
        log: Box<LogTail>,
    },
    /// Keys that could not be stored, or tables that could not be made.
    #[error("{server}: loading the data failed in {failed} of {operations} operations: {what}{log}")]
    Populate {
        /// The server.
        server: String,
        /// How many failed.
        failed: u64,
        /// How many there should be.
        operations: u64,
        /// The first complaint.
        what: String,
        /// The end of its log.
        log: Box<LogTail>,
    },
    /// A server that only root can run.
    #[error("{server} needs root, for its processes run as several users: run this command as root")]
    NeedsRoot {
        /// The server.
        server: String,
    },
    /// What was to be done before the start.
    #[error("{server}: {program} {ending}: {said}")]
    Prepare {
        /// The server.
        server: String,
        /// The program.
        program: String,
        /// How it ended.
        ending: String,
        /// What it said last.
        said: String,
    },
    /// The server's own counts.
    #[error("{server} does not tell its counts: {what}")]
    Statistics {
        /// The server.
        server: String,
        /// Why not.
        what: String,
    },
    /// The load engine.
    #[error(transparent)]
    Load(#[from] RunError),
    /// The user has had enough.
    #[error("interrupted")]
    Interrupted,
}

impl From<host::process::Error> for InstanceError {
    fn from(error: host::process::Error) -> Self {
        Self::Process(Box::new(error))
    }
}
