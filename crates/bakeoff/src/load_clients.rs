//! Reaches the machines that make the load of a run: an agent on each. What they do is left to the engine.

use std::collections::BTreeSet;
use std::sync::Arc;

use archive::model::Plan;
use load::engine::RunContext;
use machine::load_client;
use machine::{HostClient, HostEntry, ReachOptions};

use crate::event::{Event, Observer};
use crate::plan_hosts;
use crate::run_plan_error::RunPlanError;

/// The clients of a run; none where this machine makes the load. Dropping it ends their agents.
pub struct LoadClients(Vec<Arc<HostClient>>);

impl LoadClients {
    /// Reaches them, and reserves those that no server of the run has reserved.
    pub fn open(
        plan: &Plan,
        reach: &ReachOptions,
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
        let entries: Vec<&HostEntry> = hosts.iter().collect();
        let clients = Self(load_client::open(&entries, reach, &context.interrupted, &|_, _| ())?);
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
        load_client::context_of(&self.0, context)
    }
}
