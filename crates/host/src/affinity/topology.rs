//! The CPU topology from sysfs: CPUs that are online, cores and their threads, NUMA nodes.

use super::CpuSet;
use crate::root::Root;

const CPUS: &str = "/sys/devices/system/cpu";

/// The CPUs that are online.
pub(crate) fn online(root: &Root) -> CpuSet {
    let with_times = || root.read("/proc/stat").map(|stat| cpus_with_times(&stat));
    // A container may have no /sys.
    root.parse(format!("{CPUS}/online"))
        .or_else(|| with_times().filter(|cpus| !cpus.is_empty()))
        .unwrap_or_else(|| [0].into_iter().collect())
}

/// The CPUs of which `/proc/stat` has times, a line each. The line `cpu` is of all of them.
fn cpus_with_times(stat: &str) -> CpuSet {
    let number = |line: &str| line.strip_prefix("cpu")?.split(' ').next()?.parse().ok();
    stat.lines().filter_map(number).collect()
}

/// A physical core: those of its hardware threads (CPUs) that this process may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Core {
    /// Its NUMA node.
    pub node: usize,
    /// Its hardware threads.
    pub cpus: CpuSet,
}

/// The cores of these CPUs, sorted by NUMA node and then by first CPU.
pub(crate) fn cores(root: &Root, cpus: &CpuSet) -> Vec<Core> {
    let mut cores: Vec<Core> = Vec::new();
    for cpu in cpus.iter() {
        if cores.iter().any(|core| core.cpus.contains(cpu)) {
            continue;
        }
        let topology = format!("{CPUS}/cpu{cpu}/topology");
        // The second is the name before Linux 5.3.
        let threads: Option<CpuSet> = root
            .parse(format!("{topology}/core_cpus_list"))
            .or_else(|| root.parse(format!("{topology}/thread_siblings_list")));
        let alone = [cpu].into_iter().collect();
        let threads = threads.filter(|threads| threads.contains(cpu)).unwrap_or(alone);
        cores.push(Core { node: node(root, cpu), cpus: threads.intersection(cpus) });
    }
    cores.sort_by_key(|core| (core.node, core.cpus.iter().next()));
    cores
}

/// The node is a link in the CPU's directory. A kernel without NUMA has none.
fn node(root: &Root, cpu: usize) -> usize {
    let names = root.list(format!("{CPUS}/cpu{cpu}"));
    names.iter().find_map(|name| name.strip_prefix("node")?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::fake_root;

    fn set(text: &str) -> CpuSet {
        text.parse().expect("a list of CPUs")
    }

    #[test]
    fn threads_form_cores_and_cores_are_sorted_by_node() {
        let (_dir, root) = fake_root(&[
            ("/sys/devices/system/cpu/online", "0-3\n"),
            ("/sys/devices/system/cpu/cpu0/topology/core_cpus_list", "0,2\n"),
            ("/sys/devices/system/cpu/cpu0/node1/x", ""),
            ("/sys/devices/system/cpu/cpu1/topology/core_cpus_list", "1,3\n"),
            ("/sys/devices/system/cpu/cpu1/node0/x", ""),
        ]);
        let cores = cores(&root, &online(&root));
        assert_eq!(cores, [Core { node: 0, cpus: set("1,3") }, Core { node: 1, cpus: set("0,2") }]);
    }

    #[test]
    fn a_container_without_sys_has_the_cpus_with_times() {
        let (_dir, root) = fake_root(&[("/proc/stat", "cpu  12 3 4\ncpu0 6 1 2\ncpu3 6 2 2\nintr 12 3\n")]);
        assert_eq!(online(&root), set("0,3"));
        let (_dir, root) = fake_root(&[]);
        assert_eq!(online(&root), set("0"));
    }

    #[test]
    fn a_thread_that_is_not_allowed_is_left_out() {
        let (_dir, root) =
            fake_root(&[("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0-1\n")]);
        assert_eq!(
            cores(&root, &set("0,5")),
            [0, 5].map(|cpu| Core { node: 0, cpus: set(&cpu.to_string()) })
        );
    }

    #[test]
    fn each_cpu_of_this_machine_is_in_one_core() {
        let root = Root::new("/");
        let online = online(&root);
        let in_cores: usize = cores(&root, &online).iter().map(|core| core.cpus.len()).sum();
        assert_eq!(in_cores, online.len());
    }
}
