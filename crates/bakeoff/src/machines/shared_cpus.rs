//! Which clients have CPUs that a server has, too: on one machine, or in containers of one. What follows from it is left to
//! [`first_block`](crate::run::first_block) and to [`machine_differences`](mod@machines::differences).

use archive::model::{Facts, Plan, PlannedHost, Variant};
use host::CpuSet;

use crate::plan::cpus::cpu_list;
use crate::plan::kind_assignment;

/// Whether a client and a server of the plan share CPUs.
pub fn client_and_server_share_cpus(plan: &Plan, facts: &Facts) -> bool {
    plan.variants.iter().any(|variant| !clients_on_cpus_of(plan, facts, variant).is_empty())
}

/// The hosts of the clients that share CPUs with a variant's server; none stands for this machine.
pub fn clients_on_cpus_of<'p>(plan: &'p Plan, facts: &Facts, variant: &Variant) -> Vec<Option<&'p str>> {
    let sites = |hosts: Vec<&'p PlannedHost>, cpus_here: &str| -> Vec<Site<'p>> {
        let here = hosts.is_empty().then_some(None);
        let hosts = here.into_iter().chain(hosts.into_iter().map(Some));
        hosts.map(|host| Site::of(host, cpus_here, facts)).collect()
    };
    let servers = sites(kind_assignment::machines(plan, variant), &plan.cpus.server);
    let clients = plan.hosts.iter().filter(|host| plan.clients.contains(&host.name));
    let mut clients = sites(clients.collect(), &plan.cpus.client);
    clients.retain(|client| servers.iter().any(|server| client.shares_cpus(server)));
    clients.into_iter().map(|client| client.host).collect()
}

/// Where a client or a server runs.
struct Site<'p> {
    /// The host; none for this machine.
    host: Option<&'p str>,
    /// What all containers of one machine have in common, where it is known.
    boot: Option<String>,
    /// Its CPUs; none for all.
    cpus: Option<CpuSet>,
}

impl<'p> Site<'p> {
    /// `cpus_here` are those of a client or a server on this machine.
    fn of(host: Option<&'p PlannedHost>, cpus_here: &str, facts: &Facts) -> Self {
        let elsewhere = host.filter(|host| host.ssh.is_some());
        let (of_machine, cpus) = match elsewhere {
            Some(host) => (facts.hosts.get(&host.name), host.cpus.as_deref()),
            None => (Some(&facts.host), host.and_then(|host| host.cpus.as_deref()).or(Some(cpus_here))),
        };
        Self {
            host: elsewhere.map(|host| host.name.as_str()),
            boot: of_machine.and_then(|facts| facts.get("kernel.boot_id")).cloned(),
            cpus: cpus.map(|cpus| cpu_list(cpus).unwrap_or_default()),
        }
    }

    fn shares_cpus(&self, other: &Self) -> bool {
        let is_one_machine = self.host == other.host || (self.boot.is_some() && self.boot == other.boot);
        let cpus = self.cpus.as_ref().zip(other.cpus.as_ref());
        is_one_machine && cpus.is_none_or(|(own, others)| !own.intersection(others).is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plan::{PLAN, planned_host};

    /// Servers on `old`, and a client on `load`, with these CPUs and boots.
    fn shared(old: (&str, &str), load: (&str, &str)) -> bool {
        let mut plan: Plan = PLAN.parse().expect("a plan");
        let mut facts = Facts::default();
        for (name, (cpus, boot)) in [("old", old), ("load", load)] {
            plan.hosts.push(PlannedHost { cpus: Some(cpus.to_owned()), ..planned_host(name, "10.1.0.5") });
            facts.hosts.insert(name.to_owned(), [("kernel.boot_id".to_owned(), boot.to_owned())].into());
        }
        for variant in &mut plan.variants {
            variant.host = Some("old".to_owned());
        }
        plan.clients = vec!["load".to_owned()];
        client_and_server_share_cpus(&plan, &facts)
    }

    #[test]
    fn containers_of_one_machine_share_cpus_that_both_have() {
        assert!(shared(("0", "a"), ("0-1", "a")));
        assert!(!shared(("0", "a"), ("1", "a")));
        assert!(!shared(("0", "a"), ("0", "b")), "two machines");
    }

    #[test]
    fn a_client_on_the_servers_host_shares_all_its_cpus() {
        let mut plan: Plan = PLAN.parse().expect("a plan");
        plan.hosts.push(planned_host("old", "10.1.0.5"));
        for variant in &mut plan.variants {
            variant.host = Some("old".to_owned());
        }
        assert!(!client_and_server_share_cpus(&plan, &Facts::default()), "the client is here");
        plan.clients = vec!["old".to_owned()];
        assert!(client_and_server_share_cpus(&plan, &Facts::default()));
    }

    #[test]
    fn on_this_machine_the_split_of_the_plan_decides() {
        let mut plan: Plan = PLAN.parse().expect("a plan");
        for (server, client, is_shared) in [("0", "1", false), ("0", "0", true)] {
            (plan.cpus.server, plan.cpus.client) = (server.to_owned(), client.to_owned());
            assert_eq!(client_and_server_share_cpus(&plan, &Facts::default()), is_shared);
        }
    }
}
