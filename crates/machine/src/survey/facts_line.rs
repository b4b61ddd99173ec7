//! The facts of a host in one line.

use host::facts::HostFacts;

/// Processors, memory, kernel, distribution and hypervisor.
pub(super) fn facts_line(facts: &HostFacts) -> String {
    let HostFacts { cpu, memory, kernel, machine, .. } = facts;
    let model = cpu.model.as_deref().map(|model| model.split_whitespace().collect::<Vec<_>>().join(" "));
    let cores = match (cpu.cores, cpu.online) {
        (cores, online) if cores == online => count(cores, "core"),
        (cores, online) => format!("{} ({online} CPUs)", count(cores, "core")),
    };
    let memory = format!("{:.1} GiB", memory.total_bytes as f64 / f64::from(1 << 30));
    let kernel = kernel.release.as_ref().map(|release| format!("Linux {release}"));
    let inside = machine.container.as_ref().map(|container| format!("in {container}"));
    [
        Some(model.unwrap_or_else(|| machine.architecture.clone())),
        Some(cores),
        Some(memory),
        kernel,
        machine.distribution.clone(),
        machine.virtualization.clone().or_else(|| Some("no hypervisor".to_owned())),
        inside,
    ]
    .into_iter()
    .flatten()
    .collect::<Vec<_>>()
    .join(", ")
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_has_what_one_asks_first() {
        let mut facts = HostFacts::default();
        facts.cpu.model = Some("AMD  EPYC 7B13".to_owned());
        (facts.cpu.cores, facts.cpu.online) = (16, 32);
        facts.memory.total_bytes = 64 << 30;
        facts.kernel.release = Some("6.1.0-25-amd64".to_owned());
        facts.machine.distribution = Some("Debian GNU/Linux 12 (bookworm)".to_owned());
        let line = facts_line(&facts);
        let of_machine = "AMD EPYC 7B13, 16 cores (32 CPUs), 64.0 GiB, Linux 6.1.0-25-amd64, Debian GNU/Linux 12 (bookworm)";
        assert_eq!(line, format!("{of_machine}, no hypervisor"));
        facts.machine.virtualization = Some("KVM".to_owned());
        facts.machine.container = Some("docker".to_owned());
        assert_eq!(facts_line(&facts), format!("{of_machine}, KVM, in docker"));
    }
}
