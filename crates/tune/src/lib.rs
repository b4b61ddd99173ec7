//! What makes a server faster.
//!
//! A [`Tuning`] is a file of the folder `tunings/`: settings to try, what calls for them, what they risk, and where they come from.
//!
//! | module | its purpose |
//! |---|---|
//! | [`mod@tuning`] | one tuning, and how its file is read and checked |
//! | [`mod@candidate`] | which tunings a server and a machine call for |
//! | [`mod@lab`] | the interface to trials |
//! | [`mod@search`] | equal servers, screening, race, stack, dropping one at a time, confirmation |
//! | [`bakeoff_lab`] | trials of real servers, and what is read of them |
//! | [`mod@record`] | what was found, as `tuning.json` has it |
//! | `request`, `tunable` | what is asked of a search, and the server that it names |
//! | `search_run`, `situation_here` | a whole search on this machine, from a request to a run directory |
//! | `pair` | two servers, and the comparison of their best |
//! | [`listed`] | tunings as a list for people and programs |
//! | [`catalogue`] | the tunings that come with the program, and the user's own |
//!
//! **Goals.** A headline rests on fresh blocks alone. What is kept gains more than 1 % and the noise of the host. Every tuning has its source, its risk and the knob that it needs. An error in a file names file, line and what is
//! expected.
//!
//! **Not goals.** Starting servers and load: `bakeoff` has them. Evidence: `explain` has it. Printing: `showdown` has it.
#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::float_cmp, reason = "tests: a panic is a failure with a line")
)]

mod applicable;
pub mod bakeoff_lab;
pub mod candidate;
pub mod catalogue;
mod condition;
mod error;
pub mod lab;
pub mod listed;
mod one_sided;
mod pair;
pub mod record;
mod request;
pub mod search;
mod search_run;
mod situation_here;
mod trial_figures;
mod tunable;
pub mod tuning;
mod tuning_file;

pub use applicable::why_not_fit;
pub use candidate::{Candidate, NotTried, Situation, choose, knobs_as_tunings};
pub use catalogue::{CatalogueError, TuningCatalogue, own_folder};
pub use condition::Condition;
pub use error::TuneError;
pub use lab::{LabError, TuningLab};
pub use one_sided::one_sided;
pub use pair::{comparison_of_best, searches_of_two};
pub use request::{TuneRequest, TunedMeasure, Weakened};
pub use search_run::{FinishedSearch, tune};
pub use tunable::check;
pub use tuning::{Durability, Expected, Level, Mechanism, Moves, Need, Scope, Security, Tuning};
