//! What a runner does wrong, in the words of a message to its author.

use std::time::Duration;

/// Why a run of a runner fails.
#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    /// Its pipes fail.
    #[error("cannot communicate with the runner: {0}")]
    Pipe(#[from] std::io::Error),
    /// It has ended, or has closed its standard output.
    #[error("the runner ended too early: it must run until its standard input ends")]
    Gone,
    /// It has printed nothing.
    #[error(
        "the runner printed nothing for {0:?}: it must print a line for every interval, even if the interval is empty; if operations take that long, set a longer `timeout` in the workload"
    )]
    Silent(Duration),
    /// It goes on after the stop line.
    #[error(
        "the runner did not answer the stop line within {0:?}: it must begin no more operations, and print that it has stopped when the last one is complete; if operations take that long, set a longer `timeout` in the workload"
    )]
    NotStopped(Duration),
    /// It has another version of the protocol.
    #[error("the runner uses version {runner} of the protocol, this showdown uses version {showdown}")]
    Version {
        /// The version of the runner.
        runner: u64,
        /// The version of this program.
        showdown: u64,
    },
    /// A line that the protocol does not have.
    #[error(
        "the runner printed {line:?}, {reason}: print only lines of the protocol (docs/BYOD.md) on standard output, and everything else on standard error"
    )]
    InvalidLine {
        /// The beginning of the line.
        line: String,
        /// What is wrong with it.
        reason: InvalidLine,
    },
    /// A line without an end.
    #[error("the runner printed a line of more than {0} bytes: send histograms, not every value")]
    LineTooLong(usize),
    /// A valid line at the wrong time.
    #[error("the runner printed {what} {when}: see the order of lines in docs/BYOD.md")]
    Order {
        /// The line.
        what: String,
        /// When it came.
        when: String,
    },
    /// Its clock differs from the engine's.
    #[error(
        "the runner reports that it ran for {reported_s:.3} s, but by the clock of showdown it was {until_stop_s:.3} s until the stop line was sent and {until_stopped_s:.3} s until the runner answered it: use a monotonic clock, from the start line to the stop line"
    )]
    Clock {
        /// The length that the runner reports.
        reported_s: f64,
        /// From the start line to the stop line.
        until_stop_s: f64,
        /// From the start line to the answer to the stop line.
        until_stopped_s: f64,
    },
    /// Something that only the engine can do.
    #[error("a runner makes a closed loop itself, on one worker: {0}")]
    NotForRunners(&'static str),
}

/// What is wrong with a line of a runner; continues a sentence about the line.
#[derive(Debug, thiserror::Error)]
pub enum InvalidLine {
    /// It does not parse.
    #[error("which is not of the protocol ({0})")]
    Syntax(#[from] serde_json::Error),
    /// It has none or several of the first fields.
    #[error("which does not have exactly one of runner, interval and stopped")]
    Kind,
    /// The time of its stop is negative or infinite.
    #[error("where {0} is not a time")]
    Time(f64),
    /// An operation that the run does not have.
    #[error("where {name:?} is no operation of this run, which has {}", known.join(", "))]
    Operation {
        /// Its name.
        name: String,
        /// The operations of the run.
        known: Vec<String>,
    },
    /// The histogram of an operation is not Base64.
    #[error("where the histogram of {name:?} is not Base64: {source}")]
    Base64 {
        /// The operation.
        name: String,
        /// The decoder's reason.
        source: base64::DecodeError,
    },
    /// The histogram of an operation is not one.
    #[error("where the histogram of {name:?} is not an HdrHistogram in encoding V2: {reason}")]
    Histogram {
        /// The operation.
        name: String,
        /// The library's reason.
        reason: String,
    },
}
