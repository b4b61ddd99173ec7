//! The checks: each starts servers of a known behaviour, loads them, and holds what the engine measured
//! against what is known.

pub mod arrivals;
pub mod capacity;
pub mod comparison;
pub mod counts;
pub mod freeze;
pub mod percentiles;
pub mod queue;
pub mod saturation;
pub mod steady;
