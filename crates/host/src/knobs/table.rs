//! What is known about kernel settings, as data: which cannot be undone, and which change others.

use super::Knob;
use super::knob::{matches, path_of};

/// Settings that no write can undo: setting (a pattern), the value that cannot be undone (`*` for any), and why.
const ONE_WAY: &[(&str, &str, &str)] = &[
    ("kernel.modules_disabled", "*", "the kernel loads no module any more until it is rebooted"),
    ("kernel.kexec_load_disabled", "*", "the kernel allows no kexec any more until it is rebooted"),
    ("kernel.kexec_load_limit_panic", "*", "the limit can only be lowered until the next reboot"),
    ("kernel.kexec_load_limit_reboot", "*", "the limit can only be lowered until the next reboot"),
    ("kernel.yama.ptrace_scope", "3", "the kernel allows no ptrace any more until it is rebooted"),
    (
        "kernel.unprivileged_bpf_disabled",
        "1",
        "the kernel keeps this value until it is rebooted; 2 can be undone",
    ),
    ("kernel.usermodehelper.bset", "*", "capabilities can only be removed until the next reboot"),
    ("kernel.usermodehelper.inheritable", "*", "capabilities can only be removed until the next reboot"),
    ("kernel.tainted", "*", "taint flags can only be added until the next reboot"),
    ("kernel.ns_last_pid", "*", "the kernel changes the value with every process"),
    ("vm.drop_caches", "*", "it is an action, not a setting: the dropped caches do not come back"),
    ("vm.compact_memory", "*", "it is an action, not a setting"),
    ("net.ipv4.route.flush", "*", "it is an action, not a setting: the dropped routes do not come back"),
    ("net.ipv6.route.flush", "*", "it is an action, not a setting: the dropped routes do not come back"),
    ("net.ipv4.tcp_fastopen_key", "*", "the kernel does not show the key, so it cannot be restored"),
    (
        "/sys/kernel/debug/sched/features",
        "*",
        "it takes one feature at a time and shows all of them, so what it was cannot be written back",
    ),
    ("/sys/kernel/security/lockdown", "*", "lockdown can only be raised until the next reboot"),
    (
        "/sys/devices/system/cpu/smt/control",
        "forceoff",
        "SMT stays off until the next reboot; off can be undone",
    ),
    ("/sys/power/*", "*", "it is an action, not a setting: it suspends the machine"),
];

/// Two settings of one quantity: a write to one makes the other 0. The kernel refuses 0 for some of them, so the one
/// that was in use is written, which makes the other 0 again.
const EXCLUSIVE: &[(&str, &str)] = &[
    ("vm.dirty_bytes", "vm.dirty_ratio"),
    ("vm.dirty_background_bytes", "vm.dirty_background_ratio"),
    ("vm.overcommit_kbytes", "vm.overcommit_ratio"),
];

/// Masks of CPUs, which the kernel shows with leading zeros and in groups: `f` as `00000000,0000000f`.
const MASKS: &[&str] = &["/sys/class/net/*/queues/*/rps_cpus", "/sys/class/net/*/queues/*/xps_cpus"];

/// Settings whose change resets others: the leader, and patterns of its followers. `{}` in a follower is what `*`
/// stands for in the leader. The leader is restored first.
const LEADERS: &[(&str, &[&str])] = &[
    ("net.ipv4.ip_forward", IPV4_FORWARDING),
    ("net.ipv4.conf.all.forwarding", IPV4_FORWARDING),
    ("net.ipv6.conf.all.forwarding", &["net/ipv6/conf/*/forwarding"]),
    ("net.ipv6.conf.all.disable_ipv6", &["net/ipv6/conf/*/disable_ipv6"]),
    ("net.ipv4.tcp_congestion_control", &["net.ipv4.tcp_allowed_congestion_control"]),
    (
        "/sys/block/*/queue/scheduler",
        &[
            "/sys/block/{}/queue/nr_requests",
            "/sys/block/{}/queue/wbt_lat_usec",
            "/sys/block/{}/queue/iosched/*",
        ],
    ),
    (
        "/sys/devices/system/cpu/*/cpufreq/scaling_governor",
        &["/sys/devices/system/cpu/{}/cpufreq/energy_performance_preference"],
    ),
    (
        "/sys/devices/system/cpu/cpufreq/*/scaling_governor",
        &["/sys/devices/system/cpu/cpufreq/{}/energy_performance_preference"],
    ),
];

const IPV4_FORWARDING: &[&str] =
    &["net.ipv4.ip_forward", "net/ipv4/conf/*/forwarding", "net/ipv4/conf/*/accept_redirects"];

/// Why this value of a setting cannot be undone. None if it can.
pub(super) fn why_one_way(knob: &Knob, value: &str) -> Option<&'static str> {
    let is_meant = |(pattern, one_way, _): &&(&str, &str, &str)| {
        matches(&path_of(pattern), &knob.path()).is_some() && (*one_way == "*" || *one_way == value)
    };
    ONE_WAY.iter().find(is_meant).map(|(_, _, why)| *why)
}

/// Whether two texts are one value of this setting.
pub(super) fn is_same(knob: &Knob, one: &str, other: &str) -> bool {
    let is_mask = MASKS.iter().any(|pattern| matches(&path_of(pattern), &knob.path()).is_some());
    let digits = |mask: &str| mask.replace(',', "").trim_start_matches('0').to_ascii_lowercase();
    one == other || (is_mask && digits(one) == digits(other))
}

/// The other setting of the same quantity.
pub(super) fn counterpart(knob: &Knob) -> Option<Knob> {
    let path = knob.path();
    let other = EXCLUSIVE.iter().find_map(|(one, two)| match () {
        () if path_of(one) == path => Some(two),
        () if path_of(two) == path => Some(one),
        () => None,
    });
    other.and_then(|name| name.parse().ok())
}

/// Patterns of the paths of settings that a change of this setting resets.
pub(super) fn followers(knob: &Knob) -> Vec<String> {
    let path = knob.path();
    let of = |(leader, followers): &(&str, &[&str])| {
        let star = matches(&path_of(leader), &path)?;
        Some(followers.iter().map(|follower| path_of(follower).replace("{}", &star)).collect::<Vec<_>>())
    };
    LEADERS.iter().find_map(of).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knob(name: &str) -> Knob {
        name.parse().expect("the name of a setting")
    }

    #[test]
    fn a_setting_that_cannot_be_undone_is_known_by_any_of_its_names() {
        assert!(why_one_way(&knob("kernel.modules_disabled"), "1").is_some());
        assert!(why_one_way(&knob("kernel/modules_disabled"), "1").is_some());
        assert!(why_one_way(&knob("kernel.yama.ptrace_scope"), "3").is_some());
        assert_eq!(why_one_way(&knob("kernel.yama.ptrace_scope"), "1"), None);
        assert_eq!(why_one_way(&knob("net.core.somaxconn"), "3"), None);
    }

    #[test]
    fn a_mask_is_the_same_however_it_is_written() {
        let rps = knob("/sys/class/net/lo/queues/rx-0/rps_cpus");
        assert!(is_same(&rps, "00000000,0000000f", "f") && is_same(&rps, "00", "0"));
        assert!(!is_same(&rps, "1f", "f") && !is_same(&knob("vm.swappiness"), "060", "60"));
    }

    #[test]
    fn followers_belong_to_the_same_device() {
        assert_eq!(counterpart(&knob("vm.dirty_ratio")), Some(knob("vm.dirty_bytes")));
        assert_eq!(counterpart(&knob("vm.swappiness")), None);
        let followers = followers(&knob("/sys/block/vda/queue/scheduler"));
        assert_eq!(followers[0], "/sys/block/vda/queue/nr_requests");
        assert!(super::followers(&knob("/sys/block/vda/queue/nr_requests")).is_empty());
    }

    #[test]
    fn every_name_in_the_tables_is_that_of_a_setting() {
        let exclusive = EXCLUSIVE.iter().flat_map(|(one, two)| [*one, *two]);
        let leaders = LEADERS.iter().map(|(leader, _)| *leader);
        for name in ONE_WAY.iter().map(|(name, ..)| *name).chain(exclusive).chain(leaders) {
            assert!(name.replace('*', "x").parse::<Knob>().is_ok(), "{name}");
        }
    }
}
