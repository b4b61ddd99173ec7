//! Reaches the machines that make the load of a run: an agent on each. What they do is left to the engine.

use std::sync::Arc;

use load::engine::RunContext;
use machine::load_client;
use machine::{AgentAccess, HostClient, HostEntry, MachineError};

use crate::event::{Event, Observer};
use crate::machines::open::OtherMachines;
use crate::plan::cpus::RunCpus;
use crate::plan::hosts::CheckedHosts;

/// The clients of a run; none where this machine makes the load. Dropping it ends their agents.
pub struct LoadClients(Vec<Arc<HostClient>>);

impl LoadClients {
    /// Reaches them: the agents of the run's machines make load, too.
    pub fn open(
        hosts: &CheckedHosts,
        cpus: &RunCpus,
        others: &OtherMachines,
        reach: &AgentAccess,
        context: &RunContext,
        observe: &mut Observer<'_>,
    ) -> Result<Self, MachineError> {
        let mut clients: Vec<HostEntry> = hosts.clients().cloned().collect();
        if clients.is_empty() {
            return Ok(Self(Vec::new()));
        }
        for host in clients.iter_mut().filter(|host| host.ssh.is_none() && host.cpus.is_none()) {
            // This machine has servers, too, on its other CPUs.
            host.cpus = Some(cpus.client.clone());
        }
        let names: Vec<&str> = clients.iter().map(|host| host.name.as_str()).collect();
        observe(Event::Doing { what: format!("connecting to the clients {}", names.join(", ")) });
        let open = |host: &HostEntry| match others.get(&host.name) {
            Some(machine) => HostClient::on(host, machine).map(Arc::new),
            // This machine, which the run has reserved.
            None => HostClient::open(host, reach, &context.interrupted, &|_, _| ()).map(Arc::new),
        };
        Ok(Self(clients.iter().map(open).collect::<Result<_, _>>()?))
    }

    /// The context of a load that they make.
    pub fn context(&self, context: &RunContext) -> RunContext {
        load_client::context_of(&self.0, context)
    }
}
