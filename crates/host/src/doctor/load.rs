//! Questions about what else goes on: others on the CPUs, others on the machine below, memory.

use super::{ALL, Evidence, Found, Rule};

/// Others may take this share of the CPUs before it is worth a word, and before it is a warning: a tenth,
/// and the half, of the five per cent that a comparison should be able to show.
const BUSY_NOTE: f64 = 0.005;
const BUSY_WARN: f64 = 0.025;

/// The same for what the hypervisor takes, which no mean evens out: it comes in stretches.
const STEAL_NOTE: f64 = 0.001;
const STEAL_WARN: f64 = 0.01;

/// Less free memory than this share of all, and the page cache of a trial is not what it would be.
const MEMORY_WARN: f64 = 0.1;

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "load",
        why: "what others do on these CPUs is taken from server and client, and not evenly",
        look: load,
    },
    Rule {
        id: "steal",
        why: "time that the hypervisor gives to other machines is missing here, in stretches of milliseconds",
        look: steal,
    },
    Rule {
        id: "memory",
        why: "a machine that is short of memory drops the page cache that servers live on",
        look: memory,
    },
    Rule {
        id: "swap",
        why: "a page that is in swap space costs a disk access instead of 100 ns",
        look: swap,
    },
];

/// CPU time of this kind, as a share of all CPUs.
fn share(evidence: &Evidence, kinds: &[&str]) -> Option<f64> {
    let cores: f64 = kinds.iter().filter_map(|kind| evidence.idle.mean(&format!("cpu.{kind}"), ALL)).sum();
    let online = evidence.facts.cpu.online;
    (online > 0 && !evidence.idle.samples.is_empty()).then(|| cores / online as f64)
}

fn load(evidence: &Evidence) -> Option<Found> {
    let busy = share(evidence, &["user", "nice", "system", "irq", "softirq"])?;
    let found = format!("{:.1} % of the CPUs are busy while nothing is measured", busy * 100.0);
    let mend = "stop what runs there (top shows it), or wait until it has ended";
    Some(match busy {
        busy if busy >= BUSY_WARN => Found::warn(found).mend(mend),
        busy if busy >= BUSY_NOTE => Found::note(found).mend(mend),
        _ => Found::ok(found),
    })
}

fn steal(evidence: &Evidence) -> Option<Found> {
    let stolen = share(evidence, &["steal"])?;
    let found = format!("{:.2} % of the CPUs' time goes to other machines", stolen * 100.0);
    let mend = "use a machine of your own (dedicated host, bare metal), or measure when its neighbours sleep";
    Some(match stolen {
        stolen if stolen >= STEAL_WARN => Found::warn(found).mend(mend),
        stolen if stolen >= STEAL_NOTE => Found::note(found).mend(mend),
        _ => Found::ok(found),
    })
}

fn memory(evidence: &Evidence) -> Option<Found> {
    let available = evidence.idle.mean("memory.available", ALL)?;
    let total = evidence.facts.memory.total_bytes as f64;
    let found = format!("{:.1} of {:.1} GiB are available", available / GIB, total / GIB);
    Some(if available < total * MEMORY_WARN {
        Found::warn(found).mend("stop what uses the memory (top, then M, shows it)")
    } else {
        Found::ok(found)
    })
}

const GIB: f64 = (1_u64 << 30) as f64;
const MIB: f64 = (1_u64 << 20) as f64;

fn swap(evidence: &Evidence) -> Option<Found> {
    let used = evidence.idle.max("swap.used", ALL)?;
    let moving =
        ["swap.in", "swap.out"].iter().filter_map(|name| evidence.idle.max(name, ALL)).sum::<f64>() > 0.0;
    Some(match (moving, used > 0.0) {
        (true, _) => {
            Found::warn("pages go in and out of swap space now").mend("free memory, then sudo swapoff -a")
        }
        (false, true) => Found::note(format!("{:.0} MiB are in swap space", used / MIB))
            .mend("sudo swapoff -a && sudo swapon -a brings them back"),
        (false, false) => Found::ok("nothing is in swap space"),
    })
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::super::tests::{level, recorded};
    use super::*;

    /// A machine with two CPUs that does this while nothing is asked of it.
    fn doing(values: &[(&str, f64)]) -> Evidence {
        let mut evidence = Evidence { idle: recorded(values), ..Evidence::default() };
        evidence.facts.cpu.online = 2;
        evidence.facts.memory.total_bytes = 8 << 30;
        evidence
    }

    #[test]
    fn others_on_the_cpus() {
        assert_eq!(level("load", &doing(&[("cpu.user", 0.002), ("cpu.idle", 1.99)])), Some(Level::Ok));
        assert_eq!(level("load", &doing(&[("cpu.user", 0.01), ("cpu.system", 0.01)])), Some(Level::Note));
        assert_eq!(level("load", &doing(&[("cpu.user", 1.0)])), Some(Level::Warn));
        assert_eq!(level("load", &Evidence::default()), None, "without telemetry nothing is said");
    }

    #[test]
    fn others_on_the_machine_below() {
        assert_eq!(level("steal", &doing(&[("cpu.steal", 0.0)])), Some(Level::Ok));
        assert_eq!(level("steal", &doing(&[("cpu.steal", 0.01)])), Some(Level::Note));
        assert_eq!(level("steal", &doing(&[("cpu.steal", 0.1)])), Some(Level::Warn));
    }

    #[test]
    fn memory_and_swap() {
        assert_eq!(level("memory", &doing(&[("memory.available", 4.0 * GIB)])), Some(Level::Ok));
        assert_eq!(level("memory", &doing(&[("memory.available", 0.5 * GIB)])), Some(Level::Warn));
        assert_eq!(level("swap", &doing(&[("swap.used", 0.0), ("swap.in", 0.0)])), Some(Level::Ok));
        assert_eq!(level("swap", &doing(&[("swap.used", 5.0 * MIB), ("swap.in", 0.0)])), Some(Level::Note));
        assert_eq!(
            level("swap", &doing(&[("swap.used", 5.0 * MIB), ("swap.out", 4096.0)])),
            Some(Level::Warn)
        );
    }
}
