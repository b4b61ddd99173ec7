//! The table of resources: for each one demand, utilisation and saturation, or why a figure is missing. Which of them limits is
//! left to rules and experiments.
//!
//! Demand is what an operation takes of a resource (service demand `D = U / X`). A wait is no demand: it is saturation. Source: the
//! operational laws, Lazowska et al., *Quantitative System Performance* (1984), §3.2 to 3.5; B. Gregg, *The USE Method*.

use archive::model::ExaminedResource;

use crate::figures::{self, Figures};

/// A resource with the names of its figures.
struct Resource {
    id: &'static str,
    title: &'static str,
    demand: Option<&'static str>,
    utilisation: Option<&'static str>,
    saturation: Option<&'static str>,
    /// What is needed for figures that are missing.
    needs: &'static str,
}

const THREADS: &str = "needs the states of threads, which were not sampled";
const WATCHED: &str = "needs a profile and the stacks of waiting threads";
const PRESSURE: &str = "needs pressure stall information (PSI) of the kernel";
const STATISTICS: &str = "the server's statistics do not name it: see observe in docs/WORKLOAD.md";

const fn resource(
    id: &'static str,
    title: &'static str,
    [demand, utilisation, saturation]: [Option<&'static str>; 3],
    needs: &'static str,
) -> Resource {
    Resource { id, title, demand, utilisation, saturation, needs }
}

/// All resources, in the order in which they are ruled out.
const RESOURCES: &[Resource] = &[
    resource(
        "client",
        "client CPUs",
        [None, Some("client.utilisation"), None],
        "the server makes its own load",
    ),
    resource("loop", "number of connections", [None, Some("loop.share"), None], ""),
    resource("errors", "failing operations", [None, Some("loop.failed"), None], ""),
    resource(
        "server_cpu",
        "server CPUs",
        [Some(figures::CPU_PER_OPERATION), Some("server_cpus.busy"), Some("threads.runnable")],
        THREADS,
    ),
    resource(
        "one_core",
        "busiest CPU of the server",
        [None, Some("server_cpus.busiest"), None],
        "needs /proc/stat",
    ),
    resource("one_thread", "busiest thread of the server", [None, Some("threads.busiest"), None], THREADS),
    resource(
        "run_queue",
        "run queue",
        [Some("switches.involuntary_per_op"), None, Some("run_queue.waiting")],
        PRESSURE,
    ),
    resource("locks", "locks", [Some("switches.voluntary_per_op"), None, Some("threads.futex")], THREADS),
    resource(
        "malloc",
        "memory allocator",
        [None, Some("profile.allocator"), Some("operation.allocator")],
        WATCHED,
    ),
    resource("system_calls", "kernel", [None, Some(figures::CPU_IN_KERNEL), None], "needs CPU times by mode"),
    resource(
        "softirq",
        "interrupts and receive path",
        [None, Some("server_cpus.interrupts"), Some("softnet.squeezed")],
        "needs /proc/net/softnet_stat",
    ),
    resource(
        "accept_queue",
        "accept queue",
        [Some("tcp.accepts"), None, Some("tcp.listen_overflows")],
        "needs /proc/net/netstat",
    ),
    resource(
        "network",
        "network",
        [None, Some("network.bytes"), Some("tcp.retransmitted")],
        "no interface but loopback, which has no limit of its own",
    ),
    resource(
        "disk",
        "disk",
        [Some("disk.requests_per_op"), Some("disk.busy"), Some("disk.queue")],
        "needs /proc/diskstats",
    ),
    resource("page_cache", "reads from disk", [None, Some("disk.reads"), Some("pressure.io")], PRESSURE),
    resource("flush", "flushes to disk", [None, None, Some("threads.flush")], THREADS),
    resource("memory", "memory", [None, None, Some("pressure.memory")], PRESSURE),
    resource("swap", "swap", [None, Some("swap.in"), None], "needs /proc/vmstat"),
    resource("configured_limit", "configured limit", [None, Some("limits.fullest"), None], STATISTICS),
    resource("row_locks", "locks of rows", [None, None, Some("statistics.lock_waiters")], STATISTICS),
    resource("log_buffer", "log buffer", [None, None, Some("statistics.log_waits")], STATISTICS),
    resource(
        "gc",
        "garbage collection",
        [None, Some("profile.collector"), Some("statistics.gc_time")],
        WATCHED,
    ),
    resource("cache_size", "size of the cache", [None, None, Some("statistics.evictions")], STATISTICS),
    resource("lookups", "name lookups", [None, None, Some("operation.lookups")], WATCHED),
    resource("sleep", "time to pass", [None, None, Some("threads.sleep")], THREADS),
    resource(
        "other_programs",
        "other programs",
        [None, Some("server_cpus.others"), None],
        "needs /proc/stat",
    ),
    resource("cpu_frequency", "heat", [None, None, Some("cpu.throttles")], "this machine does not report it"),
    resource(
        "hypervisor",
        "hypervisor",
        [None, Some("server_cpus.steal"), None],
        "the kernel does not report it",
    ),
];

/// The table with these figures.
pub(crate) fn table(figures: &Figures) -> Vec<ExaminedResource> {
    let row = |resource: &Resource| {
        let names = [resource.demand, resource.utilisation, resource.saturation];
        let [demand, utilisation, saturation] =
            names.map(|name| name.and_then(|name| figures.get(name)).cloned());
        let is_complete = [&demand, &utilisation, &saturation]
            .iter()
            .zip(names)
            .all(|(figure, name)| figure.is_some() || name.is_none());
        let has_none = names.iter().all(Option::is_none);
        ExaminedResource {
            id: resource.id.to_owned(),
            title: resource.title.to_owned(),
            demand,
            utilisation,
            saturation,
            missing: (has_none || !is_complete).then(|| resource.needs.to_owned()),
        }
    };
    RESOURCES.iter().map(row).collect()
}

/// The title of a resource.
pub(crate) fn title(id: &str) -> &'static str {
    RESOURCES.iter().find(|resource| resource.id == id).map_or("", |resource| resource.title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_resource_has_a_name_of_its_own_and_says_what_it_needs() {
        let table = table(&Figures::default());
        for (at, row) in table.iter().enumerate() {
            assert!(
                table[..at].iter().all(|other| other.id != row.id && other.title != row.title),
                "{}",
                row.id
            );
            assert!(row.missing.is_some(), "{} is not known, and does not say why", row.id);
        }
    }
}
