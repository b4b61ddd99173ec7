//! A server as an ordinary process: start, watch, wait until ready, stop.
//!
//! [`ServerCommand`] says what to start, [`Running`] is what was started. A server belongs to its
//! [`Running`]: dropping that stops it, and so does our death, see [`crate::keeper_main`]. What the server
//! needs (configuration, data) and whether it answers well is the business of whoever starts it.

mod command;
mod ending;
mod error;
mod events;
mod log;
mod pipes;
mod ready;
mod running;
mod tree;

pub use command::{RunAs, ServerCommand, StopSignal, base_environment};
pub use ending::Ending;
pub use error::Error;
pub use log::LogTail;
pub use pipes::{PipeEnds, Pipes};
pub use ready::{Readiness, tcp_probe};
pub use running::{Running, Stopped};
pub use tree::{ProcessId, Tree};

pub(crate) use log::open_log;
pub(crate) use running::start;
pub(crate) use tree::{Processes, cpu_ticks};
