//! What can go wrong with a server, each in one line with the end of its log.

use std::time::Duration;

use super::{Ending, LogTail};

/// Why a server is not (or no longer) serving.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// It could not be started at all.
    #[error("cannot start {name}: {reason}")]
    Refused {
        /// The server's name.
        name: String,
        /// What stood in the way, and the mend.
        reason: String,
    },
    /// It ended by itself, at its start or in the middle of the work.
    #[error("{name} (pid {pid}) {ending}{log}")]
    Died {
        /// The server's name.
        name: String,
        /// Its first process.
        pid: u32,
        /// How it ended.
        ending: Ending,
        /// The end of its log.
        log: LogTail,
    },
    /// It runs, but did not become ready in the time that it had.
    #[error("{name} (pid {pid}) was not ready within {within:?}: {reason}{log}")]
    NotReady {
        /// The server's name.
        name: String,
        /// Its first process.
        pid: u32,
        /// The time that it had.
        within: Duration,
        /// What the last probe said.
        reason: String,
        /// The end of its log.
        log: LogTail,
    },
    /// The probe gave up: more time would not help.
    #[error("{name} (pid {pid}) is not ready and will not be: {reason}{log}")]
    GaveUp {
        /// The server's name.
        name: String,
        /// Its first process.
        pid: u32,
        /// What the probe said.
        reason: String,
        /// The end of its log.
        log: LogTail,
    },
    /// The keeper (or its guard) was killed by somebody else; the server was stopped because of that.
    #[error("the keeper of {name} was killed from outside, so {name} was stopped too: run it again")]
    KeeperLost {
        /// The server's name.
        name: String,
    },
    /// Processes are left that SIGKILL does not end.
    #[error(
        "{name} cannot be killed; left: {left}; kill them as root, or wait for the I/O that they wait for"
    )]
    Unkillable {
        /// The server's name.
        name: String,
        /// The processes that are left, as "pid name (state)".
        left: String,
    },
}
