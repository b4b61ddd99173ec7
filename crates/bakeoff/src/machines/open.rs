//! Reaches the other machines of a plan, with servers or clients: an agent on each, which reserves it. What runs there is left
//! to [`run_plan`](crate::run::of_plan::run_plan).

use std::thread;

use archive::model::Plan;
use load::engine::RunContext;
use machine::{AgentAccess, HostEntry, MachineError, RemoteMachine, end_all};

use crate::event::{Event, Observer};
use crate::plan::hosts::CheckedHosts;
use crate::plan::kind_assignment;

/// The machines of a run that are reached by ssh. Dropping it ends their agents, all at the same time.
pub struct OtherMachines(pub Vec<(String, RemoteMachine)>);

impl OtherMachines {
    /// Reaches those that variants of the plan are on, and its clients. Where one cannot be reached, the others are released.
    pub fn open(
        plan: &Plan,
        hosts: &CheckedHosts,
        reach: &AgentAccess,
        context: &RunContext,
        observe: &mut Observer<'_>,
    ) -> Result<Self, MachineError> {
        let elsewhere = hosts.all().iter().filter(|host| host.ssh.is_some());
        let entries: Vec<&HostEntry> = elsewhere.filter(|host| is_used(host, plan)).collect();
        if entries.is_empty() {
            return Ok(Self(Vec::new()));
        }
        let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        observe(Event::Doing { what: format!("connecting to {}", names.join(", ")) });
        let opened: Vec<Result<(String, RemoteMachine), MachineError>> = thread::scope(|scope| {
            let threads: Vec<_> =
                entries.iter().map(|entry| scope.spawn(|| open(entry, reach, context))).collect();
            threads.into_iter().map(|thread| thread.join().expect("a connection does not panic")).collect()
        });
        let (opened, failed): (Vec<_>, Vec<_>) = opened.into_iter().partition(Result::is_ok);
        let opened = Self(opened.into_iter().flatten().collect());
        match failed.into_iter().find_map(Result::err) {
            Some(error) => Err(error),
            None => Ok(opened),
        }
    }
}

/// Whether servers or clients of the plan are on a host: of a kind, only the machines that are drawn.
fn is_used(host: &HostEntry, plan: &Plan) -> bool {
    let mut drawn = plan.variants.iter().flat_map(|variant| kind_assignment::machines(plan, variant));
    plan.clients.contains(&host.name) || drawn.any(|drawn| drawn.name == host.name)
}

fn open(
    entry: &HostEntry,
    reach: &AgentAccess,
    context: &RunContext,
) -> Result<(String, RemoteMachine), MachineError> {
    let machine = RemoteMachine::open(entry, reach, &context.interrupted, &|_| ())?;
    Ok((entry.name.clone(), machine))
}

impl OtherMachines {
    /// The one of this name.
    pub fn get(&self, name: &str) -> Option<&RemoteMachine> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, machine)| machine)
    }
}

impl Drop for OtherMachines {
    fn drop(&mut self) {
        end_all(self.0.drain(..));
    }
}
