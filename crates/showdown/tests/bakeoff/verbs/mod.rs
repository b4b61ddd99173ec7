//! Verbs that run trials and are no comparison: explain, tune, concurrency, confirm.

mod concurrency;
mod confirm;
mod explain;
mod slow_requests;
mod tune;
mod tunings;
