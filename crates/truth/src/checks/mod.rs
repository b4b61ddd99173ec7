//! The checks. Each starts servers of known behaviour, loads them, and compares the measured values with the known
//! ones.

pub mod arrivals;
pub mod capacity;
pub mod clients;
pub mod comparison;
pub mod counts;
pub mod freeze;
pub mod percentiles;
pub mod queue;
pub mod saturation;
pub mod steady;
