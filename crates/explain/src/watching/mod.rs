//! Where the time of an operation goes, while nothing is taken from its server: profiles, waits, and slow operations step by step.

pub mod profiling;
pub mod slow_requests;
pub mod waiting;
pub mod waterfall;
