//! Verbs of the harness: they ask its server, or start the second program, which has it.

pub mod client;
pub mod orders;
pub mod programs;
pub mod submit;
pub mod watch;
