//! Load that a program of its own makes: a *runner*, in any language, that carries out operations on whatever it
//! likes, times them itself, and tells us intervals. `docs/BYOD.md` is the protocol for those who write one.
//!
//! To the engine a runner is one more worker: it says that it is ready, is told when to begin, hands on intervals
//! and ends, and what it hands on is collected, watched and judged like any other's. What the engine cannot do is
//! vouch for its clock; it does hold the length of each run against its own.
//!
//! | file | its part |
//! |---|---|
//! | `protocol` | a line made into what it says, or why it is none |
//! | `conversation` | lines to and from the program, through two named pipes |
//! | `worker` | one run: start, intervals, stop |
//!
//! A runner makes closed loops only, of as many threads or clients as it was started with: what an open loop
//! needs (an intended start for each operation) would have to be believed and not measured.

mod protocol;
mod session;
mod worker;

use std::time::Duration;

pub use crate::drivers::runner::spec::RunnerSpec;
pub use protocol::VERSION;
pub use session::RunnerSession;
pub(crate) use worker::run;

/// What a runner did that the protocol does not allow, or did not do.
#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    /// Its pipes.
    #[error("the runner cannot be talked to: {0}")]
    Pipe(#[from] std::io::Error),
    /// It ended, or closed its standard output.
    #[error("the runner ended before its time: it is to run until its standard input ends")]
    Gone,
    /// It said nothing.
    #[error(
        "the runner said nothing for {0:?}: it is to print a line for every interval, also an empty one; where operations take that long, give the workload a longer `timeout`"
    )]
    Silent(Duration),
    /// It speaks another version.
    #[error("the runner speaks version {0} of the protocol, this showdown speaks version {VERSION}")]
    Version(u64),
    /// A line that is none of the protocol.
    #[error(
        "the runner printed {line:?}, {why}: print lines of the protocol only (docs/BYOD.md), and all else on standard error"
    )]
    RunnerMessage {
        /// How it begins.
        line: String,
        /// What is wrong with it.
        why: String,
    },
    /// A line without an end.
    #[error("the runner printed a line of more than {0} bytes: send histograms, not every value")]
    Long(usize),
    /// A right line at the wrong time.
    #[error("the runner printed {what} {when}: see the order of lines in docs/BYOD.md")]
    Order {
        /// What it said.
        what: String,
        /// When that was.
        when: String,
    },
    /// Its clock is not ours.
    #[error(
        "the runner says that it ran for {said_s:.3} s, and by our clock it was {told_s:.3} s until it was told to stop and {heard_s:.3} s until it said that it had: use a monotonic clock, from the start line to the stop line"
    )]
    Clock {
        /// What it says.
        said_s: f64,
        /// What we counted until it was told to stop.
        told_s: f64,
        /// And until it said that it had.
        heard_s: f64,
    },
    /// Something that only the engine can do.
    #[error("a runner makes closed loops by itself, on one worker: {0}")]
    NotForRunners(&'static str),
}
