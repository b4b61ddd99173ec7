//! Programs that make their load themselves: embedded stores and disks, which no socket leads to.
//!
//! Each speaks the protocol of `docs/BYOD.md` on standard input and output, as the driver of any user would, and is
//! started by a workload (`workloads/kv`) as an ordinary process: `showdown runner kv lmdb …`. Try one by hand:
//!
//! ```text
//! $ showdown runner kv lmdb --directory /tmp/kv
//! {"runner":1}
//! start 1000 1 read=1
//! {"interval":0,"operations":{"read":{"histogram":"HISTFAAA…"}}}
//! stop
//! {"stopped":1.731}
//! ```
//!
//! # Goals
//!
//! - What a thread does between two operations is a few random numbers and a look at the clock: what is measured
//!   is the store.
//! - Data is loaded and one operation of each kind is checked before the runner says that it is ready.
//! - An error of the store is counted with its words; a runner that cannot go on ends with one line.
//!
//! # Non-goals
//!
//! Which trials there are and what the figures mean is not known here: this crate uses no other crate of the
//! house, so that the protocol is all that there is between them.

pub mod block;
pub mod kv;
mod loops;
mod protocol;
mod tally;

/// Which runner.
#[derive(clap::Subcommand, Debug)]
pub enum Runner {
    /// An embedded key-value store, read and updated by threads
    Kv {
        /// Which
        #[command(subcommand)]
        store: kv::Store,
    },
    /// A file, read and written by threads with buffers of one size
    Block(block::Options),
    /// The version of a store
    Version {
        /// Which
        #[command(subcommand)]
        store: kv::Named,
    },
}

/// Why a runner cannot begin or go on, in a line.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct RunnerError(pub String);

impl RunnerError {
    fn of(what: &str, error: impl std::fmt::Display) -> Self {
        Self(format!("{what}: {error}"))
    }
}

/// Is this runner until standard input ends.
pub fn run(runner: &Runner) -> Result<(), RunnerError> {
    match runner {
        Runner::Kv { store } => kv::run(store),
        Runner::Block(options) => block::run(options),
        Runner::Version { store } => protocol::say_version(&store.version()?),
    }
}
