//! Runs of every kind, for any program that wants one: a command line today, a queue tomorrow.
//!
//! [`execute`] takes a [`RunRequest`], which can be written down and read again, and what the user allows it
//! ([`Permissions`]), which belongs to whoever executes it. Meanwhile it tells [`RunEvent`]s. It ends with a [`RunAnswer`], or with a
//! [`RunFailure`] where there is nothing to answer.
//!
//! | file | content |
//! |---|---|
//! | `request`, `permissions` | what is asked for, and what it may do |
//! | `event` | what happens, with its time |
//! | `execute` | the way of each kind of run |
//! | `answer` | the end that all kinds have in common: what the trials tell, what they cost, the report |
//! | `ended` | how a run ended, as an exit code says it |
//! | `failure` | why there is no answer |
//! | `precision_now` | how precise a comparison is on this machine now |
//! | `prices`, `resume_command` | what a result costs; the command that goes on |
//!
//! **Goals.** A new kind of run makes the compiler list the places of this crate. Nothing here prints, asks or reads an option. A run
//! is stopped by the flag of its [`RunContext`](load::engine::RunContext), and keeps what it has measured.
//!
//! **Not goals.** How a kind of run works: `bakeoff`, `explain`, `concurrency` and `tune` have it. Whether a plan from elsewhere may be
//! run: the program that executes it asks.

mod answer;
mod ended;
mod event;
mod execute;
mod failure;
mod permissions;
mod precision_now;
mod prices;
mod request;
mod resume_command;

pub use answer::{RunAnswer, RunResult};
pub use ended::{EndError, RunStatus};
pub use event::{RunEvent, RunObserver};
pub use execute::execute;
pub use failure::{FailureKind, RunFailure};
pub use permissions::Permissions;
pub use precision_now::{
    EqualServers, MeasurePrecision, PRECISION_BLOCKS, PrecisionNow, ProbedMeasure, precision_now,
    precision_trials,
};
pub use prices::{Prices, PricesError};
pub use request::RunRequest;
pub use resume_command::{name_of, resume_command};
