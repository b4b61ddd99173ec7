//! Verbs that list what can be compared: workloads with their servers, and tunings.

pub mod tunings;
pub mod workloads;
