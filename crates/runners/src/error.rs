//! Errors of runners and of their operations, each in one line. What a store or a file says is left to `kv` and `block`.

use std::error::Error;
use std::io;

use rand::distr::weighted;

/// Why a runner cannot start or continue.
#[derive(Debug, thiserror::Error)]
pub enum BuiltinRunnerError {
    /// A line on standard input is not a command.
    #[error("{0:?} is not a runner command: see docs/BYOD.md")]
    InvalidCommand(String),
    /// A command names an unknown operation.
    #[error("there is no operation {name:?}: there are {known}")]
    UnknownOperation {
        /// The name in the command.
        name: String,
        /// The operations of this runner.
        known: String,
    },
    /// The weights in a command cannot be used.
    #[error("invalid weights of operations: {0}")]
    Weights(#[from] weighted::Error),
    /// A start command came during a run.
    #[error("got a start command during a run: send stop first")]
    StartDuringRun,
    /// Standard input ended during a run.
    #[error("standard input ended in the middle of a run")]
    InputEnded,
    /// Standard output cannot be written.
    #[error("cannot write to standard output: {0}")]
    Output(io::Error),
    /// The check of an operation before the first run failed.
    #[error("the check of operation {operation:?} failed: {source}")]
    Check {
        /// The operation.
        operation: String,
        /// Its error.
        source: OperationFailure,
    },
    /// A thread ended without a stop command.
    #[error("all threads ended before the stop command")]
    ThreadsEnded,
    /// A thread panicked.
    #[error("a thread panicked")]
    ThreadPanicked,
    /// The store or the file that it uses is not there, or cannot be used.
    #[error(transparent)]
    Target(Box<dyn Error + Send + Sync>),
}

/// Why an operation failed. Failed operations are counted by this message.
#[derive(Debug, thiserror::Error)]
pub enum OperationFailure {
    /// A system call failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A transfer reached the end of the file.
    #[error("unexpected end of file")]
    EndOfFile,
    /// A store failed or returned a wrong record.
    #[error(transparent)]
    Store(Box<dyn Error + Send + Sync>),
}
