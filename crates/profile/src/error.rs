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
    /// This architecture's registers and stacks are not known.
    #[error("cannot unwind stacks on {0}: profiles are available on x86_64 and aarch64")]
    Architecture(&'static str),
    /// The thread of a sampler cannot be started.
    #[error("cannot start the sampler: {0}")]
    Thread(#[source] io::Error),
}
