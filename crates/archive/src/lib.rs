//! Run directories, their formats, and the index over them.
//!
//! A run directory is the record: plain files in open formats, documented in `docs/FORMATS.md`. The index and every
//! report are made from it and can be made again.
//!
//! ```no_run
//! use archive::{Archive, Query};
//! # fn write_and_read(plan: &archive::model::Plan, trial: &archive::model::Trial, verdict: &archive::model::Verdict)
//! # -> archive::Result<()> {
//! let archive = Archive::new("runs");
//!
//! // Write: the directory appears with its plan; each file appears complete; the verdict is last.
//! let run = archive.create(plan)?;
//! let folder = run.begin_trial(1, "nginx")?;
//! folder.finish(trial)?;
//! run.verdict(verdict)?;
//!
//! // Read: the files, and the problems with them.
//! for run in archive.list(&Query { limit: Some(20), ..Query::default() })? {
//!     println!("{} {}", run.id, run.sentence.unwrap_or_default());
//! }
//! let run = archive.open("latest")?;
//! assert!(run.problems.is_empty(), "{:?}", run.problems);
//! # Ok(())
//! # }
//! ```
//!
//! | question | where |
//! |---|---|
//! | What do the files contain? | [`model`], [`telemetry`] |
//! | What are the files called? | [`layout`] |
//! | How is a run written and read? | [`RunWriter`], [`Run`] |
//! | How are files of earlier formats read? | `model::upgrade` |
//! | Which runs are there? | [`Archive`], [`Query`]; for a server that lists often: [`OpenArchive`] |
//! | Which run does a name mean? | [`Archive::find`], [`NameRule`] |
//! | Which runs ask the same question at different times? | [`series_key`] |
//! | Which runs are of one plan, and what is their answer together? | [`sessions`] |
//!
//! **Goals.** A crash at any moment, a full disk or a damaged file loses only the file that was being written. A run
//! from an untrusted source cannot access files outside its directory. Ten thousand runs are listed in 0.1 s.
//!
//! **Not goals.** The meaning of the numbers: `bakeoff` writes them. Their presentation: `report` shows them.
//! Measurement: this crate does not depend on the load engine or the host.
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
mod name_rule;
mod origin;
pub mod printable;
mod run;
mod series;
mod sessions;
pub mod telemetry;
mod writer;

pub use archive::Archive;
pub use bundle::{AnonymousRun, Identity};
pub use error::{ArchiveError, Result};
pub use files::AtomicFile;
pub use id::{RunId, RunIdError};
pub use index::{INDEX, ListedRun, OpenArchive, Query, RunOrder};
pub use name_rule::NameRule;
pub use origin::is_imported;
pub use run::{Problem, Run, RunState, TrialRecord};
pub use series::series_key;
pub use sessions::sessions;
pub use writer::{RunWriter, TrialWriter};
