//! The hosts of a plan without trials: the machine of its one server, where that is another one, and those that make the load.

use archive::model::Plan;
use host::CpuSet;
use load::engine::RunContext;
use machine::{AgentAccess, LocalMachine, Machine};

use crate::event::Observer;
use crate::machines::load_clients::LoadClients;
use crate::machines::open::OtherMachines;
use crate::plan::cpus::RunCpus;
use crate::plan::hosts::CheckedHosts;
use crate::run::error::RunPlanError;

/// Hosts that a run has reached. Dropping it ends their agents.
pub struct RunHosts {
    // The clients' processes end before their agents.
    clients: LoadClients,
    others: OtherMachines,
}

impl RunHosts {
    /// Reaches them for the run that has reserved this machine. `programs` are builds for hosts of other architectures.
    pub fn open(
        plan: &Plan,
        hosts: &CheckedHosts,
        cpus: &RunCpus,
        here: &LocalMachine,
        programs: &[String],
        context: &RunContext,
        observe: &mut Observer<'_>,
    ) -> Result<Self, RunPlanError> {
        let reach = AgentAccess::to(hosts.all(), programs)?.for_run(here.lock_owner());
        let others = OtherMachines::open(plan, hosts, &reach, context, observe)?;
        let clients = LoadClients::open(hosts, cpus, &others, &reach, context, observe)?;
        Ok(Self { clients, others })
    }

    /// The context of a load that the clients make; that of this machine's own load where there are none.
    pub fn context(&self, context: &RunContext) -> RunContext {
        self.clients.context(context)
    }

    /// The machine of the first variant and the CPUs of servers there; none where that is this one.
    pub fn machine(&self, plan: &Plan) -> Option<(&dyn Machine, CpuSet)> {
        let host = plan.host_of(plan.variants.first()?)?;
        let machine = self.others.get(&host.name).filter(|_| host.ssh.is_some())?;
        Some((machine, machine.cpus().clone()))
    }
}
