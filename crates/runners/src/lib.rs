//! Runners: programs that generate their own load, for embedded stores and disks, which have no network protocol.
//!
//! Each runner speaks the protocol of `docs/BYOD.md` on standard input and output, like a runner that a user writes.
//! A workload (`workloads/kv`) starts it as an ordinary process: `showdown runner kv lmdb …`. To try one by hand:
//!
//! ```text
//! $ showdown runner kv lmdb --directory /tmp/kv
//! {"runner":1}
//! start 1000 1 search=1
//! {"interval":0,"operations":{"search":{"histogram":"HISTFAAA…"}}}
//! stop
//! {"stopped":1.731}
//! ```
//!
//! # Goals
//!
//! - Between two operations a thread only draws random numbers and reads the clock, so that the store is measured.
//! - A runner loads its data and checks one operation of each kind before it reports ready.
//! - Errors of the store are counted by their message. A runner that cannot continue exits with one line.
//!
//! # Non-goals
//!
//! Trials and the meaning of the results are the concern of other crates. This crate depends on no other crate of the
//! workspace: the protocol is the only connection.

pub mod block;
mod closed_loop;
mod completed;
mod error;
pub mod kv;
mod mix;
mod operations;
mod protocol;
mod reporter;

use std::path::PathBuf;

pub use error::{BuiltinRunnerError, OperationFailure};

/// A runner.
#[derive(clap::Subcommand, Debug)]
pub enum Runner {
    /// Read and update an embedded key-value store with threads
    Kv {
        /// The store
        #[command(subcommand)]
        store: kv::StoreCommand,
    },
    /// Read and write a file with threads and buffers of one size
    Block(block::BlockOptions),
    /// Print the version of a store
    Version {
        /// The store
        #[command(subcommand)]
        store: kv::VersionCommand,
    },
}

impl Runner {
    /// The file or directory that it makes and removes; none where it makes none, or another program does.
    pub fn data(&self) -> Option<PathBuf> {
        match self {
            Self::Kv { store } => store.data(),
            Self::Block(options) => Some(options.data()),
            Self::Version { .. } => None,
        }
    }
}

/// Runs this runner until standard input ends.
pub fn run(runner: &Runner) -> Result<(), BuiltinRunnerError> {
    match runner {
        Runner::Kv { store } => kv::run(store),
        Runner::Block(options) => block::run(options),
        Runner::Version { store } => protocol::print_version(&store.version()?),
    }
}
