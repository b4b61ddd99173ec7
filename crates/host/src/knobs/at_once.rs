//! The kernel settings that servers can have in turns: what a server does under its value is over when another server has its own.
//! A setting is in this list if the kernel reads it when it is needed, or when a socket is made, and if nothing of the machine
//! is left in another state by it. Memory, the page cache, disks and frequencies keep the effects of a setting for seconds.
//!
//! Source: `Documentation/admin-guide/sysctl` and `Documentation/networking/ip-sysctl.rst` of Linux.

use super::Knob;
use super::knob::{matches, path_of};

/// Patterns of names.
const AT_ONCE: &[&str] = &[
    // Read when a server listens, or when a connection is opened.
    "net.core.somaxconn",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_abort_on_overflow",
    "net.ipv4.tcp_fastopen",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_window_scaling",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_sack",
    // Read when a socket is made, and when its buffers grow.
    "net.core.rmem_*",
    "net.core.wmem_*",
    "net.core.optmem_max",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
    "net.ipv4.tcp_moderate_rcvbuf",
    // Read for each segment.
    "net.ipv4.tcp_autocorking",
    "net.ipv4.tcp_limit_output_bytes",
    "net.ipv4.tcp_min_tso_segs",
    "net.ipv4.tcp_notsent_lowat",
    "net.ipv4.tcp_pacing_*",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_tso_*",
    // Read for each batch of packets.
    "net.core.busy_poll",
    "net.core.busy_read",
    "net.core.dev_weight*",
    "net.core.gro_normal_batch",
    "net.core.high_order_alloc_disable",
    "net.core.netdev_*",
    "net.core.skb_defer_max",
    "/sys/class/net/*/gro_flush_timeout",
    "/sys/class/net/*/napi_defer_hard_irqs",
    "/sys/class/net/*/queues/*/rps_cpus",
    "/sys/class/net/*/queues/*/xps_cpus",
    // Read when a thread is placed, or a timer is armed.
    "kernel.sched_*",
    "kernel.timer_migration",
    "/sys/kernel/debug/sched/*",
];

/// Whether servers that are up together can have their own values of this setting, each while it is loaded.
pub fn takes_effect_at_once(knob: &Knob) -> bool {
    let path = knob.path();
    AT_ONCE.iter().any(|pattern| matches(&path_of(pattern), &path).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::{table, usual_purpose};

    fn knob(name: &str) -> Knob {
        name.parse().expect("the name of a setting")
    }

    #[test]
    fn settings_of_packets_take_effect_at_once_and_those_of_memory_and_disks_do_not() {
        for name in ["net.ipv4.tcp_autocorking", "net.core.somaxconn", "kernel.timer_migration"] {
            assert!(takes_effect_at_once(&knob(name)), "{name}");
        }
        for name in [
            "vm.dirty_ratio",
            "vm.swappiness",
            "net.ipv4.tcp_mem",
            "/sys/block/vda/queue/scheduler",
            "/sys/kernel/mm/transparent_hugepage/enabled",
            "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
        ] {
            assert!(!takes_effect_at_once(&knob(name)), "{name}");
        }
    }

    #[test]
    fn every_pattern_is_the_name_of_a_usual_setting_that_can_be_undone() {
        for name in AT_ONCE.iter().map(|pattern| knob(&pattern.replace('*', "x"))) {
            assert!(usual_purpose(&name).is_some(), "{name}");
            assert_eq!(table::why_one_way(&name, "1"), None, "{name}");
        }
    }
}
