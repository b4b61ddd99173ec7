//! What limits a server, with the evidence.
//!
//! A server is held under a closed loop and studied in slices. Plain slices give figures: telemetry, CPU time, the server's own
//! statistics. Rules name suspects from these figures. The strongest suspects are tried: a slice with less of one resource
//! beside a plain one, several times. The elasticity of throughput decides the word: *limits*, *shared*, *suspected*.
//!
//! | module | its purpose |
//! |---|---|
//! | [`held_server`] | the interface to a server under a closed loop, and what a slice of load reports |
//! | `explained_run` | servers of a plan, studied and profiled, to a run directory |
//! | `explained_trials` | what the trials of a comparison tell without an experiment |
//! | `held_figures` | the figures of servers of a plan, without a study |
//! | `studied_server` | what a slice of a real server is made of |
//! | `profiling` | profiled slices beside plain ones |
//! | `waiting` | a slice in which waits are watched, beside a plain one |
//! | `watched` | what profiles and waits say of an operation's time, for rules |
//! | `delays` | calls of the C library that take longer in a second server; `delays/library.rs` is loaded into it |
//! | `slow_requests` | slow operations of a slice beside median ones; `waterfall` has the steps of one |
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

mod delays;
mod experiment;
mod explained_run;
mod explained_trials;
mod figures;
mod held_figures;
pub mod held_server;
mod profiling;
mod resources;
mod rules;
#[cfg(test)]
mod scripted;
mod slow_requests;
mod studied_server;
pub mod study;
mod suspects;
mod unknown;
mod waiting;
mod watched;
mod waterfall;
mod words;

pub use delays::DelayedCall;
pub use explained_run::{ExplainError, ExplainedRun, explain};
pub use explained_trials::{explain_trials, trial_figures};
pub use figures::{CPU_IN_KERNEL, CPU_PER_OPERATION, WAITS_PER_OPERATION, is_of_statistics};
pub use held_figures::{HeldFigures, held_figures};
pub use held_server::{HeldServer, HoldError, LoopFacts, Perturbation, SliceReading};
pub use study::{PlainFigures, PlainSlices, StudyProgress, conclude, plain_slices};
pub use watched::{Watched, WatchedCpu, WatchedWaits};
