//! The agent: the hidden verb that runs on a host and does what the controller asks.

mod answers;
mod probe;
mod probe_server;
mod probe_stream;
mod programs;
mod serve;
mod server_answers;
mod servers;
mod work;

pub(crate) use self::probe::{measure as measure_network, measure_throughput};
pub use self::serve::{AgentError, agent_main, serve};
