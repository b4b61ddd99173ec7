//! Checks of the system: virtualization, limits, kernel settings, and the available measuring tools.

#![expect(
    clippy::unnecessary_wraps,
    reason = "one signature for all checks, also for those that always have a finding"
)]

use super::check::{CheckResult, HostCheck, HostEvidence};
use crate::facts::{PowerSource, Rapl};
use crate::knobs::Quieting;

/// File descriptors of one process. Fewer than the first limit are too few for common tests. With fewer than
/// the second, tests with very many connections need several load processes.
const DESCRIPTORS_WARN: u64 = 4_096;
const DESCRIPTORS_NOTE: u64 = 65_536;

/// The size of the kernel's default range of ephemeral ports, 32768 to 60999 (ip-sysctl.rst).
const PORTS: u32 = 28_232;

/// The default since Linux 5.4 (128 before).
const SOMAXCONN: u32 = 4_096;

pub(super) const CHECKS: &[HostCheck] = &[
    HostCheck {
        id: "virtual machine",
        why: "the hypervisor schedules its CPUs, and timers and interrupts take longer than on bare metal",
        check: virtual_machine,
    },
    HostCheck {
        id: "container",
        why: "limits and seccomp filters of a container can slow servers down",
        check: container,
    },
    HostCheck {
        id: "battery",
        why: "a machine on battery power lowers its speed to save energy",
        check: battery,
    },
    HostCheck {
        id: "descriptors",
        why: "each connection needs a file descriptor in the server and one in the client",
        check: descriptors,
    },
    HostCheck {
        id: "ports",
        why: "each connection to an address needs an ephemeral port, and occupies it for a minute after the close (TIME_WAIT)",
        check: ports,
    },
    HostCheck {
        id: "accept queue",
        why: "when the accept queue is full, a new connection waits a second before the kernel retries it",
        check: accept_queue,
    },
    HostCheck {
        id: "huge pages",
        why: "transparent huge pages for all programs make some servers faster and give others long pauses",
        check: huge_pages,
    },
    HostCheck {
        id: "quiet host",
        why: "background work of the kernel and slow wake-ups scatter response times; --quiet-host of compare and sweep takes away what this machine has of it, and restores it",
        check: quiet_host,
    },
    HostCheck {
        id: "perf",
        why: "without samples of where CPU time goes, `showdown explain` knows the resource and not the function",
        check: perf,
    },
    HostCheck {
        id: "energy",
        why: "without the processor's energy counters, watts need a meter: a plug, a power strip or the machine's management controller (--power)",
        check: energy,
    },
];

fn virtual_machine(evidence: &HostEvidence) -> Option<CheckResult> {
    Some(match &evidence.facts.machine.virtualization {
        Some(name) => CheckResult::note(format!("detected: {name}"))
            .remedy("compare variants within one interleaved run; do not compare absolute figures with other machines"),
        None => CheckResult::ok("none detected"),
    })
}

fn container(evidence: &HostEvidence) -> Option<CheckResult> {
    let name = evidence.facts.machine.container.as_ref()?;
    Some(CheckResult::note(format!("detected: {name}")))
}

fn battery(evidence: &HostEvidence) -> Option<CheckResult> {
    Some(match evidence.facts.machine.power_source? {
        PowerSource::Battery => {
            CheckResult::warn("the machine runs on battery power").remedy("connect the power supply")
        }
        PowerSource::Mains => CheckResult::ok("the machine runs on mains power"),
    })
}

fn descriptors(evidence: &HostEvidence) -> Option<CheckResult> {
    let limits = evidence.facts.limits.get("Max open files")?;
    let (soft, hard) = limits.split_once(" / ")?;
    // A process may raise its own soft limit up to the hard limit. "unlimited" does not parse as a number.
    let limit: u64 = hard.parse().unwrap_or(u64::MAX);
    let found = format!("a process may open {soft} files (hard limit {hard})");
    let remedy = format!(
        "as root, run ulimit -n {DESCRIPTORS_NOTE}, or raise LimitNOFILE= of the service that started this shell"
    );
    Some(match limit {
        limit if limit < DESCRIPTORS_WARN => CheckResult::warn(found).remedy(remedy),
        limit if limit < DESCRIPTORS_NOTE => CheckResult::note(found).remedy(remedy),
        _ => CheckResult::ok(found),
    })
}

fn ports(evidence: &HostEvidence) -> Option<CheckResult> {
    let (first, last) = evidence.facts.sysctls.get("net.ipv4.ip_local_port_range")?.split_once(' ')?;
    let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
    let count = (last + 1).saturating_sub(first);
    let found = format!("{count} ephemeral ports ({first} to {last})");
    Some(if count < PORTS {
        CheckResult::warn(found).remedy("sudo sysctl -w net.ipv4.ip_local_port_range='16384 65000'")
    } else {
        CheckResult::ok(found)
    })
}

fn accept_queue(evidence: &HostEvidence) -> Option<CheckResult> {
    let limit: u32 = evidence.facts.sysctls.get("net.core.somaxconn")?.parse().ok()?;
    let found = format!("a listening socket queues up to {limit} connections (net.core.somaxconn)");
    Some(if limit < SOMAXCONN {
        CheckResult::warn(found).remedy(format!("sudo sysctl -w net.core.somaxconn={SOMAXCONN}"))
    } else {
        CheckResult::ok(found)
    })
}

fn huge_pages(evidence: &HostEvidence) -> Option<CheckResult> {
    let enabled = evidence.facts.memory.thp.as_deref()?;
    Some(if enabled == "always" {
        CheckResult::note("transparent huge pages are enabled for all programs").remedy(
            "for servers such as Redis: echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
        )
    } else {
        CheckResult::ok(format!("transparent huge pages are set to {enabled}"))
    })
}

fn quiet_host(evidence: &HostEvidence) -> Option<CheckResult> {
    let Quieting { settings, has_idle_states } = &evidence.quieting;
    let set = settings.iter().map(|found| format!("set {} to {} ({})", found.knob, found.value, found.why));
    let idle = has_idle_states.then(|| "keep CPUs out of deep idle states".to_owned());
    let would: Vec<String> = set.chain(idle).collect();
    (!would.is_empty()).then(|| CheckResult::ok(format!("--quiet-host would {}", would.join(", "))))
}

fn perf(evidence: &HostEvidence) -> Option<CheckResult> {
    let Some(paranoid) = evidence.facts.sysctls.get("kernel.perf_event_paranoid") else {
        return Some(CheckResult::note("this kernel has no performance events: nothing can be sampled"));
    };
    let level: i32 = paranoid.parse().unwrap_or(0);
    let what = match level {
        ..2 => return Some(CheckResult::ok("ordinary users may sample programs and the kernel")),
        2 => "ordinary users may sample their programs, but not the kernel",
        _ => "only root may sample programs",
    };
    let note = CheckResult::note(format!("{what} (kernel.perf_event_paranoid is {level})"));
    Some(note.remedy("sudo sysctl -w kernel.perf_event_paranoid=1"))
}

fn energy(evidence: &HostEvidence) -> Option<CheckResult> {
    Some(match evidence.facts.machine.rapl {
        Rapl::Readable => CheckResult::ok("the processor's energy counters are readable"),
        Rapl::Unreadable => CheckResult::note("only root may read the processor's energy counters")
            .remedy("until the next boot: sudo chmod a+r /sys/class/powercap/*/energy_uj"),
        Rapl::Absent => CheckResult::note("this machine has no energy counters of the processor"),
    })
}

#[cfg(test)]
mod tests {
    use super::super::Severity;
    use super::super::tests::level;
    use super::*;
    use crate::knobs::QuietingSetting;

    #[test]
    fn what_a_quiet_host_would_bring_is_named_where_there_is_something() {
        assert_eq!(quiet_host(&HostEvidence::default()).map(|found| found.found), None);
        let setting = QuietingSetting {
            knob: "kernel.numa_balancing".parse().expect("a setting"),
            value: "0".to_owned(),
            why: "memory moves",
        };
        let quieting = Quieting { settings: vec![setting], has_idle_states: true };
        let found =
            quiet_host(&HostEvidence { quieting, ..HostEvidence::default() }).map(|found| found.found);
        let would = "--quiet-host would set kernel.numa_balancing to 0 (memory moves), keep CPUs out of deep idle states";
        assert_eq!(found.as_deref(), Some(would));
    }

    fn with_sysctl(name: &str, value: &str) -> HostEvidence {
        let mut evidence = HostEvidence::default();
        evidence.facts.sysctls.insert(name.into(), value.into());
        evidence
    }

    #[test]
    fn a_virtual_machine_is_a_note_and_a_battery_a_warning() {
        let mut evidence = HostEvidence::default();
        assert_eq!(level("virtual machine", &evidence), Some(Severity::Ok));
        evidence.facts.machine.virtualization = Some("KVM".into());
        assert_eq!(level("virtual machine", &evidence), Some(Severity::Note));
        evidence.facts.machine.power_source = Some(PowerSource::Battery);
        assert_eq!(level("battery", &evidence), Some(Severity::Warn));
    }

    #[test]
    fn descriptors_are_checked_against_the_hard_limit() {
        let expected = [
            ("1024 / 1024", Severity::Warn),
            ("1024 / 20000", Severity::Note),
            ("1024 / 1048576", Severity::Ok),
            ("unlimited / unlimited", Severity::Ok),
        ];
        for (limits, expected) in expected {
            let mut evidence = HostEvidence::default();
            evidence.facts.limits.insert("Max open files".into(), limits.into());
            assert_eq!(level("descriptors", &evidence), Some(expected), "{limits}");
        }
    }

    #[test]
    fn settings_below_the_kernel_defaults_are_warnings() {
        let range = "net.ipv4.ip_local_port_range";
        assert_eq!(level("ports", &with_sysctl(range, "32768 60999")), Some(Severity::Ok));
        assert_eq!(level("ports", &with_sysctl(range, "50000 60000")), Some(Severity::Warn));
        assert_eq!(level("ports", &with_sysctl(range, "60000 50000")), Some(Severity::Warn));
        assert_eq!(level("ports", &with_sysctl(range, "?")), None);
        assert_eq!(level("accept queue", &with_sysctl("net.core.somaxconn", "128")), Some(Severity::Warn));
        assert_eq!(level("accept queue", &with_sysctl("net.core.somaxconn", "4096")), Some(Severity::Ok));
    }

    #[test]
    fn what_cannot_be_sampled_or_metered_is_a_note() {
        for (paranoid, expected) in [("1", Severity::Ok), ("2", Severity::Note), ("4", Severity::Note)] {
            let evidence = with_sysctl("kernel.perf_event_paranoid", paranoid);
            assert_eq!(level("perf", &evidence), Some(expected), "{paranoid}");
        }
        let mut evidence = HostEvidence::default();
        for (rapl, expected) in [(Rapl::Readable, Severity::Ok), (Rapl::Unreadable, Severity::Note)] {
            evidence.facts.machine.rapl = rapl;
            assert_eq!(level("energy", &evidence), Some(expected));
        }
    }

    #[test]
    fn huge_pages_for_all_programs_are_a_note() {
        let mut evidence = HostEvidence::default();
        assert_eq!(level("huge pages", &evidence), None);
        evidence.facts.memory.thp = Some("madvise".into());
        assert_eq!(level("huge pages", &evidence), Some(Severity::Ok));
        evidence.facts.memory.thp = Some("always".into());
        assert_eq!(level("huge pages", &evidence), Some(Severity::Note));
    }
}
