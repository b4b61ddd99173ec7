//! Run directories, their formats, and the index over them.
#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::float_cmp, reason = "tests: a panic is a failure with a line")
)]

mod archive;
mod bundle;
mod error;
#[cfg(feature = "example")]
pub mod example;
mod files;
mod id;
mod index;
pub mod layout;
pub mod model;
mod run;
pub mod telemetry;
mod writer;

pub use archive::Archive;
pub use error::{ArchiveError, Result};
pub use files::AtomicFile;
pub use id::{RunId, RunIdError};
pub use index::{INDEX, Listed, Query};
pub use run::{Problem, Run, RunState, TrialRecord};
pub use writer::{RunWriter, TrialWriter};
