//! Capacity under an objective: the highest rate of an open loop that is sustained within it, and the curve of response time
//! over rate. Of one server or of several that are loaded in turns.
//!
//! | file | content |
//! |---|---|
//! | `closed_loop` | what the closed loop before says: where the search begins, or that there is nothing to search |
//! | `standstills` | for how long nobody was answered in it |
//! | [`budget`] | what a load spends of the error budget of an objective |
//! | `evaluate` | the same of one slice, and whether the client was its limit |
//! | `plan` | how long the parts of a search are |
//! | [`levels`] | which rates are tried of a server, and the load at the one that was found |
//! | `sustained` | what they say, and whether the rate was sustained |
//! | `search` | the searches of servers that are loaded in turns, and their slices by rate |
//! | [`population`] | the capacity in users, or in visits a second
//! | `find` | the search for one server that is already running: `load --find-capacity` |

pub mod budget;
mod closed_loop;
mod evaluate;
mod find;
pub mod levels;
mod plan;
pub mod population;
mod search;
mod standstills;
mod sustained;

pub use budget::BudgetUse;
pub use closed_loop::{NothingSucceeds, StartingLoop};
pub use evaluate::{StepEvaluation, evaluate};
pub use find::{Capacity, CapacityError, CapacityEvent, CapacityStep, find};
pub use search::{CURVE_SHARES, CapacitySearch, RatedSlices, SearchedCapacity};
pub use sustained::{CapacityBound, Soak};
