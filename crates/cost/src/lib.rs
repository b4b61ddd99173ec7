//! What measured performance costs, and what others have published.
//!
//! A run gives a performance with its interval. A file of targets gives prices, watts and rack units of the machines. Together they
//! give operations a joule, cost a million operations, total cost, carbon, and the size of a fleet.
//!
//! | module | its purpose |
//! |---|---|
//! | [`targets`] | targets.toml, with units that are checked |
//! | [`power`] | watts with their boundary and source |
//! | [`metered`] | watts that meters recorded beside the load of a run, and operations a joule |
//! | [`pricing`] | what the variants of runs cost |
//! | [`sizing`] | the fleet that carries a load, and how many servers one replaces |
//! | [`unit_text`] | texts with units |
//! | [`published`] | published evaluations as data, and what can be computed from them |
//!
//! **Goals.** A wrong unit or currency does not compile or is refused. Every figure has the interval of its measurement, or says why it has
//! none. What no meter measured is called an estimate.
//!
//! **Not goals.** Formulas: `stats` has them. Sentences and tables of a terminal: `showdown` has them. Exchange rates, prices and
//! catalogues of machines: the user's file has them.
#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::float_cmp, reason = "tests: a panic is a failure with a line")
)]

mod figure;
mod measured;
pub mod metered;
mod notes;
pub mod power;
pub mod pricing;
pub mod published;
pub mod sizing;
pub mod targets;
#[cfg(test)]
mod testing;
pub mod unit_text;

pub use figure::Figure;
pub use measured::RunError;
pub use notation::source_text::FileError;
pub use targets::{Target, Targets, TargetsError};
