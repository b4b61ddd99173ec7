//! The lines that HAProxy logs, one for each request: the only place where a single response time is seen.

pub mod line;
pub mod receiver;
