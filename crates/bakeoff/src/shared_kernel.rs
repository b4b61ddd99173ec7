//! Machines of a run that share a kernel: one machine by several names, or containers of one. Each counts the CPU time of all
//! programs that it sees, so that the servers of the others look like other programs.

use std::collections::BTreeSet;

use archive::model::FlatFacts;

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

/// What a program sees of its kernel's processes.
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
    fn a_container_sees_those_within_it() {
        let [here, within, beside] = ["pid:[2]", "pid:[3]", "pid:[4]"].map(|namespace| facts("a", namespace));
        let seen_here = ["pid:[2]", "pid:[3]"].map(str::to_owned).into();
        assert_eq!(
            seen_by_each(&[Some(&here), Some(&within), Some(&beside)], &seen_here),
            [vec![1], vec![], vec![]]
        );
    }
}
