//! What makes a server faster.
//!
//! A [`Tuning`] is a file of the folder `tunings/`: settings to try, what calls for them, what they risk, and where they come from.
//!
//! | module | its purpose |
//! |---|---|
//! | [`mod@tuning`] | one tuning, and how its file is read and checked |
//! | [`menu`] | tunings as a list for people and programs |
//! | [`catalogue`] | the tunings that come with the program, and the user's own |
//!
//! **Goals.** Every tuning has its source, its risk and the knob that it needs. An error in a file names file, line and what is
//! expected.
//!
//! **Not goals.** Starting servers and load: `bakeoff` has them. Evidence: `explain` has it. Printing: `showdown` has it.
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "tests: a panic is a failure with a line"))]

pub mod catalogue;
mod condition;
mod fit;
pub mod menu;
mod raw;
pub mod tuning;

pub use catalogue::{CatalogueError, TuningCatalogue};
pub use condition::Condition;
pub use fit::why_not_fit;
pub use tuning::{Durability, Expected, Level, Mechanism, Moves, Need, Scope, Security, Tuning};
