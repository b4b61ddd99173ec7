//! Checks of what else uses the machine: other programs, other virtual machines, memory.

use super::check::{ALL, CheckResult, HostCheck, HostEvidence};

/// CPU time of other programs, as a share of all CPUs: limits for a note and for a warning. They are a tenth
/// and a half of the 5 % difference that a comparison should be able to detect.
const BUSY_NOTE: f64 = 0.005;
const BUSY_WARN: f64 = 0.025;

/// The same limits for CPU steal. They are lower because steal comes in bursts, which averaging does not remove.
const STEAL_NOTE: f64 = 0.001;
const STEAL_WARN: f64 = 0.01;

/// With less available memory than this share of the total, the kernel evicts the page cache during a trial.
const MEMORY_WARN: f64 = 0.1;

pub(super) const CHECKS: &[HostCheck] = &[
    HostCheck {
        id: "load",
        why: "other programs take CPU time from server and client: the interval of a ratio gets wider, and absolute values are those of a busy machine",
        check: load,
    },
    HostCheck {
        id: "steal",
        why: "while the hypervisor runs other virtual machines, this one stands still for milliseconds at a time",
        check: steal,
    },
    HostCheck {
        id: "memory",
        why: "a machine that is short of memory evicts the page cache, on which many servers depend",
        check: memory,
    },
    HostCheck {
        id: "swap",
        why: "access to a page in swap space takes a disk read instead of 100 ns",
        check: swap,
    },
];

/// CPU time in these states, as a share of all CPUs. None where the kernel's times of CPUs cannot be read.
fn share(evidence: &HostEvidence, states: &[&str]) -> Option<f64> {
    let mean = |state: &&str| evidence.idle.mean(&format!("cpu.{state}"), ALL);
    let cores: Vec<f64> = states.iter().filter_map(mean).collect();
    let online = evidence.facts.cpu.online;
    (online > 0 && !cores.is_empty()).then(|| cores.iter().sum::<f64>() / online as f64)
}

fn load(evidence: &HostEvidence) -> Option<CheckResult> {
    let busy = share(evidence, &["user", "nice", "system", "irq", "softirq"])?;
    // Clocks of CPUs are read one after the other, so that a sum may be a little above what there is.
    let found = format!("the CPUs are {:.1} % busy without any load from showdown", busy.min(1.0) * 100.0);
    let remedy = "stop the other programs (find them with top), or wait until they have finished";
    Some(match busy {
        busy if busy >= BUSY_WARN => CheckResult::warn(found).remedy(remedy),
        busy if busy >= BUSY_NOTE => CheckResult::note(found).remedy(remedy),
        _ => CheckResult::ok(found),
    })
}

fn steal(evidence: &HostEvidence) -> Option<CheckResult> {
    let stolen = share(evidence, &["steal"])?;
    let found = format!("CPU steal is {:.2} % of the CPUs' time", stolen * 100.0);
    let remedy = "use a dedicated host or bare metal, or measure when the other virtual machines are idle";
    Some(match stolen {
        stolen if stolen >= STEAL_WARN => CheckResult::warn(found).remedy(remedy),
        stolen if stolen >= STEAL_NOTE => CheckResult::note(found).remedy(remedy),
        _ => CheckResult::ok(found),
    })
}

fn memory(evidence: &HostEvidence) -> Option<CheckResult> {
    let available = evidence.idle.mean("memory.available", ALL)?;
    let total = evidence.facts.memory.total_bytes as f64;
    let found = format!("{:.1} of {:.1} GiB of memory are available", available / GIB, total / GIB);
    Some(if available < total * MEMORY_WARN {
        CheckResult::warn(found).remedy("stop the programs that use the memory (top, then M, sorts by it)")
    } else {
        CheckResult::ok(found)
    })
}

const GIB: f64 = (1_u64 << 30) as f64;
const MIB: f64 = (1_u64 << 20) as f64;

fn swap(evidence: &HostEvidence) -> Option<CheckResult> {
    let used = evidence.idle.max("swap.used", ALL)?;
    let moving =
        ["swap.in", "swap.out"].iter().filter_map(|name| evidence.idle.max(name, ALL)).sum::<f64>() > 0.0;
    Some(match (moving, used > 0.0) {
        (true, _) => CheckResult::warn("the kernel is swapping now")
            .remedy("stop programs to free memory, then run sudo swapoff -a"),
        (false, true) => CheckResult::note(format!("{:.0} MiB are in swap space", used / MIB))
            .remedy("move them back into memory: sudo swapoff -a && sudo swapon -a"),
        (false, false) => CheckResult::ok("swap space is empty"),
    })
}

#[cfg(test)]
mod tests {
    use super::super::Severity;
    use super::super::tests::{level, recorded};
    use super::*;

    /// A machine with two CPUs and this telemetry.
    fn with_telemetry(values: &[(&str, f64)]) -> HostEvidence {
        let mut evidence = HostEvidence { idle: recorded(values), ..HostEvidence::default() };
        evidence.facts.cpu.online = 2;
        evidence.facts.memory.total_bytes = 8 << 30;
        evidence
    }

    #[test]
    fn load_of_other_programs_has_two_limits() {
        assert_eq!(
            level("load", &with_telemetry(&[("cpu.user", 0.002), ("cpu.idle", 1.99)])),
            Some(Severity::Ok)
        );
        assert_eq!(
            level("load", &with_telemetry(&[("cpu.user", 0.01), ("cpu.system", 0.01)])),
            Some(Severity::Note)
        );
        assert_eq!(level("load", &with_telemetry(&[("cpu.user", 1.0)])), Some(Severity::Warn));
        assert_eq!(level("load", &HostEvidence::default()), None, "no telemetry, no finding");
        assert_eq!(
            level("load", &with_telemetry(&[("memory.available", 1.0)])),
            None,
            "nor without times of CPUs"
        );
    }

    #[test]
    fn steal_has_two_limits() {
        assert_eq!(level("steal", &with_telemetry(&[("cpu.steal", 0.0)])), Some(Severity::Ok));
        assert_eq!(level("steal", &with_telemetry(&[("cpu.steal", 0.01)])), Some(Severity::Note));
        assert_eq!(level("steal", &with_telemetry(&[("cpu.steal", 0.1)])), Some(Severity::Warn));
    }

    #[test]
    fn little_memory_and_swapping_are_warnings() {
        assert_eq!(level("memory", &with_telemetry(&[("memory.available", 4.0 * GIB)])), Some(Severity::Ok));
        assert_eq!(
            level("memory", &with_telemetry(&[("memory.available", 0.5 * GIB)])),
            Some(Severity::Warn)
        );
        assert_eq!(
            level("swap", &with_telemetry(&[("swap.used", 0.0), ("swap.in", 0.0)])),
            Some(Severity::Ok)
        );
        assert_eq!(
            level("swap", &with_telemetry(&[("swap.used", 5.0 * MIB), ("swap.in", 0.0)])),
            Some(Severity::Note)
        );
        assert_eq!(
            level("swap", &with_telemetry(&[("swap.used", 5.0 * MIB), ("swap.out", 4096.0)])),
            Some(Severity::Warn)
        );
    }
}
