//! Machines that run servers or load: this one, or one behind a connection.
//!
//! # Guide
//!
//! The same program runs on both sides. The *controller* is what the user has started. On each host it starts an *agent*, which
//! is this program under the hidden verb `agent`, and talks to it over the agent's standard input and output. An agent has
//! all of `host` and `workload`, so files, processes, settings and their supervisors stay local to their machine; what crosses
//! the connection is coarse.
//!
//! - [`Machine`]: what a run needs of a machine with servers; [`SystemUnderTest`]: what it needs of one server there; [`Probing`]:
//!   what a study asks of the machine of this process alone.
//! - [`LocalMachine`]: this machine as one. [`RemoteMachine`]: one behind a connection; its agent has a local one.
//! - [`hosts_file`]: the user's machines, and how each is reached.
//! - [`transport`]: ways to an agent: a child process, or the system's ssh, which brings the program there first.
//! - [`frame`] and [`protocol`]: messages, which know nothing of the way.
//! - [`Connection`]: the controller's end; [`agent`]: the other one.
//! - [`clock`]: how far the clocks of two machines differ.
//! - [`load_client`]: hosts as the clients of one load.
//! - [`measure_path`], [`measure_together`]: what the network between the machines of a run carries.
//! - [`survey`]: asks all hosts at the same time, and measures the network between them.
//!
//! **Goals.**
//!
//! - Nothing is left on a host but the program in the user's cache: an agent ends when its controller does, however
//!   that ends, and what it started ends with it.
//! - No port is opened but one on the host's own address for the time of a network measurement.
//! - Every failure is one line with the host, the reason and the remedy.
//!
//! **Non-goals.** No daemon, no scheduler, no file distribution, no second implementation of SSH.

pub mod agent;
pub mod clock;
mod connection;
mod errors;
pub mod frame;
mod host_text;
mod hosts;
mod interface;
pub mod load_client;
mod local;
mod mutex;
mod network;
pub mod program;
pub mod protocol;
mod remote;
pub mod survey;
pub mod transport;

pub use connection::program_channel::{ProgramInput, ProgramOutput};
pub use connection::{Connection, end_all};
pub use errors::local::LocalError;
pub use errors::machine::MachineError;
pub use hosts::agent_access::AgentAccess;
pub use hosts::host_entry::{HostEntry, OtherLoopback, PlannedHostError, check_is_one_machine};
pub use hosts::hosts_file;
pub use hosts::hosts_file::{Hosts, HostsFileError};
pub use hosts::one_kernel::{THIS_MACHINE, on_one_kernel};
pub use interface::machine::{
    LeftSettings, Machine, RecordedServer, Recorder, Room, ServerOrder, part_columns,
};
pub use interface::probing::{Probing, Sampling, ServerSqueeze};
pub use interface::system_under_test::{
    CpuMeter, CpuReading, ServerCpuUsed, ServerObserver, SystemUnderTest,
};
pub use load_client::{ClientsError, HostClient};
pub use local::{LocalMachine, knob_value};
pub use network::network_path::{PathCapacity, Throughput, measure_path, measure_together};
pub use remote::RemoteMachine;
