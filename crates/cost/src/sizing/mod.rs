//! Fleets: how many servers of each kind carry a load within an objective, from what was measured.

mod capacity;
mod report;
mod request;

pub use capacity::CapacityBasis;
pub use report::{KindSize, LoadPoint, Pays, Replacement, SizeError, SizeReport, size};
pub use request::{Objective, ObjectiveMatch, SizeRequest};
