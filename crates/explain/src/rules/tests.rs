//! Every rule is named by its planted cause, and by no healthy server.

use std::collections::BTreeSet;
use std::time::Duration;

use archive::model::SuspectWord;
use host::telemetry::OtherProgram;
use profile::threads::WaitKind;

use super::Rule;
use crate::delays::DelayedCall;
use crate::profile_shares::{WatchedCpu, WatchedWaits};
use crate::resources;
use crate::scripted::{Scripted, threads};
use crate::study::tests::study;

/// A server whose throughput follows the speed of these calls.
fn delayed(call: DelayedCall, mut server: Scripted) -> Scripted {
    server.delay_elasticities.insert(call, 0.95);
    server
}

/// A server whose throughput follows its memory, and what its disk reads.
fn squeezed(mut server: Scripted) -> Scripted {
    server.squeeze_elasticity = 0.95;
    server
}

/// Causes that profiles and watched waits show.
fn watched() -> Vec<(&'static str, Scripted)> {
    let waits = |call, set: &dyn Fn(&mut WatchedWaits)| {
        let mut server = delayed(call, Scripted::new());
        let mut waits = WatchedWaits { blocked_us: 9_000.0, ..WatchedWaits::default() };
        set(&mut waits);
        server.watched.waits = Some(waits);
        server
    };
    let profiled = |allocator: f64, call: f64| {
        let mut server = Scripted::new().busy([0.99, 0.98]).follows([0.95, 0.0, 0.0]);
        server.watched.cpu =
            Some(WatchedCpu { allocator, collector: 0.0, call: Some(("getrandom".to_owned(), call)) });
        server
    };
    let collecting = |mut server: Scripted| {
        server.watched.cpu = Some(WatchedCpu { collector: 0.4, ..WatchedCpu::default() });
        server
    };
    vec![
        ("name-lookups", waits(DelayedCall::Lookup, &|waits| waits.lookups_us = 8_000.0)),
        ("allocator-locks", waits(DelayedCall::Unlock, &|waits| waits.allocator_us = 8_000.0)),
        ("lock-waits", waits(DelayedCall::Unlock, &|waits| waits.locks_us = 8_000.0)),
        ("sleep-in-operation", waits(DelayedCall::Sleep, &|waits| waits.sleep_us = 8_000.0)),
        // 1,000 operations a second: 0.95 threads.
        ("flushing", waits(DelayedCall::Flush, &|waits| waits.flush_us = 950.0)),
        ("allocator-cpu", profiled(0.5, 0.0)),
        ("system-call", profiled(0.02, 0.4)),
        ("collector-cpu", collecting(Scripted::new())),
    ]
}

/// Each cause as it would show, with the rule that must name it first.
fn planted() -> Vec<(&'static str, Scripted)> {
    let with = |columns: &[(&str, f64)]| Scripted::new().with(columns);
    let waiting = |waits: &[(WaitKind, f64)], columns: &[(&str, f64)]| {
        let mut server = Scripted::new().with(columns);
        server.threads = Some(threads(0.5, waits));
        server
    };
    let other = |mut server: Scripted| {
        server.others = vec![OtherProgram { command: "cc1".into(), pid: 812, cpu: Duration::from_secs(1) }];
        server.server_cores = 1.4;
        server
    };
    let client = |mut server: Scripted| {
        server.client_utilisation = 0.99;
        server
    };
    let delaying = |mut server: Scripted| {
        server.client_delay = 0.5;
        server
    };
    let silent = |mut server: Scripted| {
        server.statistics_problem = Some("no answer within 2 s".to_owned());
        server
    };
    let failing = |mut server: Scripted| {
        server.failed_share = 0.2;
        server
    };
    let one_thread = |mut server: Scripted| {
        server.threads = Some(threads(0.99, &[(WaitKind::Events, 0.9)]));
        server.server_cores = 1.0;
        server
    };
    let cpu = [0.95, 0.0, 0.0];
    vec![
        ("client", client(Scripted::new()).follows([0.0, 0.9, 0.0])),
        ("client-delay", delaying(with(&[("pressure.cpu.some", 0.7)])).follows([0.0, 0.9, 0.0])),
        ("paced-users", paced(delaying(with(&[("pressure.cpu.some", 0.7)]))).follows([0.0, 0.0, 1.0])),
        ("failures", failing(Scripted::new())),
        (
            "hypervisor",
            with(&[("cpu.0.steal", 0.2), ("cpu.1.steal", 0.2), ("cpu.0.idle", 0.0), ("cpu.1.idle", 0.0)])
                .follows(cpu),
        ),
        ("other-program", other(with(&[("programs.others", 0.5)]).busy([0.99, 0.99])).follows(cpu)),
        ("throttling", with(&[("cpu.throttles", 2.0)])),
        ("configured-limit", Scripted::new().statistic("workers_busy", 256.0, false, Some(256.0))),
        ("refused-connections", Scripted::new().statistic("connections_refused", 40.0, true, None)),
        // Connections that no worker takes have operations that do not end: few of them are seen in progress.
        ("no-answer", silent(delaying(with(&[("pressure.cpu.some", 0.7)])))),
        ("accept-queue", with(&[("tcp.listen_overflows", 48.0)])),
        ("syn-queue", with(&[("tcp.syn_drops", 48.0)])),
        ("softnet-drops", with(&[("softnet.dropped", 48.0)])),
        (
            "flush",
            delayed(DelayedCall::Flush, waiting(&[(WaitKind::Flush, 0.7)], &[("disk.vda.writes", 400.0)])),
        ),
        ("row-locks", Scripted::new().statistic("lock_waiters", 9.0, true, None)),
        ("log-buffer", Scripted::new().statistic("log_waits", 90.0, true, None)),
        ("garbage-collection", Scripted::new().statistic("gc_time", 0.5, true, None)),
        ("file-lock", waiting(&[(WaitKind::FileLock, 0.8)], &[])),
        (
            "lock",
            delayed(
                DelayedCall::Unlock,
                waiting(&[(WaitKind::Futex, 0.8)], &[("server.switches.voluntary", 1800.0)]),
            ),
        ),
        ("sleeping", delayed(DelayedCall::Sleep, waiting(&[(WaitKind::Sleep, 0.92)], &[]))),
        ("one-thread", one_thread(Scripted::new().busy([0.55, 0.55])).follows(cpu)),
        ("one-core", Scripted::new().busy([0.99, 0.3]).follows(cpu)),
        (
            "interrupts",
            with(&[
                ("cpu.0.softirq", 0.55),
                ("cpu.1.softirq", 0.5),
                ("cpu.0.idle", 0.1),
                ("cpu.1.idle", 0.12),
            ]),
        ),
        ("server-cpu", Scripted::new().busy([0.99, 0.98]).follows(cpu)),
        ("retransmits", with(&[("tcp.retransmits", 200.0)])),
        ("few-connections", Scripted::new().follows([0.0, 0.0, 1.0])),
        ("evictions", Scripted::new().statistic("evictions", 900.0, true, None)),
    ]
}

/// A server whose users wait between operations.
fn paced(mut server: Scripted) -> Scripted {
    server.facts.mean_delay_s = 5.0;
    server
}

/// The same for memory that is too small, and disks that are too slow.
fn planted_in_memory_and_disks() -> Vec<(&'static str, Scripted)> {
    let with = |columns: &[(&str, f64)]| squeezed(Scripted::new().with(columns));
    vec![
        ("swap", with(&[("swap.in", 9e6), ("disk.vda.reads", 900.0), ("pressure.io.some", 0.5)])),
        ("memory-pressure", with(&[("pressure.memory.some", 0.4)])),
        (
            "disk",
            with(&[
                ("disk.vda.busy", 0.99),
                ("disk.vda.queue", 8.0),
                ("pressure.io.some", 0.7),
                ("disk.vda.writes", 900.0),
                ("disk.vda.read_bytes", 4e6),
            ]),
        ),
        (
            "page-cache",
            with(&[
                ("disk.vda.reads", 900.0),
                ("disk.vda.read_bytes", 9e7),
                ("disk.vda.busy", 0.6),
                ("pressure.io.some", 0.4),
            ]),
        ),
    ]
}

#[test]
fn every_rule_is_named_first_where_its_cause_is_planted() {
    let rules: BTreeSet<String> = Rule::all().into_iter().map(|rule| rule.id).collect();
    let mut named = BTreeSet::new();
    for (rule, mut server) in planted().into_iter().chain(planted_in_memory_and_disks()).chain(watched()) {
        let explained = study(&mut server).expect("plain slices");
        // Idle CPUs are named beside most of these causes, and follow as a suspect that is cleared or comes later.
        let first = explained.suspects.first().unwrap_or_else(|| panic!("{rule}: no suspect"));
        assert_eq!(first.rule, rule, "{:#?}", explained.suspects);
        assert_ne!(first.word, SuspectWord::Cleared, "{rule}: {first:#?}");
        assert!(
            !first.sentence.contains("unknown") && !explained.sentence.contains("unknown"),
            "{}",
            first.sentence
        );
        named.insert(rule.to_owned());
    }
    assert_eq!(named, rules, "every rule has its planted cause");
}

#[test]
fn less_memory_and_a_busier_disk_decide() {
    for (rule, tried) in [("swap", "less_memory"), ("disk", "busier_disk"), ("page-cache", "busier_disk")] {
        let planted = planted_in_memory_and_disks().into_iter().find(|(name, _)| *name == rule);
        let (_, mut server) = planted.expect("a planted cause");
        let first = study(&mut server).expect("plain slices").suspects.remove(0);
        assert_eq!((first.word, first.tried.as_deref()), (SuspectWord::Limits, Some(tried)), "{first:#?}");
    }
}

#[test]
fn a_disk_that_nothing_was_read_from_is_not_kept_busy() {
    let mut server = Scripted::new().with(&[("disk.vda.busy", 0.99), ("pressure.io.some", 0.7)]);
    let explained = study(&mut server).expect("plain slices");
    assert!(
        explained.unknown.iter().any(|unknown| unknown.why == "nothing was read from a disk"),
        "{explained:#?}"
    );
}

#[test]
fn a_healthy_server_has_no_suspect_but_its_load() {
    let mut server = Scripted::new();
    let explained = study(&mut server).expect("plain slices");
    let rules: Vec<&str> = explained.suspects.iter().map(|suspect| suspect.rule.as_str()).collect();
    assert_eq!(rules, ["few-connections"]);
}

#[test]
fn rules_name_figures_and_resources_that_exist() {
    let figures = Scripted::all_figures();
    let known: BTreeSet<&str> = figures.names().collect();
    for rule in Rule::all() {
        for name in rule.names() {
            assert!(known.contains(name.as_str()), "{}: there is no figure {name}", rule.id);
        }
        assert!(
            !resources::title(&rule.resource).is_empty(),
            "{}: there is no resource {}",
            rule.id,
            rule.resource
        );
        assert!(rule.is_consistent(), "{}: its conditions", rule.id);
        assert!(!rule.remedies.is_empty() && !rule.source.is_empty(), "{}: remedies and source", rule.id);
    }
}
