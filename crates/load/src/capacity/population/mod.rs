//! The capacity of a server in users, or in visits a second: the largest population whose load meets an objective, and walks as it
//! is declared. Rates of operations say nothing here: users give the rate.
//!
//! | file | content |
//! |---|---|
//! | `search` | which population is loaded next |
//! | `find` | loads them: `load --scenario … --find-capacity` |

mod find;
mod search;

pub use find::{PopulationCapacity, PopulationEvent, PopulationStep, find};
pub use search::Population;
