//! Hosts that run on one kernel: one machine by several names, or containers of one.

use std::collections::BTreeMap;

/// The name of the machine on which showdown was started, among those of hosts.
pub const THIS_MACHINE: &str = "this machine";

/// A sentence for each kernel on which several of these machines run. Each has its name and the ID of its kernel's boot.
pub fn on_one_kernel<'h>(machines: impl IntoIterator<Item = (&'h str, &'h str)>) -> Vec<String> {
    let mut by_boot: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, boot) in machines {
        by_boot.entry(boot).or_default().push(name);
    }
    let shared = by_boot.into_values().filter(|names| names.len() > 1);
    shared
        .map(|names| {
            format!(
                "{} run on one kernel: they are one machine, or containers of one, and share its CPUs",
                names.join(", ")
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_kernel_are_in_one_sentence() {
        let machines = [(THIS_MACHINE, "a"), ("self", "a"), ("far", "b")];
        assert_eq!(
            on_one_kernel(machines),
            [
                "this machine, self run on one kernel: they are one machine, or containers of one, and share its CPUs"
            ]
        );
        assert!(on_one_kernel(machines.into_iter().skip(1)).is_empty());
    }
}
