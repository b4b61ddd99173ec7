//! Questions about the processors: how many, how fast, how evenly.

use super::{ALL, Evidence, Found, Rule};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "cpus",
        why: "server and client each need CPUs of their own, or they measure each other",
        look: cpus,
    },
    Rule {
        id: "quota",
        why: "a quota stops all threads at once when it is used up, which shows as long response times",
        look: quota,
    },
    Rule {
        id: "governor",
        why: "a governor that saves energy changes the frequency in the middle of a trial",
        look: governor,
    },
    Rule {
        id: "turbo",
        why: "with turbo the frequency depends on heat and on how many cores are busy",
        look: turbo,
    },
    Rule {
        id: "smt",
        why: "two threads of a core share it, so a CPU's speed depends on what its sibling does",
        look: smt,
    },
    Rule {
        id: "throttling",
        why: "a core that gets too hot is slowed down, so later trials are slower than earlier ones",
        look: throttling,
    },
    Rule {
        id: "clocksource",
        why: "every reading of a slow clock is a system call or worse, in the client and in many servers",
        look: clocksource,
    },
    Rule {
        id: "mitigations",
        why: "mitigations make system calls dearer, and differ between processors, kernels and clouds",
        look: mitigations,
    },
    Rule {
        id: "numa",
        why: "memory of another node is slower, and pages that move between nodes cost time",
        look: numa,
    },
];

fn cpus(evidence: &Evidence) -> Option<Found> {
    let found = |count: usize| format!("{count} CPUs ({}) may be used", evidence.allowed_cpus);
    Some(match evidence.allowed_cpus.len() {
        0 => return None,
        1 => Found::warn("only one CPU may be used: server and client share it")
            .mend("use a machine with two or more"),
        count @ 2..=3 => Found::note(found(count)),
        count => Found::ok(found(count)),
    })
}

fn quota(evidence: &Evidence) -> Option<Found> {
    let quota = evidence.facts.cgroup.cpus?;
    let allowed = evidence.allowed_cpus.len();
    Some(if quota < allowed as f64 {
        Found::warn(format!("a control group allows the time of {quota} CPUs, and there are {allowed}"))
            .mend("run outside of the container, or raise its limit (docker run --cpus)")
    } else {
        Found::ok(format!("a control group allows the time of {quota} CPUs"))
    })
}

fn governor(evidence: &Evidence) -> Option<Found> {
    let governors = &evidence.facts.cpu.governors;
    let driver = evidence.facts.cpu.frequency_driver.as_deref().unwrap_or("an unknown driver");
    let list = governors.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    match governors.iter().all(|governor| governor == "performance") {
        _ if governors.is_empty() => None,
        true => Some(Found::ok(format!("{list} with {driver}"))),
        false => Some(
            Found::warn(format!("{list} with {driver}")).mend("sudo cpupower frequency-set -g performance"),
        ),
    }
}

fn turbo(evidence: &Evidence) -> Option<Found> {
    let is_intel =
        evidence.facts.cpu.frequency_driver.as_deref().is_some_and(|driver| driver.starts_with("intel"));
    let file = if is_intel { "1 | sudo tee intel_pstate/no_turbo" } else { "0 | sudo tee cpufreq/boost" };
    Some(if evidence.facts.cpu.turbo? {
        let mend = format!("cd /sys/devices/system/cpu; echo {file} (slower, and steadier)");
        Found::note("turbo is on").mend(mend)
    } else {
        Found::ok("turbo is off")
    })
}

fn smt(evidence: &Evidence) -> Option<Found> {
    Some(if evidence.facts.cpu.smt_active? {
        let (online, cores) = (evidence.facts.cpu.online, evidence.facts.cpu.cores);
        Found::note(format!(
            "{online} CPUs are threads of {cores} cores; a core is given to one side as a whole"
        ))
    } else {
        Found::ok("each CPU is a core")
    })
}

fn throttling(evidence: &Evidence) -> Option<Found> {
    let since_start = evidence.facts.moment.core_throttles?;
    let now = evidence.idle.max("cpu.throttles", ALL).unwrap_or(0.0);
    Some(if now > 0.0 {
        Found::warn("cores are being slowed down because of heat").mend("cool the machine, or wait")
    } else if since_start > 0 {
        Found::note(format!("cores were slowed down {since_start} times because of heat since the start"))
    } else {
        Found::ok("no core was ever slowed down because of heat")
    })
}

fn clocksource(evidence: &Evidence) -> Option<Found> {
    let clock = evidence.facts.kernel.clocksource.as_deref()?;
    Some(match clock {
        "tsc" | "arch_sys_counter" => Found::ok(clock),
        // Paravirtual clocks are read without a system call too (vDSO), in twice the time.
        "kvm-clock" | "hyperv_clocksource_tsc_page" => {
            Found::note(clock).mend("boot with clocksource=tsc, if the TSC is stable here")
        }
        slow => Found::warn(slow).mend(
            "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource, \
             unless the kernel's log says that it is unstable",
        ),
    })
}

fn mitigations(evidence: &Evidence) -> Option<Found> {
    let all = &evidence.facts.cpu.mitigations;
    let of_state = |begin: &str| -> Vec<&str> {
        all.iter().filter(|(_, state)| state.starts_with(begin)).map(|(name, _)| name.as_str()).collect()
    };
    let (active, open) = (of_state("Mitigation"), of_state("Vulnerable"));
    let mut parts = Vec::new();
    if !active.is_empty() {
        parts.push(format!("mitigated: {}", active.join(", ")));
    }
    if !open.is_empty() {
        parts.push(format!("vulnerable: {}", open.join(", ")));
    }
    match (all.is_empty(), parts.is_empty()) {
        (true, _) => None,
        (false, true) => Some(Found::ok("this processor needs none")),
        (false, false) => Some(Found::note(parts.join("; "))),
    }
}

fn numa(evidence: &Evidence) -> Option<Found> {
    let nodes = evidence.facts.cpu.numa_nodes;
    let balancing = evidence.facts.sysctls.get("kernel.numa_balancing").is_some_and(|value| value != "0");
    match (nodes, balancing) {
        (0 | 1, _) => None,
        (_, true) => Some(
            Found::note(format!("{nodes} nodes, and pages move between them"))
                .mend("sudo sysctl -w kernel.numa_balancing=0"),
        ),
        (_, false) => Some(Found::ok(format!("{nodes} nodes, and pages stay where they are"))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{level, recorded};
    use super::super::{Level, examine};
    use super::*;

    #[test]
    fn one_cpu_is_too_few_and_two_are_few() {
        let with =
            |text: &str| Evidence { allowed_cpus: text.parse().expect("a list"), ..Evidence::default() };
        assert_eq!(level("cpus", &with("0")), Some(Level::Warn));
        assert_eq!(level("cpus", &with("0-1")), Some(Level::Note));
        assert_eq!(level("cpus", &with("0-7")), Some(Level::Ok));
    }

    #[test]
    fn a_quota_below_the_cpus_is_a_warning() {
        let mut evidence = Evidence { allowed_cpus: (0..4).collect(), ..Evidence::default() };
        assert_eq!(level("quota", &evidence), None);
        evidence.facts.cgroup.cpus = Some(4.0);
        assert_eq!(level("quota", &evidence), Some(Level::Ok));
        evidence.facts.cgroup.cpus = Some(1.5);
        assert_eq!(level("quota", &evidence), Some(Level::Warn));
    }

    #[test]
    fn any_governor_but_performance_is_a_warning_with_the_command() {
        let mut evidence = Evidence::default();
        assert_eq!(level("governor", &evidence), None, "a virtual machine shows none");
        evidence.facts.cpu.governors = ["performance".to_owned()].into();
        assert_eq!(level("governor", &evidence), Some(Level::Ok));
        evidence.facts.cpu.governors.insert("schedutil".into());
        let finding = examine(&evidence).into_iter().find(|f| f.id == "governor").expect("it is found");
        assert_eq!(finding.level, Level::Warn);
        assert!(finding.mend.is_some_and(|mend| mend.contains("cpupower")));
    }

    #[test]
    fn turbo_and_smt_are_notes() {
        let mut evidence = Evidence::default();
        (evidence.facts.cpu.turbo, evidence.facts.cpu.smt_active) = (Some(true), Some(true));
        assert_eq!(level("turbo", &evidence), Some(Level::Note));
        assert_eq!(level("smt", &evidence), Some(Level::Note));
        (evidence.facts.cpu.turbo, evidence.facts.cpu.smt_active) = (Some(false), Some(false));
        assert_eq!(level("turbo", &evidence), Some(Level::Ok));
        assert_eq!(level("smt", &evidence), Some(Level::Ok));
    }

    #[test]
    fn heat_now_is_worse_than_heat_once() {
        let mut evidence = Evidence::default();
        evidence.facts.moment.core_throttles = Some(0);
        assert_eq!(level("throttling", &evidence), Some(Level::Ok));
        evidence.facts.moment.core_throttles = Some(3);
        assert_eq!(level("throttling", &evidence), Some(Level::Note));
        evidence.idle = recorded(&[("cpu.throttles", 0.5)]);
        assert_eq!(level("throttling", &evidence), Some(Level::Warn));
    }

    #[test]
    fn clocks_by_their_price() {
        for (clock, expected) in [("tsc", Level::Ok), ("kvm-clock", Level::Note), ("acpi_pm", Level::Warn)] {
            let mut evidence = Evidence::default();
            evidence.facts.kernel.clocksource = Some(clock.into());
            assert_eq!(level("clocksource", &evidence), Some(expected), "{clock}");
        }
    }

    #[test]
    fn mitigations_are_named() {
        let mut evidence = Evidence::default();
        evidence.facts.cpu.mitigations.insert("meltdown".into(), "Not affected".into());
        assert_eq!(level("mitigations", &evidence), Some(Level::Ok));
        evidence.facts.cpu.mitigations.insert("spectre_v2".into(), "Mitigation: IBRS".into());
        evidence.facts.cpu.mitigations.insert("mds".into(), "Vulnerable".into());
        let finding = examine(&evidence).into_iter().find(|f| f.id == "mitigations").expect("it is found");
        assert_eq!(finding.found, "mitigated: spectre_v2; vulnerable: mds");
    }

    #[test]
    fn pages_that_move_are_a_note_where_they_can() {
        let mut evidence = Evidence::default();
        evidence.facts.sysctls.insert("kernel.numa_balancing".into(), "1".into());
        evidence.facts.cpu.numa_nodes = 1;
        assert_eq!(level("numa", &evidence), None);
        evidence.facts.cpu.numa_nodes = 2;
        assert_eq!(level("numa", &evidence), Some(Level::Note));
    }
}
