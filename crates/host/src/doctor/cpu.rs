//! Checks of the processors: how many, how fast, and whether their speed is constant.

use super::check::{ALL, CheckResult, HostCheck, HostEvidence};

pub(super) const CHECKS: &[HostCheck] = &[
    HostCheck {
        id: "cpus",
        why: "server and client need separate CPUs: on shared ones each slows the other down",
        check: cpus,
    },
    HostCheck {
        id: "quota",
        why: "when the quota is used up, the kernel stops all threads until the next period: response times get long",
        check: quota,
    },
    HostCheck {
        id: "governor",
        why: "a governor that saves energy changes the CPU frequency during a trial",
        check: governor,
    },
    HostCheck {
        id: "turbo",
        why: "with turbo, the frequency depends on temperature and on the number of busy cores",
        check: turbo,
    },
    HostCheck {
        id: "smt",
        why: "two hardware threads share one core, so a CPU's speed depends on the load of its sibling",
        check: smt,
    },
    HostCheck {
        id: "throttling",
        why: "the processor slows down cores that get too hot, so later trials are slower than earlier ones",
        check: throttling,
    },
    HostCheck {
        id: "clocksource",
        why: "client and server read the clock for every request; a slow clocksource needs a system call each time",
        check: clocksource,
    },
    HostCheck {
        id: "mitigations",
        why: "mitigations make system calls slower, and differ between processors, kernels and clouds",
        check: mitigations,
    },
    HostCheck {
        id: "numa",
        why: "memory of another NUMA node is slower, and moving pages between nodes takes CPU time",
        check: numa,
    },
];

fn cpus(evidence: &HostEvidence) -> Option<CheckResult> {
    let found = |count: usize| format!("{count} CPUs are available ({})", evidence.allowed_cpus);
    Some(match evidence.allowed_cpus.len() {
        0 => return None,
        1 => CheckResult::warn("only one CPU is available: server and client share it").remedy(
            "use a machine with at least two CPUs, or widen this process's CPU set (taskset, cpuset)",
        ),
        count @ 2..=3 => CheckResult::note(found(count)),
        count => CheckResult::ok(found(count)),
    })
}

fn quota(evidence: &HostEvidence) -> Option<CheckResult> {
    let quota = evidence.facts.cgroup.cpus?;
    let allowed = evidence.allowed_cpus.len();
    Some(if quota < allowed as f64 {
        CheckResult::warn(format!("a control group limits CPU time to {quota} of {allowed} CPUs"))
            .remedy("run outside the container, or raise its limit (docker run --cpus)")
    } else {
        CheckResult::ok(format!("the control group's limit of {quota} CPUs covers all {allowed} CPUs"))
    })
}

fn governor(evidence: &HostEvidence) -> Option<CheckResult> {
    let governors = &evidence.facts.cpu.governors;
    let driver = evidence.facts.cpu.frequency_driver.as_deref().unwrap_or("unknown");
    let list = governors.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    match governors.iter().all(|governor| governor == "performance") {
        _ if governors.is_empty() => None,
        true => Some(CheckResult::ok(format!("{list} (driver: {driver})"))),
        false => Some(
            CheckResult::warn(format!("{list} (driver: {driver})"))
                .remedy("sudo cpupower frequency-set -g performance"),
        ),
    }
}

fn turbo(evidence: &HostEvidence) -> Option<CheckResult> {
    let is_intel =
        evidence.facts.cpu.frequency_driver.as_deref().is_some_and(|driver| driver.starts_with("intel"));
    let file = if is_intel { "1 | sudo tee intel_pstate/no_turbo" } else { "0 | sudo tee cpufreq/boost" };
    Some(if evidence.facts.cpu.turbo? {
        let remedy =
            format!("for a constant frequency at lower speed: cd /sys/devices/system/cpu; echo {file}");
        CheckResult::note("turbo is on").remedy(remedy)
    } else {
        CheckResult::ok("turbo is off")
    })
}

fn smt(evidence: &HostEvidence) -> Option<CheckResult> {
    Some(if evidence.facts.cpu.smt_active? {
        let (online, cores) = (evidence.facts.cpu.online, evidence.facts.cpu.cores);
        CheckResult::note(format!(
            "{online} CPUs are hardware threads of {cores} cores; server and client get whole cores"
        ))
    } else {
        CheckResult::ok("each CPU is a core of its own")
    })
}

fn throttling(evidence: &HostEvidence) -> Option<CheckResult> {
    let since_start = evidence.facts.volatile.core_throttles?;
    let now = evidence.idle.max("cpu.throttles", ALL).unwrap_or(0.0);
    Some(if now > 0.0 {
        CheckResult::warn("cores are throttled now because they are too hot")
            .remedy("improve cooling, or wait until the machine has cooled down")
    } else if since_start > 0 {
        CheckResult::note(format!(
            "cores were throttled {since_start} times since boot because they were too hot"
        ))
    } else {
        CheckResult::ok("no core was throttled since boot")
    })
}

fn clocksource(evidence: &HostEvidence) -> Option<CheckResult> {
    let clock = evidence.facts.kernel.clocksource.as_deref()?;
    Some(match clock {
        "tsc" | "arch_sys_counter" => CheckResult::ok(clock),
        // Paravirtual clocks need no system call either (vDSO), but take twice the time.
        "kvm-clock" | "hyperv_clocksource_tsc_page" => {
            CheckResult::note(clock).remedy("boot with clocksource=tsc if the TSC is stable on this machine")
        }
        slow => CheckResult::warn(slow).remedy(
            "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource \
             (not if the kernel log reports the TSC as unstable)",
        ),
    })
}

fn mitigations(evidence: &HostEvidence) -> Option<CheckResult> {
    let all = &evidence.facts.cpu.mitigations;
    let with_state = |prefix: &str| -> Vec<&str> {
        all.iter().filter(|(_, state)| state.starts_with(prefix)).map(|(name, _)| name.as_str()).collect()
    };
    let (mitigated, vulnerable) = (with_state("Mitigation"), with_state("Vulnerable"));
    let mut parts = Vec::new();
    if !mitigated.is_empty() {
        parts.push(format!("active against {}", mitigated.join(", ")));
    }
    if !vulnerable.is_empty() {
        parts.push(format!("vulnerable to {}", vulnerable.join(", ")));
    }
    match (all.is_empty(), parts.is_empty()) {
        (true, _) => None,
        (false, true) => Some(CheckResult::ok("this processor needs no mitigations")),
        (false, false) => Some(CheckResult::note(parts.join("; "))),
    }
}

fn numa(evidence: &HostEvidence) -> Option<CheckResult> {
    let nodes = evidence.facts.cpu.numa_nodes;
    let balancing = evidence.facts.sysctls.get("kernel.numa_balancing").is_some_and(|value| value != "0");
    match (nodes, balancing) {
        (0 | 1, _) => None,
        (_, true) => Some(
            CheckResult::note(format!("{nodes} NUMA nodes; the kernel moves pages between them"))
                .remedy("sudo sysctl -w kernel.numa_balancing=0"),
        ),
        (_, false) => {
            Some(CheckResult::ok(format!("{nodes} NUMA nodes; the kernel does not move pages between them")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{level, recorded};
    use super::super::{Severity, examine};
    use super::*;

    #[test]
    fn one_cpu_is_a_warning_and_two_are_a_note() {
        let with = |text: &str| HostEvidence {
            allowed_cpus: text.parse().expect("a list"),
            ..HostEvidence::default()
        };
        assert_eq!(level("cpus", &with("0")), Some(Severity::Warn));
        assert_eq!(level("cpus", &with("0-1")), Some(Severity::Note));
        assert_eq!(level("cpus", &with("0-7")), Some(Severity::Ok));
    }

    #[test]
    fn a_quota_below_the_number_of_cpus_is_a_warning() {
        let mut evidence = HostEvidence { allowed_cpus: (0..4).collect(), ..HostEvidence::default() };
        assert_eq!(level("quota", &evidence), None);
        evidence.facts.cgroup.cpus = Some(4.0);
        assert_eq!(level("quota", &evidence), Some(Severity::Ok));
        evidence.facts.cgroup.cpus = Some(1.5);
        assert_eq!(level("quota", &evidence), Some(Severity::Warn));
    }

    #[test]
    fn any_governor_except_performance_is_a_warning_with_the_command() {
        let mut evidence = HostEvidence::default();
        assert_eq!(level("governor", &evidence), None, "a virtual machine reports no governor");
        evidence.facts.cpu.governors = ["performance".to_owned()].into();
        assert_eq!(level("governor", &evidence), Some(Severity::Ok));
        evidence.facts.cpu.governors.insert("schedutil".into());
        let finding = examine(&evidence).into_iter().find(|f| f.id == "governor").expect("a finding");
        assert_eq!(finding.level, Severity::Warn);
        assert!(finding.remedy.is_some_and(|remedy| remedy.contains("cpupower")));
    }

    #[test]
    fn turbo_and_smt_are_notes() {
        let mut evidence = HostEvidence::default();
        (evidence.facts.cpu.turbo, evidence.facts.cpu.smt_active) = (Some(true), Some(true));
        assert_eq!(level("turbo", &evidence), Some(Severity::Note));
        assert_eq!(level("smt", &evidence), Some(Severity::Note));
        (evidence.facts.cpu.turbo, evidence.facts.cpu.smt_active) = (Some(false), Some(false));
        assert_eq!(level("turbo", &evidence), Some(Severity::Ok));
        assert_eq!(level("smt", &evidence), Some(Severity::Ok));
    }

    #[test]
    fn throttling_now_is_a_warning_and_past_throttling_is_a_note() {
        let mut evidence = HostEvidence::default();
        evidence.facts.volatile.core_throttles = Some(0);
        assert_eq!(level("throttling", &evidence), Some(Severity::Ok));
        evidence.facts.volatile.core_throttles = Some(3);
        assert_eq!(level("throttling", &evidence), Some(Severity::Note));
        evidence.idle = recorded(&[("cpu.throttles", 0.5)]);
        assert_eq!(level("throttling", &evidence), Some(Severity::Warn));
    }

    #[test]
    fn clocksources_are_rated_by_their_cost() {
        for (clock, expected) in
            [("tsc", Severity::Ok), ("kvm-clock", Severity::Note), ("acpi_pm", Severity::Warn)]
        {
            let mut evidence = HostEvidence::default();
            evidence.facts.kernel.clocksource = Some(clock.into());
            assert_eq!(level("clocksource", &evidence), Some(expected), "{clock}");
        }
    }

    #[test]
    fn mitigations_are_listed_by_name() {
        let mut evidence = HostEvidence::default();
        evidence.facts.cpu.mitigations.insert("meltdown".into(), "Not affected".into());
        assert_eq!(level("mitigations", &evidence), Some(Severity::Ok));
        evidence.facts.cpu.mitigations.insert("spectre_v2".into(), "Mitigation: IBRS".into());
        evidence.facts.cpu.mitigations.insert("mds".into(), "Vulnerable".into());
        let finding = examine(&evidence).into_iter().find(|f| f.id == "mitigations").expect("a finding");
        assert_eq!(finding.found, "active against spectre_v2; vulnerable to mds");
    }

    #[test]
    fn numa_balancing_is_a_note_on_machines_with_several_nodes() {
        let mut evidence = HostEvidence::default();
        evidence.facts.sysctls.insert("kernel.numa_balancing".into(), "1".into());
        evidence.facts.cpu.numa_nodes = 1;
        assert_eq!(level("numa", &evidence), None);
        evidence.facts.cpu.numa_nodes = 2;
        assert_eq!(level("numa", &evidence), Some(Severity::Note));
    }
}
