//! Verbs that measure in trials and keep a run directory.

pub mod bakeoff;
pub mod comparison_args;
pub mod concurrency;
pub mod confirm;
pub mod explain;
pub mod resume;
pub mod shift;
pub mod tune;
