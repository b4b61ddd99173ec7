//! Reaches the machines that make the load of a run: an agent on each. What they do is left to the engine.

use std::collections::BTreeSet;
use std::sync::Arc;

use archive::model::Plan;
use load::client::LoadClient;
use load::engine::RunContext;
use machine::load_client::{self, ClientsError};
use machine::program::Programs;
use machine::{HostClient, HostEntry, ReachOptions};

use crate::event::{Event, Observer};
use crate::plan_error::PlanError;
use crate::plan_hosts;
use crate::run_plan_error::RunPlanError;

/// The clients of a run; none where this machine makes the load. Dropping it ends their agents.
pub struct LoadClients(Vec<Arc<HostClient>>);

impl LoadClients {
    /// Reaches them, and reserves those that no server of the run has reserved.
    pub fn open(
        plan: &Plan,
        builds: &[String],
        context: &RunContext,
        observe: &mut Observer<'_>,
    ) -> Result<Self, RunPlanError> {
        let mut hosts = plan_hosts::clients(plan)?;
        if hosts.is_empty() {
            return Ok(Self(Vec::new()));
        }
        for host in hosts.iter_mut().filter(|host| host.ssh.is_none() && host.cpus.is_none()) {
            // This machine has servers, too, on its other CPUs.
            host.cpus = plan.cpus.client.parse().ok();
        }
        observe(Event::Doing { what: format!("connecting to the clients {}", plan.clients.join(", ")) });
        let uses_ssh = hosts.iter().any(|host| host.ssh.is_some());
        let programs = if uses_ssh { Programs::with(builds)? } else { Programs::default() };
        let reach = ReachOptions { local_agent: "/proc/self/exe".into(), programs: Arc::new(programs) };
        let entries: Vec<&HostEntry> = hosts.iter().collect();
        let opened = load_client::open(&entries, &reach, &context.interrupted, &|_, _| ());
        let clients = Self(opened.map_err(why_not_reached)?);
        let reserved: BTreeSet<&String> =
            plan.variants.iter().filter_map(|variant| variant.host.as_ref()).collect();
        let is_free =
            |(host, _): &(&HostEntry, &Arc<HostClient>)| host.ssh.is_some() && !reserved.contains(&host.name);
        for (_, client) in hosts.iter().zip(&clients.0).filter(is_free) {
            client.reserve()?;
        }
        Ok(clients)
    }

    /// The context of a load that they make.
    pub fn context(&self, context: &RunContext) -> RunContext {
        let clients = self.0.iter().map(|client| Arc::clone(client) as Arc<dyn LoadClient>).collect();
        RunContext { clients, ..context.clone() }
    }
}

fn why_not_reached(error: ClientsError) -> RunPlanError {
    match error {
        ClientsError::Machine(error) => error.into(),
        ClientsError::Host(why) => PlanError::ClientHost(why).into(),
        // The plan has been checked.
        ClientsError::Unknown { name, .. } | ClientsError::Twice(name) => PlanError::ClientTwice(name).into(),
    }
}
