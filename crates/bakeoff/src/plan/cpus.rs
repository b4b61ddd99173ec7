//! The CPUs of this machine in a run. This file alone reads the CPU lists of a plan, so that a bad list has one answer.

use archive::model::Plan;
use host::CpuSet;

use crate::plan::error::PlanError;

/// The CPUs of server and client on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunCpus {
    /// Those of the servers; empty where none is here.
    pub server: CpuSet,
    /// Those of the client.
    pub client: CpuSet,
}

impl RunCpus {
    /// Reads the lists of a plan. That of the servers says something only where one is here: the server of a URL is somebody else's.
    pub fn of(plan: &Plan) -> Result<Self, PlanError> {
        let has_servers_here =
            plan.has_workload() && plan.variants.iter().any(|variant| plan.is_here(variant));
        let server = if has_servers_here { cpu_list(&plan.cpus.server)? } else { CpuSet::default() };
        Ok(Self { server, client: cpu_list(&plan.cpus.client)? })
    }

    /// Whether server and client have a CPU in common.
    pub fn are_shared(&self) -> bool {
        !self.server.intersection(&self.client).is_empty()
    }
}

/// Reads a list of at least one CPU.
pub fn cpu_list(text: &str) -> Result<CpuSet, PlanError> {
    let cpus = text.parse().ok().filter(|cpus: &CpuSet| !cpus.is_empty());
    cpus.ok_or_else(|| PlanError::CpuList(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plan::{PLAN, planned_host};

    #[test]
    fn a_bad_list_has_one_answer_and_that_of_servers_elsewhere_is_not_read() {
        let mut plan: Plan = PLAN.parse().expect("a plan");
        let cpus = RunCpus::of(&plan).expect("two lists");
        assert_eq!((cpus.server.to_string(), cpus.client.to_string()), ("0".to_owned(), "1".to_owned()));
        assert!(!cpus.are_shared());
        plan.cpus.client = "0-1".to_owned();
        assert!(RunCpus::of(&plan).is_ok_and(|cpus| cpus.are_shared()));
        for bad in ["", "x", "3-1"] {
            plan.cpus.server = bad.to_owned();
            assert!(matches!(RunCpus::of(&plan), Err(PlanError::CpuList(list)) if list == bad), "{bad}");
        }
        plan.hosts = vec![planned_host("a", "10.1.0.5")];
        for variant in &mut plan.variants {
            variant.host = Some("a".to_owned());
        }
        assert!(RunCpus::of(&plan).is_ok_and(|cpus| cpus.server.is_empty()));
    }
}
