//! Processes: the order of a server ([`ServerCommand`]), the processes that belong to it, their CPU time and memory, its log, how it
//! ended, and why. Who starts and stops a server is left to [`ServerProcess`](crate::ServerProcess); the caller provides
//! configuration and data, and checks the server's answers.

mod command;
mod cpu_meter;
mod cpu_used;
mod cpu_wait;
pub(crate) mod descriptors;
mod error;
mod exit;
mod external;
mod list;
mod log;
mod memory_shortage;
mod namespaces;
mod pipes;
mod ready;
pub(crate) mod role;
mod tree;

pub use command::{RunAs, ServerCommand, StopSignal, base_environment};
pub use cpu_meter::CpuUsedMeter;
pub use cpu_used::{CpuUsed, thread_cpu_time};
pub use error::{Error, StartError};
pub use exit::ProcessExit;
pub use external::ExternalError;
pub use external::listeners::listening_at;
pub use list::{ProcessId, with_descendants};
pub use log::{LogTail, LogText};
pub use memory_shortage::MemoryShortage;
pub use namespaces::seen_namespaces;
pub use pipes::{PipeEnds, Pipes};
pub use ready::{Readiness, tcp_probe};
pub use tree::ProcessTree;

pub(crate) use cpu_used::ticks;
pub(crate) use cpu_wait::kept_from_cpus;
pub(crate) use external::listeners::addresses_of;
pub(crate) use external::{External, Listener};
pub(crate) use list::Processes;
pub(crate) use log::{KEPT_LOG_BYTES, OpenLogError, give_to, open_log};
pub(crate) use memory_shortage::MemoryKills;
