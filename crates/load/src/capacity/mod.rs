//! Capacity under an objective: the highest rate of an open loop that meets it, and the curve of response time over
//! rate.
//!
//! | file | content |
//! |---|---|
//! | `search` | which rate to try next: bracket, bisect |
//! | [`staircase`] | rates and capacities of several servers in short slices |
//! | `procedure` | the whole procedure of `load --find-capacity`: search, confirmation, curve |
//! | `evaluate` | whether one run meets the objective, or the client was the limit |
//! | `find` | the procedure for one server that is already running: `load --find-capacity` |

mod evaluate;
mod find;
mod procedure;
mod search;
pub mod staircase;

pub use evaluate::{StepEvaluation, evaluate};
pub use find::{Capacity, CapacityError, CapacityEvent, CapacityStep, find};
pub use procedure::{
    CLIENT_WAS_THE_LIMIT, CURVE_SHARES, CapacityResult, NoCapacity, StepPurpose, run_procedure,
};
pub use search::{PRECISION, StepOutcome};
