//! Runs whose load a program makes by itself: a *runner*, in any language. It carries out its own operations, measures
//! them and reports intervals. `docs/BYOD.md` describes the protocol for its author.
//!
//! To the engine a runner is one worker: it reports that it is ready, starts when it gets the start line, reports
//! intervals, and stops. The engine collects, monitors and checks its intervals like those of any other worker. The engine
//! cannot check the runner's clock in full, but it compares the length of each run with its own clock.
//!
//! | file | what it holds |
//! |---|---|
//! | `protocol` | parses a line of the runner |
//! | `session` | lines to and from the program, through two named pipes |
//! | `worker` | one run: start, intervals, stop |
//! | `error` | what a runner can do wrong |
//!
//! A runner makes closed loops only, with the threads or clients that it was started with. An open loop needs an intended
//! start for each operation, which the engine could not check.

mod error;
mod protocol;
mod session;
mod worker;

pub use crate::drivers::protocol::RunnerSpec;
pub use error::{InvalidLine, RunnerError};
pub use protocol::{RunnerMessage, VERSION, parse_line};
pub use session::RunnerSession;
pub(crate) use worker::run;
