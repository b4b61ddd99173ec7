//! The start of a server: the allocator that it loads, the user that it runs as, and the wait until it is ready.

pub mod allocator;
pub mod companions;
pub mod readiness;
pub mod service_user;
pub mod start;
