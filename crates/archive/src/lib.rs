//! Run directories, their formats, and the index over them.
//!
//! A run directory is the record: plain files in open formats, described in `docs/FORMATS.md`. Whatever else there is,
//! the index and every report, is made from it and can be made again.
//!
//! ```no_run
//! use archive::{Archive, Query};
//! # fn held(plan: &archive::model::Plan, trial: &archive::model::Trial, verdict: &archive::model::Verdict)
//! # -> archive::Result<()> {
//! let archive = Archive::new("runs");
//!
//! // Writing: the directory appears with its plan in it, each file whole, the verdict last.
//! let run = archive.create(plan)?;
//! let folder = run.begin_trial(1, "nginx")?;
//! folder.finish(trial)?;
//! run.verdict(verdict)?;
//!
//! // Reading: what is there, and what of it is missing.
//! for line in archive.list(&Query { limit: Some(20), ..Query::default() })? {
//!     println!("{} {}", line.id, line.sentence.unwrap_or_default());
//! }
//! let found = archive.open("latest")?;
//! assert!(found.problems.is_empty(), "{:?}", found.problems);
//! # Ok(())
//! # }
//! ```
//!
//! | question | where |
//! |---|---|
//! | what do the files hold? | [`model`], [`telemetry`] |
//! | what are they called? | [`layout`] |
//! | how is a run written, and read? | [`RunWriter`], [`Run`] |
//! | which runs are there? | [`Archive`], [`Query`] |
//!
//! **Goals.** A crash at any moment, a full disk or a damaged file costs what was being written and nothing else. A run
//! that someone else made cannot reach out of its directory. Ten thousand runs are listed in a tenth of a second.
//!
//! **Not goals.** What the numbers mean: `bakeoff` writes them. How they look: `report` shows them. Measuring: nothing
//! here knows the load engine or the host.
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
mod upgrade;
mod writer;

pub use archive::Archive;
pub use error::{ArchiveError, Result};
pub use files::AtomicFile;
pub use id::{RunId, RunIdError};
pub use index::{INDEX, ListedRun, Query};
pub use run::{Problem, Run, RunState, TrialRecord};
pub use writer::{RunWriter, TrialWriter};
