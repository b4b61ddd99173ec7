//! Programs that an agent runs for the controller: a few verbs of the agent's own program, whose standard input and output cross
//! the connection as a channel of lines.
//!
//! Lines keep their order. The agent sends [`WINDOW`] bytes of output at most before the controller has consumed some, so a
//! slow link or controller stops the program's output, and does not fill a memory. The end of either side ends the other.

use std::net::IpAddr;

use host::CpuSet;
use host::lock_owner::LockOwner;
use serde::{Deserialize, Serialize};

use super::CallError;

/// How many bytes of output may be under way. More than a second of a load with ten operations.
pub(crate) const WINDOW: u64 = 4 << 20;

/// Which program runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentProgram {
    /// Workers of a load: [`load::processes::VERB`].
    LoadProcess,
    /// The selftest of the load engine there; it prints its report as JSON.
    Selftest {
        /// Its options.
        options: Vec<String>,
    },
    /// A server of known behaviour; it prints its port, and its account for each line of input.
    KnownServer {
        /// Its options, with its address.
        options: Vec<String>,
    },
}

impl AgentProgram {
    /// Its arguments.
    pub(crate) fn arguments(&self) -> Vec<String> {
        match self {
            Self::LoadProcess => vec![load::processes::VERB.to_owned()],
            Self::Selftest { options } => words(&["selftest", "--format", "json", "--until-eof"], options),
            Self::KnownServer { options } => words(&["__known-server", "--until-eof"], options),
        }
    }

    /// What it is, for errors.
    pub fn name(&self) -> &'static str {
        match self {
            Self::LoadProcess => "load process",
            Self::Selftest { .. } => "selftest",
            Self::KnownServer { .. } => "known server",
        }
    }
}

fn words(first: &[&str], options: &[String]) -> Vec<String> {
    first.iter().map(|word| (*word).to_owned()).chain(options.iter().cloned()).collect()
}

/// Starts a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartProgram {
    /// The number of its channel, which no other program of this connection has.
    pub channel: u64,
    /// What it is.
    pub program: AgentProgram,
    /// Its CPUs; none for all that the agent may use.
    pub cpus: Option<CpuSet>,
}

/// What the controller sends to a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToProgram {
    /// For its standard input.
    Input(String),
    /// Its standard input ends.
    EndOfInput,
    /// So many bytes of its output have been read.
    Consumed(u64),
}

/// What a program sends to the controller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromProgram {
    /// Of its standard output.
    Output(String),
    /// It has ended: why, if it failed. The last message of a channel.
    End(Option<String>),
}

/// Asks what a machine can do as a client of a load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DescribeClient {
    /// The run that it is asked for, which is no other measurement there.
    pub owner: LockOwner,
    /// Where its connections are to come from.
    pub address: IpAddr,
}

/// What a machine can do as a client of a load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientDescription {
    /// How many connections one of its processes can have open.
    pub connections_a_process: u64,
    /// The CPUs that the agent may use.
    pub allowed_cpus: CpuSet,
    /// Another showdown that measures there now: its process and user.
    pub other_measurement: Option<String>,
    /// Whether connections could come from the address.
    pub address: Result<(), CallError>,
}
