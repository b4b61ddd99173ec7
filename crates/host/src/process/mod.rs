//! A server as an ordinary process: start it, wait until it is ready, check it, stop it.
//!
//! [`ServerCommand`] describes the server to start, [`ServerProcess`] owns the started server. Dropping the
//! [`ServerProcess`] stops the server, and so does the end of this process, see [`crate::supervisor_main`]. The caller
//! provides configuration and data, and checks the server's answers.

mod command;
mod cpu_meter;
mod cpu_used;
pub(crate) mod descriptors;
mod error;
mod events;
mod exit;
mod external;
mod list;
mod log;
mod memory_shortage;
mod namespaces;
mod pipes;
mod ready;
mod server;
mod tree;

pub use command::{RunAs, ServerCommand, StopSignal, base_environment};
pub use cpu_meter::CpuUsedMeter;
pub use cpu_used::{CpuUsed, thread_cpu_time};
pub use error::{Error, StartError};
pub use exit::ProcessExit;
pub use external::ExternalError;
pub use list::{ProcessId, with_descendants};
pub use log::{LogTail, LogText};
pub use memory_shortage::MemoryShortage;
pub use namespaces::seen_namespaces;
pub use pipes::{PipeEnds, Pipes};
pub use ready::{Readiness, tcp_probe};
pub use server::{ServerProcess, Stopped};
pub use tree::ProcessTree;

pub(crate) use cpu_used::ticks;
pub(crate) use external::Listener;
pub(crate) use list::{Processes, cpu_ticks};
pub(crate) use log::{KEPT_LOG_BYTES, OpenLogError, give_to, open_log};
pub(crate) use server::start;
