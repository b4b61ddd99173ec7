//! What has changed since a run began: facts of the host, the client, the workload and the servers. Trials from before and
//! after such a change are not comparable.

use archive::model::{FactChange, Facts, FlatFacts, Resumption, VariantFacts};
use host::facts::differences;

/// Facts that differ after a reboot, by the size of the memory that the kernel finds. They are recorded, and do not
/// keep a run from being resumed.
const OF_A_REBOOT: &[&str] = &[
    "kernel.boot_id",
    "kernel.pid_namespace",
    "memory.total_bytes",
    "sysctls.net.ipv4.tcp_mem",
    "sysctls.fs.file-max",
    "sysctls.kernel.threads-max",
    "sysctls.net.netfilter.nf_conntrack_max",
    "limits.Max pending signals",
    "limits.Max processes",
];

/// The same limits, of a server's process.
const LIMITS_OF_A_REBOOT: &[&str] = &["limits.Max pending signals", "limits.Max processes"];

/// Facts of a server that follow from its program alone.
const OF_THE_PROGRAM: &[&str] = &["version", "build", "libc", "package", "executable", "build_id"];

/// The changes of host, client and workload.
pub fn changes(before: &Facts, now: &Facts) -> Vec<FactChange> {
    let mut changes = of_part("host", &before.host, &now.host);
    for (name, facts) in &now.hosts {
        let before = before.hosts.get(name).cloned().unwrap_or_default();
        changes.extend(of_part(&format!("host {name}"), &before, facts));
    }
    changes.extend(of_part("client", &before.client, &now.client));
    // Earlier versions did not record the files of the workload.
    if !before.workload.is_empty() {
        changes.extend(of_part("workload file", &before.workload, &now.workload));
    }
    changes
}

/// The changes of a server. The points of a sweep may differ in everything that follows from a knob, so there only the
/// program itself is compared.
pub fn variant_changes(before: &VariantFacts, now: &VariantFacts, is_sweep: bool) -> Vec<FactChange> {
    let mut sides = [before.flat(), now.flat()];
    if is_sweep {
        for facts in &mut sides {
            facts.retain(|key, _| OF_THE_PROGRAM.contains(&key.as_str()));
        }
    }
    of_part(&before.name, &sides[0], &sides[1])
}

/// Those that keep a run from being resumed, unless the user accepts them.
pub fn serious(changes: &[FactChange], accepted: &[Resumption]) -> Vec<FactChange> {
    let is_accepted = |change: &FactChange| accepted.iter().any(|earlier| earlier.changes.contains(change));
    let is_serious = |change: &&FactChange| {
        let limit = LIMITS_OF_A_REBOOT.iter().any(|limit| change.fact.ends_with(limit));
        // `host kernel.boot_id`, or `host old kernel.boot_id`.
        let of_host = change.fact.strip_prefix("host ").unwrap_or_default();
        let of_reboot = OF_A_REBOOT.iter().any(|fact| {
            of_host.strip_suffix(fact).is_some_and(|name| name.is_empty() || name.ends_with(' '))
        });
        !limit && !of_reboot && !is_accepted(change)
    };
    changes.iter().filter(is_serious).cloned().collect()
}

/// Changes in one line, for a message.
pub fn in_words(changes: &[FactChange]) -> String {
    /// A longer list is cut: the first ones tell what happened.
    const MOST: usize = 6;
    let or_none = |value: &str| if value.is_empty() { "(none)".to_owned() } else { shortened(value) };
    let one = |change: &FactChange| {
        if change.fact.starts_with("workload file") {
            return format!("{} is not the same", change.fact);
        }
        format!("{} was {}, now {}", change.fact, or_none(&change.was), or_none(&change.is))
    };
    let mut words: Vec<String> = changes.iter().take(MOST).map(one).collect();
    if let Some(more @ 1..) = changes.len().checked_sub(MOST) {
        words.push(format!("{more} more"));
    }
    words.join("; ")
}

/// The first line of a value, cut where it is long.
fn shortened(value: &str) -> String {
    const LONGEST: usize = 60;
    let line = value.lines().next().unwrap_or_default();
    let short: String = line.chars().take(LONGEST).collect();
    if short == value { short } else { format!("{short}…") }
}

/// What differs between the facts of one part, a host or a file: a value that is not there is empty.
pub fn of_facts(before: &FlatFacts, now: &FlatFacts) -> Vec<FactChange> {
    let mut changes = Vec::new();
    for difference in differences(before, now) {
        let (was, is) = (difference.a.unwrap_or_default(), difference.b.unwrap_or_default());
        changes.push(FactChange { fact: difference.key, was, is });
    }
    changes
}

fn of_part(name: &str, before: &FlatFacts, now: &FlatFacts) -> Vec<FactChange> {
    let mut changes = of_facts(before, now);
    for change in &mut changes {
        change.fact = format!("{name} {}", change.fact);
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(release: &str, boot: &str) -> Facts {
        let host = [("kernel.release", release), ("kernel.boot_id", boot)];
        let host = host.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        Facts { host, ..Facts::default() }
    }

    #[test]
    fn a_reboot_is_recorded_and_another_kernel_is_serious() {
        let rebooted = changes(&facts("6.1", "a"), &facts("6.1", "b"));
        assert_eq!((rebooted.len(), serious(&rebooted, &[]).len()), (1, 0));
        let other = changes(&facts("6.1", "a"), &facts("6.12", "b"));
        let found = serious(&other, &[]);
        assert_eq!(in_words(&found), "host kernel.release was 6.1, now 6.12");
        let accepted = Resumption { changes: found, ..Resumption::default() };
        assert!(serious(&other, &[accepted]).is_empty(), "what was accepted once is not asked again");
    }

    #[test]
    fn each_machine_is_compared_with_its_own_facts() {
        let on = |release: &str, boot: &str| {
            let old = facts(release, boot).host;
            Facts { hosts: [("old".to_owned(), old)].into(), ..facts("6.1", "a") }
        };
        assert!(serious(&changes(&on("5.10", "b"), &on("5.10", "c")), &[]).is_empty(), "a reboot");
        let found = serious(&changes(&on("5.10", "b"), &on("6.12", "b")), &[]);
        assert_eq!(in_words(&found), "host old kernel.release was 5.10, now 6.12");
    }

    #[test]
    fn a_changed_file_is_named_without_its_digests() {
        let with = |digest: &str| Facts {
            workload: [("my-api/server.py".to_owned(), digest.to_owned())].into(),
            ..Facts::default()
        };
        let found = changes(&with("aa"), &with("bb"));
        assert_eq!(in_words(&found), "workload file my-api/server.py is not the same");
        assert!(changes(&Facts::default(), &with("bb")).is_empty(), "an earlier version did not record it");
    }

    #[test]
    fn a_server_of_another_version_is_named() {
        let variant = |version: &str| VariantFacts {
            name: "nginx".to_owned(),
            version: version.to_owned(),
            ..VariantFacts::default()
        };
        let found = variant_changes(&variant("1.26"), &variant("1.27"), true);
        assert_eq!(in_words(&found), "nginx version was 1.26, now 1.27");
    }
}
