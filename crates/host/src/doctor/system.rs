//! Questions about the system: what it is, its limits, its settings, the means of measuring that it has.

#![expect(
    clippy::unnecessary_wraps,
    reason = "one signature for all rules, also for those that always find something"
)]

use super::{Evidence, Found, Rule};
use crate::facts::{PowerSource, Rapl};

/// Descriptors for a server or a client: fewer than the first are too few for common tests, fewer than the
/// second need more processes for tests with very many connections.
const DESCRIPTORS_WARN: u64 = 4_096;
const DESCRIPTORS_NOTE: u64 = 65_536;

/// The size of the kernel's own range of ports for outgoing connections, 32768 to 60999 (ip-sysctl.rst).
const PORTS: u32 = 28_232;

/// What the kernel has had since 5.4 (it was 128 before).
const SOMAXCONN: u32 = 4_096;

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "virtual machine",
        why: "its CPUs are threads of another machine's, and its timers and interrupts take a detour",
        look: virtual_machine,
    },
    Rule {
        id: "container",
        why: "limits and security filters of a container may slow servers down",
        look: container,
    },
    Rule { id: "battery", why: "a machine on its battery saves energy where it can", look: battery },
    Rule {
        id: "descriptors",
        why: "each connection takes one in the server and one in the client",
        look: descriptors,
    },
    Rule {
        id: "ports",
        why: "each connection to one address takes a port, and keeps it for a minute after it was closed",
        look: ports,
    },
    Rule {
        id: "accept queue",
        why: "connections that find the queue full wait a second before they try again",
        look: accept_queue,
    },
    Rule {
        id: "huge pages",
        why: "huge pages for all make some servers faster and give others long pauses",
        look: huge_pages,
    },
    Rule { id: "perf", why: "without perf a bottleneck can be located but not explained", look: perf },
    Rule {
        id: "energy",
        why: "without the processor's counters there are no watts beside the results",
        look: energy,
    },
];

fn virtual_machine(evidence: &Evidence) -> Option<Found> {
    Some(match &evidence.facts.machine.virtualization {
        Some(name) => Found::note(format!("this is a virtual machine ({name})"))
            .mend("compare interleaved only, and absolute figures with none from elsewhere"),
        None => Found::ok("this is no virtual machine"),
    })
}

fn container(evidence: &Evidence) -> Option<Found> {
    let name = evidence.facts.machine.container.as_ref()?;
    Some(Found::note(format!("this is a container ({name})")))
}

fn battery(evidence: &Evidence) -> Option<Found> {
    Some(match evidence.facts.machine.power_source? {
        PowerSource::Battery => Found::warn("the battery is being emptied").mend("plug it in"),
        PowerSource::Mains => Found::ok("it is plugged in"),
    })
}

fn descriptors(evidence: &Evidence) -> Option<Found> {
    let limits = evidence.facts.limits.get("Max open files")?;
    let (soft, hard) = limits.split_once(" / ")?;
    // A process may raise its soft limit up to the hard one by itself, and "unlimited" is no number.
    let most: u64 = hard.parse().unwrap_or(u64::MAX);
    let found = format!("a process may have {soft} descriptors, and {hard} if it asks");
    let mend = format!(
        "ulimit -n {DESCRIPTORS_NOTE} as root, or LimitNOFILE= of the service that started this shell"
    );
    Some(match most {
        most if most < DESCRIPTORS_WARN => Found::warn(found).mend(mend),
        most if most < DESCRIPTORS_NOTE => Found::note(found).mend(mend),
        _ => Found::ok(found),
    })
}

fn ports(evidence: &Evidence) -> Option<Found> {
    let (first, last) = evidence.facts.sysctls.get("net.ipv4.ip_local_port_range")?.split_once(' ')?;
    let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
    let count = (last + 1).saturating_sub(first);
    let found = format!("{count} ports for outgoing connections ({first} to {last})");
    Some(if count < PORTS {
        Found::warn(found).mend("sudo sysctl -w net.ipv4.ip_local_port_range='16384 65000'")
    } else {
        Found::ok(found)
    })
}

fn accept_queue(evidence: &Evidence) -> Option<Found> {
    let most: u32 = evidence.facts.sysctls.get("net.core.somaxconn")?.parse().ok()?;
    let found = format!("a socket may have {most} connections waiting");
    Some(if most < SOMAXCONN {
        Found::warn(found).mend(format!("sudo sysctl -w net.core.somaxconn={SOMAXCONN}"))
    } else {
        Found::ok(found)
    })
}

fn huge_pages(evidence: &Evidence) -> Option<Found> {
    let enabled = evidence.facts.memory.thp.as_deref()?;
    Some(if enabled == "always" {
        Found::note("transparent huge pages are given to all").mend(
            "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled, for servers such as Redis",
        )
    } else {
        Found::ok(format!("transparent huge pages: {enabled}"))
    })
}

fn perf(evidence: &Evidence) -> Option<Found> {
    let paranoid = evidence.facts.sysctls.get("kernel.perf_event_paranoid").map(String::as_str);
    let level: i32 = paranoid.unwrap_or("0").parse().unwrap_or(0);
    Some(match (evidence.facts.machine.has_perf, level) {
        (false, _) => Found::note("perf is not installed").mend("install linux-perf (Debian) or perf"),
        (true, 2..) => Found::note(format!("ordinary users see no kernel functions in perf (level {level})"))
            .mend("sudo sysctl -w kernel.perf_event_paranoid=1"),
        (true, _) => Found::ok("perf is installed"),
    })
}

fn energy(evidence: &Evidence) -> Option<Found> {
    Some(match evidence.facts.machine.rapl {
        Rapl::Readable => Found::ok("the processor's energy counters can be read"),
        Rapl::Unreadable => Found::note("only root may read the processor's energy counters")
            .mend("sudo chmod a+r /sys/class/powercap/*/energy_uj (until the next start)"),
        Rapl::Absent => Found::note("the processor shows no energy counters here"),
    })
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::super::tests::level;
    use super::*;

    fn with_sysctl(name: &str, value: &str) -> Evidence {
        let mut evidence = Evidence::default();
        evidence.facts.sysctls.insert(name.into(), value.into());
        evidence
    }

    #[test]
    fn a_virtual_machine_is_a_note_and_a_battery_a_warning() {
        let mut evidence = Evidence::default();
        assert_eq!(level("virtual machine", &evidence), Some(Level::Ok));
        evidence.facts.machine.virtualization = Some("KVM".into());
        assert_eq!(level("virtual machine", &evidence), Some(Level::Note));
        evidence.facts.machine.power_source = Some(PowerSource::Battery);
        assert_eq!(level("battery", &evidence), Some(Level::Warn));
    }

    #[test]
    fn descriptors_by_what_a_process_can_ask_for() {
        let expected = [
            ("1024 / 1024", Level::Warn),
            ("1024 / 20000", Level::Note),
            ("1024 / 1048576", Level::Ok),
            ("unlimited / unlimited", Level::Ok),
        ];
        for (limits, expected) in expected {
            let mut evidence = Evidence::default();
            evidence.facts.limits.insert("Max open files".into(), limits.into());
            assert_eq!(level("descriptors", &evidence), Some(expected), "{limits}");
        }
    }

    #[test]
    fn settings_that_are_smaller_than_the_kernel_s_own() {
        let range = "net.ipv4.ip_local_port_range";
        assert_eq!(level("ports", &with_sysctl(range, "32768 60999")), Some(Level::Ok));
        assert_eq!(level("ports", &with_sysctl(range, "50000 60000")), Some(Level::Warn));
        assert_eq!(level("ports", &with_sysctl(range, "60000 50000")), Some(Level::Warn));
        assert_eq!(level("ports", &with_sysctl(range, "?")), None);
        assert_eq!(level("accept queue", &with_sysctl("net.core.somaxconn", "128")), Some(Level::Warn));
        assert_eq!(level("accept queue", &with_sysctl("net.core.somaxconn", "4096")), Some(Level::Ok));
    }

    #[test]
    fn means_of_measuring_that_are_missing_are_notes() {
        let mut evidence = Evidence::default();
        assert_eq!(level("perf", &evidence), Some(Level::Note));
        evidence.facts.machine.has_perf = true;
        assert_eq!(level("perf", &evidence), Some(Level::Ok));
        evidence.facts.sysctls.insert("kernel.perf_event_paranoid".into(), "4".into());
        assert_eq!(level("perf", &evidence), Some(Level::Note));
        for (rapl, expected) in [(Rapl::Readable, Level::Ok), (Rapl::Unreadable, Level::Note)] {
            evidence.facts.machine.rapl = rapl;
            assert_eq!(level("energy", &evidence), Some(expected));
        }
    }

    #[test]
    fn huge_pages_for_all_are_a_note() {
        let mut evidence = Evidence::default();
        assert_eq!(level("huge pages", &evidence), None);
        evidence.facts.memory.thp = Some("madvise".into());
        assert_eq!(level("huge pages", &evidence), Some(Level::Ok));
        evidence.facts.memory.thp = Some("always".into());
        assert_eq!(level("huge pages", &evidence), Some(Level::Note));
    }
}
