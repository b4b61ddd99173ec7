//! Hosts as the clients of a load: each agent starts load processes, whose lines cross its connection.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use host::CpuSet;
use host::lock_owner::LockOwner;
use load::client::{ClientError, LoadClient, ProcessPipes};
use load::clock::ClientClock;
use load::engine::RunContext;

use crate::connection::Connection;
use crate::connection::program_channel::{ProgramInput, ProgramOutput};
use crate::errors::machine::MachineError;
use crate::host_text::host_text;
use crate::hosts::agent_access::AgentAccess;
use crate::hosts::host_entry::HostEntry;
use crate::hosts::host_entry::host_problems;
use crate::hosts::hosts_file::Hosts;
use crate::protocol::{AgentProgram, DescribeClient};
use crate::remote::RemoteMachine;
use crate::transport::OpenProgress;

/// How long a host may take to describe itself.
const DESCRIPTION: Duration = Duration::from_secs(30);

/// A process of any host has this many connections: fewer would make this side start thousands of processes.
const LEAST_CONNECTIONS_A_PROCESS: u64 = 64;

/// Why names are not those of clients.
#[derive(Debug, thiserror::Error)]
pub enum ClientsError {
    /// A name is not in the hosts file.
    #[error("the hosts file has no host {name}: it has {known}")]
    Unknown {
        /// The name.
        name: String,
        /// All that it has.
        known: String,
    },
    /// A name was given twice.
    #[error("client {0} is named twice: name each once")]
    Twice(String),
}

/// A host that makes a part of a load. Dropping the last reference ends its agent.
#[derive(Debug)]
pub struct HostClient {
    name: String,
    address: IpAddr,
    cpus: Option<CpuSet>,
    connections_a_process: u64,
    other_measurement: Option<String>,
    connection: Arc<Connection>,
}

/// The hosts of these names, in this order.
pub fn named<'h>(hosts: &'h Hosts, names: &[String]) -> Result<Vec<&'h HostEntry>, ClientsError> {
    let mut found: Vec<&HostEntry> = Vec::new();
    for name in names {
        let Some(host) = hosts.0.iter().find(|host| host.name == *name) else {
            let known = hosts.0.iter().map(|host| host.name.as_str()).collect::<Vec<_>>().join(", ");
            return Err(ClientsError::Unknown { name: name.clone(), known });
        };
        if found.iter().any(|other| other.name == host.name) {
            return Err(ClientsError::Twice(name.clone()));
        }
        found.push(host);
    }
    Ok(found)
}

/// Connects to all clients at the same time.
pub fn open(
    hosts: &[&HostEntry],
    options: &AgentAccess,
    interrupted: &Arc<AtomicBool>,
    observe: &(dyn Fn(&str, OpenProgress) + Sync),
) -> Result<Vec<Arc<HostClient>>, MachineError> {
    thread::scope(|scope| {
        let open = |host| move || HostClient::open(host, options, interrupted, observe).map(Arc::new);
        let threads: Vec<_> = hosts.iter().map(|host| scope.spawn(open(host))).collect();
        let joined =
            threads.into_iter().map(|thread| thread.join().expect("a client's thread does not panic"));
        joined.collect()
    })
}

/// The context of a load that these clients make; that of this machine's own load where there are none.
pub fn context_of(clients: &[Arc<HostClient>], context: &RunContext) -> RunContext {
    let clients = clients.iter().map(|client| Arc::clone(client) as Arc<dyn LoadClient>).collect();
    RunContext { clients, ..context.clone() }
}

impl HostClient {
    /// Starts the agent of a host.
    pub fn open(
        host: &HostEntry,
        options: &AgentAccess,
        interrupted: &Arc<AtomicBool>,
        observe: &(dyn Fn(&str, OpenProgress) + Sync),
    ) -> Result<Self, MachineError> {
        let opening = |progress| observe(&host.name, progress);
        let connection = Connection::open(&host.name, &options.transport(host), interrupted, &opening)?;
        Self::over(host, options.owner, Arc::new(connection))
    }

    /// A machine of the run that makes a part of its load, too.
    pub fn on(host: &HostEntry, machine: &RemoteMachine) -> Result<Self, MachineError> {
        Self::over(host, machine.owner(), Arc::clone(machine.connection()))
    }

    fn over(host: &HostEntry, owner: LockOwner, connection: Arc<Connection>) -> Result<Self, MachineError> {
        let description = connection.call(DescribeClient { owner, address: host.address }, DESCRIPTION)?;
        let problems = host_problems(host, &description.address, &description.allowed_cpus);
        if let Some(problem) = problems.into_iter().next() {
            return Err(problem);
        }
        Ok(Self {
            name: host.name.clone(),
            address: host.address,
            cpus: host.cpus.clone(),
            connections_a_process: description.connections_a_process.max(LEAST_CONNECTIONS_A_PROCESS),
            other_measurement: description.other_measurement.as_deref().map(host_text),
            connection,
        })
    }

    /// Another showdown that measures there now: its process and user.
    pub fn other_measurement(&self) -> Option<&str> {
        self.other_measurement.as_deref()
    }

    /// Its address in the hosts file.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// Starts a program there, on its CPUs.
    pub fn start_program(
        &self,
        program: AgentProgram,
    ) -> Result<(ProgramInput, ProgramOutput), MachineError> {
        self.connection.start_program(program, self.cpus.clone())
    }
}

impl LoadClient for HostClient {
    fn name(&self) -> &str {
        &self.name
    }

    fn source(&self) -> Option<IpAddr> {
        Some(self.address)
    }

    fn connections_a_process(&self) -> u64 {
        self.connections_a_process
    }

    fn start(&self) -> Result<ProcessPipes, ClientError> {
        let (input, output) = self.start_program(AgentProgram::LoadProcess).map_err(boxed)?;
        // The end of its output is sent after that of the process.
        Ok(ProcessPipes { input: Box::new(input), output: Box::new(output), end: Box::new(|_| ()) })
    }

    fn clock(&self) -> Result<ClientClock, ClientError> {
        self.connection.clock_offset().map(ClientClock::from).map_err(boxed)
    }
}

fn boxed(error: MachineError) -> ClientError {
    ClientError(Box::new(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_named_once_and_an_unknown_one_lists_the_known() {
        let text = "[host.c1]\naddress = \"10.1.0.1\"\n[host.c2]\naddress = \"10.1.0.2\"\n";
        let hosts = Hosts::parse("hosts.toml", text).expect("a good file");
        let names = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            let found = named(&hosts, &names);
            found.map(|hosts| hosts.iter().map(|host| host.name.as_str()).collect::<Vec<_>>().join(" "))
        };
        assert_eq!(names(&["c2", "c1"]).expect("both are there"), "c2 c1");
        let unknown = names(&["c1", "c3"]).expect_err("no c3").to_string();
        assert_eq!(unknown, "the hosts file has no host c3: it has c1, c2");
        let twice = names(&["c1", "c1"]).expect_err("twice").to_string();
        assert_eq!(twice, "client c1 is named twice: name each once");
    }
}
