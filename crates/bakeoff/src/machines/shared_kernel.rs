//! Machines of a run that share a kernel: one machine by several names, or containers of one. Each counts the CPU time of all
//! programs that it sees, so that the servers of the others look like other programs.

use std::collections::BTreeSet;

use archive::model::{Facts, FlatFacts, Plan, PlannedHost, Variant};
use machine::{THIS_MACHINE, on_one_kernel};

use crate::plan::hosts::are_on_one_host;

/// The namespace of process IDs from which all processes are seen (`PROC_PID_INIT_INO` in `include/linux/proc_ns.h`).
const INITIAL_NAMESPACE: &str = "pid:[4026531836]";

/// Of each machine, by its facts, the others whose programs it sees. The first is this one, which sees programs in these namespaces.
pub fn seen_by_each(facts: &[Option<&FlatFacts>], seen_here: &BTreeSet<String>) -> Vec<Vec<usize>> {
    let kernels: Vec<Option<Kernel<'_>>> = facts.iter().map(|facts| Kernel::of((*facts)?)).collect();
    let seen_by = |one: usize| {
        let sees = |other: &usize| {
            let Some((kernel, seen)) = kernels[one].as_ref().zip(kernels[*other].as_ref()) else {
                return false;
            };
            let is_seen = kernel.sees(seen) || (one == 0 && seen_here.contains(seen.namespace));
            one != *other && kernel.boot == seen.boot && is_seen
        };
        (0..kernels.len()).filter(sees).collect()
    };
    (0..kernels.len()).map(seen_by).collect()
}

/// Sentences about the machines of a run, this one included where it does a part of it, that run on one kernel.
pub fn sentences(plan: &Plan, facts: &Facts) -> Vec<String> {
    let boot = |facts: &'_ FlatFacts| facts.get("kernel.boot_id").cloned();
    let makes_load = plan.clients.is_empty() || plan.hosts.iter().any(|host| is_here_as_client(plan, host));
    let is_used = makes_load || plan.variants.iter().any(|variant| plan.is_here(variant));
    let here = is_used.then(|| boot(&facts.host)).flatten().map(|boot| (THIS_MACHINE, boot));
    let others = facts.hosts.iter().filter_map(|(name, facts)| Some((name.as_str(), boot(facts)?)));
    let all: Vec<(&str, String)> = here.into_iter().chain(others).collect();
    on_one_kernel(all.iter().map(|(name, boot)| (*name, boot.as_str())))
}

fn is_here_as_client(plan: &Plan, host: &PlannedHost) -> bool {
    host.ssh.is_none() && plan.clients.contains(&host.name)
}

/// Whether a variant runs on this machine, whatever the hosts file calls it.
pub fn is_on_this_machine(plan: &Plan, facts: &Facts, variant: &Variant) -> bool {
    let is_this = |host: &PlannedHost| {
        let there = facts.hosts.get(&host.name).and_then(Kernel::of);
        there.is_some() && there == Kernel::of(&facts.host)
    };
    plan.is_here(variant) || plan.hosts_of(variant).any(is_this)
}

/// Whether variants run on different machines. Two names of one are not two machines; containers of one are.
pub fn are_on_different_machines(plan: &Plan, facts: &Facts) -> bool {
    let is_one = |a: &Variant, b: &Variant| {
        let kernel = |variant: &Variant| match plan.host_of(variant).filter(|host| host.ssh.is_some()) {
            Some(host) => facts.hosts.get(&host.name).and_then(Kernel::of),
            None => Kernel::of(&facts.host),
        };
        are_on_one_host(plan, a, b) || kernel(a).zip(kernel(b)).is_some_and(|(a, b)| a == b)
    };
    plan.variants.windows(2).any(|pair| !is_one(&pair[0], &pair[1]))
}

/// What a program sees of its kernel's processes. Names of one machine have the same.
#[derive(PartialEq, Eq)]
struct Kernel<'f> {
    boot: &'f str,
    namespace: &'f str,
}

impl<'f> Kernel<'f> {
    fn of(facts: &'f FlatFacts) -> Option<Self> {
        Some(Self { boot: facts.get("kernel.boot_id")?, namespace: facts.get("kernel.pid_namespace")? })
    }

    /// Namespaces between the initial one and another are not known.
    fn sees(&self, other: &Self) -> bool {
        self.namespace == other.namespace || self.namespace == INITIAL_NAMESPACE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plan::{PLAN, planned_host};

    fn facts(boot: &str, namespace: &str) -> FlatFacts {
        let keys = [("kernel.boot_id", boot), ("kernel.pid_namespace", namespace)];
        keys.map(|(key, value)| (key.to_owned(), value.to_owned())).into()
    }

    #[test]
    fn a_machine_sees_what_shares_its_kernel_and_namespace() {
        let here = facts("a", INITIAL_NAMESPACE);
        let [container, beside, elsewhere] =
            [facts("a", "pid:[2]"), facts("a", "pid:[2]"), facts("b", INITIAL_NAMESPACE)];
        let all = [Some(&here), Some(&container), Some(&beside), Some(&elsewhere), None];
        assert_eq!(seen_by_each(&all, &BTreeSet::new()), [vec![1, 2], vec![2], vec![1], vec![], vec![]]);
    }

    #[test]
    fn names_of_this_machine_are_recognised_and_containers_are_machines_of_their_own() {
        let mut plan: Plan = PLAN.parse().expect("a plan");
        for (variant, name) in plan.variants.iter_mut().zip(["self", "again"]) {
            variant.host = Some(name.to_owned());
            plan.hosts.push(planned_host(name, "127.0.0.1"));
        }
        let of = |kernel: FlatFacts, again: FlatFacts| Facts {
            host: facts("a", INITIAL_NAMESPACE),
            hosts: [("self".to_owned(), kernel), ("again".to_owned(), again)].into(),
            ..Facts::default()
        };
        let here = || facts("a", INITIAL_NAMESPACE);
        let one = of(here(), here());
        assert!(plan.variants.iter().all(|variant| is_on_this_machine(&plan, &one, variant)));
        assert!(!are_on_different_machines(&plan, &one));
        let said = sentences(&plan, &one);
        assert!(
            said.len() == 1 && said[0].starts_with("this machine, again, self run on one kernel"),
            "{said:?}"
        );
        let container = of(here(), facts("a", "pid:[2]"));
        assert!(are_on_different_machines(&plan, &container) && sentences(&plan, &container).len() == 1);
        assert!(!is_on_this_machine(&plan, &container, &plan.variants[1]));
        let far = of(facts("b", INITIAL_NAMESPACE), facts("c", INITIAL_NAMESPACE));
        assert!(are_on_different_machines(&plan, &far) && sentences(&plan, &far).is_empty());
        // A controller that does no part of the run shares nothing.
        plan.clients = vec!["again".to_owned()];
        let far = of(facts("a", INITIAL_NAMESPACE), facts("c", INITIAL_NAMESPACE));
        assert!(sentences(&plan, &far).is_empty());
        // Before the facts are known, names are what there is.
        assert!(are_on_different_machines(&plan, &Facts::default()));
    }

    #[test]
    fn a_container_sees_those_within_it() {
        let [here, within, beside] = ["pid:[2]", "pid:[3]", "pid:[4]"].map(|namespace| facts("a", namespace));
        let seen_here = ["pid:[2]", "pid:[3]"].map(str::to_owned).into();
        assert_eq!(
            seen_by_each(&[Some(&here), Some(&within), Some(&beside)], &seen_here),
            [vec![1], vec![], vec![]]
        );
    }
}
