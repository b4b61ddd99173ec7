//! Limits of a machine against what a run of transfers needs.

use super::*;

fn facts(memory_gib: u64) -> RoomFacts {
    let sysctls = [
        ("fs.file-max", "2466170"),
        ("net.ipv4.ip_local_port_range", "32768 60999"),
        (TCP_MEM, "287898 383867 575796"),
        (UNSENT, "4294967295"),
        ("net.core.somaxconn", "4096"),
        ("net.netfilter.nf_conntrack_max", "262144"),
        (CONGESTION, "bbr"),
        (FIRST_PROBE, "200000"),
        (WAITING_PACKETS, "1000"),
        (EARLY_PROBES, "3"),
    ];
    RoomFacts {
        sysctls: sysctls.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        available_bytes: memory_gib << 30,
        a_process: 19_936,
        is_tracking: false,
    }
}

fn demand(transfers: u32, is_loopback: bool) -> Demand {
    let ends = if is_loopback { Ends::Loopback } else { Ends::Clients };
    Demand { transfers, ends, begin_per_s: 1e4, pace_bytes_per_s: 100.0 }
}

#[test]
fn a_million_needs_memory_of_tcp_and_short_queues() {
    let room = room(&facts(22), &demand(1_000_000, true), true);
    assert_eq!(refusing(&room.limits, 1_000_000), None, "{:?}", room.limits);
    assert_eq!(room.settings[UNSENT], "4096");
    assert_eq!(room.settings[TCP_MEM], "3750000 4687500 5625000");
    assert!(room.limits.iter().any(|limit| limit.name == "memory of TCP" && limit.is_changed));
}

#[test]
fn the_timers_of_loopback_are_none_of_a_slow_link() {
    let room = room(&facts(22), &Demand { pace_bytes_per_s: 47.0, ..demand(1_000_000, true) }, true);
    assert_eq!(
        (room.settings[CONGESTION].as_str(), room.settings[FIRST_PROBE].as_str()),
        ("reno", "114382978")
    );
    let named = room.limits.iter().find(|limit| limit.name == "probes of closed windows").expect("a limit");
    assert!(named.value.starts_with("7 between two reads"), "{}", named.value);
    assert_eq!(
        (room.settings[WAITING_PACKETS].as_str(), room.settings[EARLY_PROBES].as_str()),
        ("100000", "0")
    );
}

#[test]
fn connections_are_a_limit_where_they_are_tracked() {
    let tracking = RoomFacts { is_tracking: true, ..facts(22) };
    let room = room(&tracking, &demand(1_000_000, true), true);
    let refusing = refusing(&room.limits, 1_000_000).map(|limit| limit.name.as_str());
    assert_eq!(refusing, Some("tracked connections"));
}

#[test]
fn few_need_nothing_and_nothing_changes_without_permission() {
    assert!(room(&facts(22), &demand(400, true), true).settings.is_empty());
    assert!(room(&facts(22), &demand(1_000_000, true), false).settings.is_empty());
    assert!(room(&facts(22), &demand(100_000, false), true).settings.is_empty());
}

#[test]
fn a_container_has_the_memory_of_its_control_group() {
    let mut facts = Host::local().facts();
    facts.cgroup.memory_bytes = Some(64 << 20);
    assert_eq!(RoomFacts::of(&facts, None).available_bytes, 64 << 20);
    facts.cgroup.memory_bytes = None;
    assert_eq!(RoomFacts::of(&facts, Some(0.5)).available_bytes, facts.memory.total_bytes / 2);
}

#[test]
fn the_tightest_limit_refuses() {
    let small = room(&facts(2), &demand(1_000_000, true), true);
    assert_eq!(refusing(&small.limits, 1_000_000).map(|limit| limit.name.as_str()), Some("memory"));
    let away = room(&facts(64), &demand(1_000_000, false), true);
    assert_eq!(refusing(&away.limits, 1_000_000).map(|limit| limit.name.as_str()), Some("local ports"));
}
