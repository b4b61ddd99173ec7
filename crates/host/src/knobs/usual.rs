//! The kernel settings that a plan may set without being asked: those that comparisons of performance need, and that
//! cannot weaken the machine's security, lose data or take its memory. A plan may come from somebody else.

use super::Knob;
use super::knob::{matches, path_of};

/// Patterns of names, and why a comparison needs them.
const USUAL: &[(&[&str], &str)] = &[
    (&["net.core.somaxconn", "net.core.netdev_*"], "queues of connections and packets"),
    (&["net.core.rmem_*", "net.core.wmem_*", "net.core.optmem_max"], "socket buffers"),
    (&["net.core.busy_poll", "net.core.busy_read"], "busy polling of sockets"),
    (&["net.core.default_qdisc"], "packet scheduling of new interfaces"),
    (
        &["net.core.dev_weight*", "net.core.gro_normal_batch", "net.core.skb_defer_max"],
        "packets in one batch",
    ),
    (&["net.core.rps_*", "net.core.flow_limit_*"], "distribution of packets among CPUs"),
    (&["net.core.high_order_alloc_disable"], "page sizes of socket buffers"),
    (&["net.ipv4.tcp_*"], "TCP: congestion control, buffers, timers, offloads"),
    (&["net.ipv4.udp_*"], "buffers and demultiplexing of UDP"),
    (&["net.ipv4.ip_local_port_range"], "number of connections from one address"),
    (&["net.unix.max_dgram_qlen"], "queue of datagrams of UNIX sockets"),
    (
        &[
            "/sys/class/net/*/queues/*/rps_cpus",
            "/sys/class/net/*/queues/*/rps_flow_cnt",
            "/sys/class/net/*/queues/*/xps_cpus",
        ],
        "distribution of packets among CPUs",
    ),
    (
        &[
            "/sys/class/net/*/gro_flush_timeout",
            "/sys/class/net/*/napi_defer_hard_irqs",
            "/sys/class/net/*/threaded",
            "/sys/class/net/*/tx_queue_len",
        ],
        "batches and interrupts of a network interface",
    ),
    (&["vm.swappiness", "vm.vfs_cache_pressure", "vm.page-cluster"], "what memory is reclaimed first"),
    (&["vm.dirty_*", "vm.dirtytime_expire_seconds"], "when written data goes to the disk"),
    (
        &["vm.zone_reclaim_mode", "vm.watermark_*", "vm.compaction_proactiveness"],
        "reclaim and compaction of memory",
    ),
    (&["vm.max_map_count"], "number of mappings of a process"),
    (&["vm.stat_interval", "vm.numa_stat"], "statistics that the kernel keeps"),
    (&["kernel.sched_*", "/sys/kernel/debug/sched/*"], "the scheduler"),
    (&["kernel.numa_balancing*"], "migration of memory between NUMA nodes"),
    (&["kernel.timer_migration", "kernel.nmi_watchdog"], "timers and interrupts that disturb a CPU"),
    (&["fs.aio-max-nr"], "asynchronous I/O requests"),
    (
        &[
            "/sys/block/*/queue/scheduler",
            "/sys/block/*/queue/iosched/*",
            "/sys/block/*/queue/nr_requests",
            "/sys/block/*/queue/nomerges",
            "/sys/block/*/queue/rq_affinity",
            "/sys/block/*/queue/max_sectors_kb",
            "/sys/block/*/queue/wbt_lat_usec",
            "/sys/block/*/queue/io_poll*",
            "/sys/block/*/queue/rotational",
            "/sys/block/*/queue/iostats",
            "/sys/block/*/queue/add_random",
        ],
        "the I/O scheduler and the queue of a disk",
    ),
    (&["/sys/block/*/queue/read_ahead_kb"], "read-ahead of a disk"),
    (
        &[
            "/sys/kernel/mm/transparent_hugepage/*",
            "/sys/kernel/mm/transparent_hugepage/khugepaged/*",
            "/sys/kernel/mm/transparent_hugepage/*/enabled",
        ],
        "transparent huge pages",
    ),
    (
        &[
            "/sys/devices/system/cpu/*/cpufreq/scaling_*",
            "/sys/devices/system/cpu/cpufreq/*/scaling_*",
            "/sys/devices/system/cpu/*/cpufreq/energy_performance_preference",
            "/sys/devices/system/cpu/cpufreq/*/energy_performance_preference",
            "/sys/devices/system/cpu/*/power/energy_perf_bias",
        ],
        "the frequency governor of a CPU",
    ),
    (
        &[
            "/sys/devices/system/cpu/cpufreq/boost",
            "/sys/devices/system/cpu/intel_pstate/no_turbo",
            "/sys/devices/system/cpu/intel_pstate/min_perf_pct",
            "/sys/devices/system/cpu/intel_pstate/max_perf_pct",
        ],
        "boost frequencies",
    ),
    (
        &[
            "/sys/devices/system/cpu/*/cpuidle/*/disable",
            "/sys/devices/system/cpu/*/power/pm_qos_resume_latency_us",
        ],
        "sleep states of a CPU",
    ),
];

/// What comparisons use this setting for. None if a plan may only set it after the user has allowed it.
pub fn usual_purpose(knob: &Knob) -> Option<&'static str> {
    let path = knob.path();
    let is_meant = |pattern: &&str| matches(&path_of(pattern), &path).is_some();
    USUAL.iter().find(|(patterns, _)| patterns.iter().any(is_meant)).map(|(_, why)| *why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_usual(name: &str) -> bool {
        usual_purpose(&name.parse().expect("the name of a setting")).is_some()
    }

    #[test]
    fn settings_of_performance_are_usual_and_those_of_security_are_not() {
        for name in [
            "net.core.somaxconn",
            "net/core/somaxconn",
            "net.ipv4.tcp_congestion_control",
            "vm.dirty_ratio",
            "/sys/block/vda/queue/scheduler",
            "/sys/kernel/mm/transparent_hugepage/enabled",
            "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
        ] {
            assert!(is_usual(name), "{name}");
        }
        for name in [
            "kernel.core_pattern",
            "kernel.modprobe",
            "kernel.randomize_va_space",
            "net.core.bpf_jit_harden",
            "net.ipv4.ip_forward",
            "vm.mmap_min_addr",
            "vm.nr_hugepages",
            "fs.protected_symlinks",
            "/sys/block/vda/queue/write_cache",
            "/sys/block/vda/device/timeout",
        ] {
            assert!(!is_usual(name), "{name}");
        }
    }

    #[test]
    fn every_pattern_is_the_name_of_a_setting() {
        for name in USUAL.iter().flat_map(|(patterns, _)| *patterns) {
            assert!(name.replace('*', "x").parse::<Knob>().is_ok(), "{name}");
        }
    }
}
