//! The bake-off: from a question to a verdict that can be defended.
//!
//! A [`question::Question`] becomes a [plan](archive::model::Plan) that is resolved to the last default. [`hold`]
//! holds its trials: each starts a server anew, loads its data, checks its replies, warms it up until it is
//! steady, measures it, holds its counts against the client's, judges every gate and stops it. Trials come in
//! blocks, one of each variant in random order, and are written down one by one. From the valid ones the
//! verdict is reached: a ratio with its interval, or that none was shown, or why nothing may be said.
//!
//! # Goals
//!
//! - No verdict from a measurement that cannot be believed: every trial passes every gate or does not count.
//! - A run that is stopped, killed or out of disk keeps every trial that had ended.
//! - The same plan with the same seed holds the same trials in the same order with the same load.
//!
//! # Non-goals
//!
//! How load is made and timed is `load`'s; how servers are configured and started is `workload`'s; what the numbers
//! mean statistically is `stats`'; how it all looks is `report`'s.

mod bottleneck;
mod caveats;
mod cell;
mod comparison;
mod counters;
mod curves;
pub mod event;
mod fairness;
mod gates;
mod headline;
mod kernel;
mod local_lab;
mod lock;
mod order;
mod preset;
pub mod question;
mod record;
mod run;
mod stopping;
mod sut;
mod trial;
mod vary;
mod verdict;
mod wording;

pub use local_lab::{RunPlanError, run_plan};
pub use run::Finished;
