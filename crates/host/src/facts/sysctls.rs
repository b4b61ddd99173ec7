//! The kernel settings that affect servers and load generators.

use std::collections::BTreeMap;

use crate::root::Root;

/// The recorded settings, by their sysctl(8) names: those that tuning guides change, and related ones.
const NAMES: &[&str] = &[
    "fs.aio-max-nr",
    "fs.file-max",
    "fs.nr_open",
    "kernel.io_uring_disabled",
    "kernel.numa_balancing",
    "kernel.perf_event_paranoid",
    "kernel.pid_max",
    "kernel.randomize_va_space",
    "kernel.sched_autogroup_enabled",
    "kernel.sched_cfs_bandwidth_slice_us",
    "kernel.sched_rt_runtime_us",
    "kernel.threads-max",
    "kernel.timer_migration",
    "net.core.busy_poll",
    "net.core.busy_read",
    "net.core.default_qdisc",
    "net.core.netdev_budget",
    "net.core.netdev_budget_usecs",
    "net.core.netdev_max_backlog",
    "net.core.optmem_max",
    "net.core.rmem_default",
    "net.core.rmem_max",
    "net.core.rps_sock_flow_entries",
    "net.core.somaxconn",
    "net.core.wmem_default",
    "net.core.wmem_max",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.tcp_abort_on_overflow",
    "net.ipv4.tcp_autocorking",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_early_retrans",
    "net.ipv4.tcp_fastopen",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_limit_output_bytes",
    "net.ipv4.tcp_max_orphans",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_max_tw_buckets",
    "net.ipv4.tcp_mem",
    "net.ipv4.tcp_moderate_rcvbuf",
    "net.ipv4.tcp_notsent_lowat",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_rto_min_us",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_tw_reuse",
    "net.ipv4.tcp_wmem",
    "net.netfilter.nf_conntrack_max",
    "vm.compaction_proactiveness",
    "vm.dirty_background_bytes",
    "vm.dirty_background_ratio",
    "vm.dirty_bytes",
    "vm.dirty_expire_centisecs",
    "vm.dirty_ratio",
    "vm.dirty_writeback_centisecs",
    "vm.max_map_count",
    "vm.min_free_kbytes",
    "vm.nr_hugepages",
    "vm.overcommit_memory",
    "vm.overcommit_ratio",
    "vm.swappiness",
    "vm.vfs_cache_pressure",
    "vm.zone_reclaim_mode",
];

/// Reads the settings that this kernel has. Numbers of a list are separated by single blanks.
pub(super) fn read(root: &Root) -> BTreeMap<String, String> {
    let path = |name: &str| format!("/proc/sys/{}", name.replace('.', "/"));
    let value = |name: &str| Some(root.read(path(name))?.split_whitespace().collect::<Vec<_>>().join(" "));
    NAMES.iter().filter_map(|name| Some(((*name).to_owned(), value(name)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_single_blanks_and_missing_settings_are_absent() {
        let (_dir, root) =
            crate::root::fake_root(&[("/proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n")]);
        let expected = ("net.ipv4.tcp_rmem".to_owned(), "4096 131072 6291456".to_owned());
        assert_eq!(read(&root), BTreeMap::from([expected]));
    }

    #[test]
    fn most_names_exist_on_this_kernel() {
        let here = read(&Root::new("/"));
        // A few depend on modules and configuration. Misspelt names would make many missing.
        assert!(here.len() * 10 >= NAMES.len() * 8, "{here:?}");
    }
}
