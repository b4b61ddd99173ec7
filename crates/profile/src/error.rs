//! Why there is no profile.

use std::io;

use thiserror::Error;

/// Why there is no profile.
#[derive(Debug, Error)]
pub enum ProfileError {
    /// None of the processes run.
    #[error("there is nothing to profile: none of the processes run")]
    NoProcesses,
    /// The kernel refuses to sample.
    #[error("cannot sample CPU time: {reason}; {remedy}")]
    Refused {
        /// Why.
        reason: String,
        /// What to do.
        remedy: String,
    },
    /// The kernel does not report what threads do.
    #[error("the kernel does not report what threads do: {0}")]
    NoRecords(String),
    /// The thread of a sampler cannot be started.
    #[error("cannot start the sampler: {0}")]
    Thread(#[source] io::Error),
}
