//! Texts in which servers count, and how to read them: metrics, statistics, logs. Which server is asked is left to
//! [`statistics`](super::statistics).

pub mod counters;
pub mod exposition;
pub mod log_counter;
pub mod query;
