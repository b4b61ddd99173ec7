//! Capacity under an objective: the highest rate of an open loop that meets it, and the curve of response time over
//! rate. Of one server or of several that are loaded in turns.
//!
//! | file | content |
//! |---|---|
//! | `closed_loop` | whether the closed loop before gives a rate to begin with |
//! | [`staircase`] | which rates are tried, and what the outcomes say |
//! | `search` | a search, slice by slice: rates, outcomes, and the slices by rate |
//! | `evaluate` | whether one slice meets the objective, or the client was the limit |
//! | `find` | the search for one server that is already running: `load --find-capacity` |

mod closed_loop;
mod evaluate;
mod find;
mod search;
pub mod staircase;

pub use closed_loop::NothingSucceeds;
pub use evaluate::{StepEvaluation, StepOutcome, evaluate};
pub use find::{Capacity, CapacityError, CapacityEvent, CapacityStep, find};
pub use search::{CURVE_SHARES, CapacitySearch, RatedSlices, SearchLength, SearchedCapacity};
