//! HAProxy by its admin socket: what it answers, what its configuration tells, and what is refused.

pub mod admin_socket;
pub mod answers;
pub mod client;
pub mod configuration;
pub mod new_server;
pub mod refusals;
