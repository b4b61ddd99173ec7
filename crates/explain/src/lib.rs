//! What limits a server, with the evidence.
//!
//! A server is loaded by a closed loop and studied in slices. Plain slices give figures: telemetry, CPU time, the server's own
//! statistics. Rules name suspects from these figures. The strongest suspects are tried: a slice with less of one resource
//! beside a plain one, several times. The elasticity of throughput decides the word: *limits*, *shared*, *suspected*.
//!
//! | module | its purpose |
//! |---|---|
//! | [`perturbable_loop`] | the interface to a server under a closed loop, and what a slice of load reports |
//! | `explained_run` | servers of a plan, studied and profiled, to a run directory; or their figures without a study |
//! | `explained_trials` | what the trials of a comparison tell without an experiment |
//! | `studied_server` | what a slice of a real server is made of |
//! | `watching` | profiled slices beside plain ones, a slice in which waits are watched, slow operations beside median ones |
//! | `profile_shares` | what profiles and waits say of an operation's time, for rules |
//! | `classify` | the word that an elasticity gives a suspect |
//! | `delays` | calls of the C library that take longer in a second server; `delays/library.rs` is loaded into it |
//! | [`mod@study`] | plain slices, suspects, perturbations, words: the whole way to an [`archive::model::ExplainedServer`] |
//!
//! **Goals.** Every figure has its source. A suspect is called a limit only after an experiment. What cannot be told is said, with
//! the reason. Every rule is tested with its cause planted in a scripted server.
//!
//! **Not goals.** Starting servers, load, profiles: `bakeoff` and `profile` have them. Printing: `showdown` and `report` have it.
#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::float_cmp, reason = "tests: a panic is a failure with a line")
)]

mod classify;
mod delays;
mod experiment;
mod explained_run;
mod explained_trials;
mod figures;
pub mod perturbable_loop;
mod profile_shares;
mod resources;
mod rules;
#[cfg(test)]
mod scripted;
mod studied_server;
pub mod study;
mod suspects;
mod unknown;
mod watching;

pub use delays::DelayedCall;
pub use explained_run::{ExplainError, ExplainedRun, LoopFigures, explain, figures_under_load};
pub use explained_trials::{explain_trials, trial_figures};
pub use figures::{CPU_IN_KERNEL, CPU_PER_OPERATION, WAITS_PER_OPERATION, is_of_statistics};
pub use perturbable_loop::{LoopError, LoopFacts, PerturbableLoop, Perturbation, SliceReading};
pub use profile_shares::{Watched, WatchedCpu, WatchedWaits};
pub use study::{PlainFigures, PlainSlices, StudyProgress, conclude, plain_slices};
