//! What machines of the variants differ in: facts that belong beside a comparison of machines, and package versions that
//! `--like-with-like` wants to be the same. Differences of the servers themselves are left to [`fairness`](crate::verdict::fairness).

use std::collections::{BTreeMap, BTreeSet};

use archive::model::{
    Difference, DifferenceClass, Facts, FlatFacts, NetworkFacts, Plan, Variant, VariantFacts,
};

use crate::machines::network_paths::named_host;
use crate::machines::shared_cpus::clients_on_cpus_of;
use crate::machines::shared_kernel::are_on_different_machines;

/// The begins of facts that are the machine itself.
const OF_HARDWARE: &[&str] = &[
    "cpu.model",
    "cpu.online",
    "cpu.smt",
    "cpu.caches",
    "cpu.numa_nodes",
    "machine.architecture",
    "machine.virtualization",
    "memory.total_bytes",
];

/// The begins of facts of its settings, which a comparison of machines must declare, too.
const OF_SETTINGS: &[&str] = &[
    "cpu.microcode",
    "cpu.mitigations.",
    "cpu.idle_",
    "cpu.governor",
    "kernel.release",
    "kernel.version",
    "kernel.command_line",
    "kernel.clocksource",
    "machine.distribution",
    "machine.libc",
    "memory.huge_pages",
    "memory.swap_total_bytes",
    "memory.thp",
    "net.",
    "sysctls.",
];

/// The facts of a server that its packages determine.
const OF_PACKAGES: &[&str] = &["version", "build", "libc", "package"];

/// The facts of a variant's machine; of several machines of a kind, all values of each.
fn facts_of(plan: &Plan, facts: &Facts, variant: &Variant) -> FlatFacts {
    let hosts = plan.hosts_of(variant).filter(|host| host.ssh.is_some());
    let of_hosts: Vec<&FlatFacts> = hosts.filter_map(|host| facts.hosts.get(&host.name)).collect();
    let of_hosts = if of_hosts.is_empty() { vec![&facts.host] } else { of_hosts };
    let keys: BTreeSet<&String> = of_hosts.iter().flat_map(|facts| facts.keys()).collect();
    let values = |key: &String| {
        let distinct: BTreeSet<&str> =
            of_hosts.iter().filter_map(|facts| Some(facts.get(key)?.as_str())).collect();
        distinct.into_iter().collect::<Vec<_>>().join(" or ")
    };
    keys.into_iter().map(|key| (key.clone(), values(key))).collect()
}

/// The facts in which the machines of the variants differ, and first a sentence about all of them; nothing where all run on one
/// machine.
pub fn machine_differences(plan: &Plan, facts: &Facts) -> Vec<Difference> {
    if !are_on_different_machines(plan, facts) {
        return Vec::new();
    }
    let sides: Vec<(&Variant, FlatFacts)> =
        plan.variants.iter().map(|variant| (variant, facts_of(plan, facts, variant))).collect();
    let keys: BTreeSet<&String> = sides.iter().flat_map(|(_, facts)| facts.keys()).collect();
    let (mut hardware, mut others) = (Vec::new(), Vec::new());
    for key in keys {
        let begins_as_one_of = |begins: &[&str]| begins.iter().any(|begin| key.starts_with(begin));
        let is_hardware = begins_as_one_of(OF_HARDWARE);
        if !is_hardware && !begins_as_one_of(OF_SETTINGS) {
            continue;
        }
        let values: BTreeMap<String, String> = sides
            .iter()
            .filter_map(|(variant, facts)| Some((variant.name.clone(), facts.get(key)?.clone())))
            .collect();
        let distinct: BTreeSet<&String> = values.values().collect();
        if distinct.len() < 2 && values.len() == sides.len() {
            continue;
        }
        let (class, remark) = if is_hardware {
            (DifferenceClass::TheVariantItself, "the machines are what is compared")
        } else {
            (
                DifferenceClass::Unexplained,
                "the machines are set up differently: make them alike, or compare this on one machine",
            )
        };
        let list = if is_hardware { &mut hardware } else { &mut others };
        list.push(Difference { key: format!("host.{key}"), values, class, remark: remark.to_owned() });
    }
    others.extend(shared_cpus(plan, facts));
    let mut found = vec![summary(plan, facts, &sides, &others)];
    found.extend(others);
    found.extend(hardware);
    found
}

/// The clients that share CPUs with the servers, where that is not the same for all variants.
fn shared_cpus(plan: &Plan, facts: &Facts) -> Option<Difference> {
    let names = |variant: &Variant| {
        let clients = clients_on_cpus_of(plan, facts, variant).into_iter();
        let names: Vec<&str> = clients.map(named_host).collect();
        if names.is_empty() { "no client".to_owned() } else { names.join(", ") }
    };
    let values: BTreeMap<String, String> =
        plan.variants.iter().map(|variant| (variant.name.clone(), names(variant))).collect();
    let distinct: BTreeSet<&String> = values.values().collect();
    (distinct.len() > 1).then(|| Difference {
        key: "clients on its CPUs".to_owned(),
        values,
        class: DifferenceClass::Unexplained,
        remark: "a client takes CPU time from one server and not from the other: give the clients CPUs of their own, or compare on \
                 one machine"
            .to_owned(),
    })
}

/// What each machine is, and whether the ratio is of the hardware alone.
fn summary(plan: &Plan, facts: &Facts, sides: &[(&Variant, FlatFacts)], others: &[Difference]) -> Difference {
    let what = |variant: &Variant, of_machine: &FlatFacts| {
        let of = |key: &str| of_machine.get(key).map_or("unknown", String::as_str);
        let (model, cpus, kernel) = (of("cpu.model"), of("cpu.online"), of("kernel.release"));
        let round_trips = round_trips(plan, facts, variant).map(|range| format!(", round trip {range}"));
        format!("{model}, {cpus} CPUs, kernel {kernel}{}", round_trips.unwrap_or_default())
    };
    let values = sides.iter().map(|(variant, facts)| (variant.name.clone(), what(variant, facts))).collect();
    let remark = if others.is_empty() {
        "no declared setting differs beside the machines themselves".to_owned()
    } else {
        format!(
            "beside the machines themselves, {} differ: the ratio is of all of it together",
            named(others)
        )
    };
    let class =
        if others.is_empty() { DifferenceClass::TheVariantItself } else { DifferenceClass::Unexplained };
    Difference { key: "host".to_owned(), values, class, remark }
}

/// The round trips between the clients and the machines of a variant, shortest to longest.
fn round_trips(plan: &Plan, facts: &Facts, variant: &Variant) -> Option<String> {
    let is_to = |network: &&NetworkFacts| {
        plan.hosts_of(variant).any(|host| host.ssh.is_some() && network.server.as_ref() == Some(&host.name))
    };
    let of_variant = facts.network.iter().filter(is_to).map(|network| network.round_trip_us.round());
    let (least, most) =
        of_variant.fold((f64::INFINITY, 0.0_f64), |(least, most), us| (least.min(us), most.max(us)));
    match (least.is_finite(), least < most) {
        (false, _) => None,
        (true, false) => Some(format!("{most} µs")),
        (true, true) => Some(format!("{least} to {most} µs")),
    }
}

/// The first of these facts by name, and how many more there are.
fn named(differences: &[Difference]) -> String {
    const MOST: usize = 4;
    let names: Vec<&str> = differences.iter().take(MOST).map(|d| d.key.trim_start_matches("host.")).collect();
    match differences.len().checked_sub(MOST) {
        Some(more @ 1..) => format!("{} and {more} more", names.join(", ")),
        _ => names.join(", "),
    }
}

/// Why two variants of one server are not alike: the packages of their machines differ. None while only one of them is known.
pub fn unlike(plan: &Plan, facts: &Facts) -> Option<String> {
    let known = |variant: &Variant| facts.variants.iter().find(|known| known.name == variant.name);
    let pairs = plan.variants.iter().enumerate().flat_map(|(at, a)| {
        plan.variants[at + 1..].iter().filter(|b| b.server == a.server).map(move |b| (a, b))
    });
    pairs.filter_map(|(a, b)| Some((known(a)?, known(b)?))).find_map(|(a, b)| {
        let key = OF_PACKAGES.iter().find(|key| value(a, key) != value(b, key))?;
        let shown = |of: &VariantFacts| value(of, key).unwrap_or_else(|| "none".to_owned());
        Some(format!(
            "{} and {} are not alike: {key} is {} and {}: install the same packages on both, or leave out --like-with-like",
            a.name,
            b.name,
            shown(a),
            shown(b)
        ))
    })
}

fn value(of: &VariantFacts, key: &str) -> Option<String> {
    of.flat().get(key).map(|text| text.lines().next().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plan::{PLAN, planned_host};

    fn plan() -> Plan {
        let mut plan: Plan = PLAN.parse().expect("a plan");
        for (variant, name) in plan.variants.iter_mut().zip(["old", "new"]) {
            (variant.server, variant.host) = ("nginx".to_owned(), Some(name.to_owned()));
            plan.hosts.push(planned_host(name, "10.1.0.5"));
        }
        plan
    }

    fn facts(old: &[(&str, &str)], new: &[(&str, &str)]) -> Facts {
        let flat = |of: &[(&str, &str)]| of.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let hosts = [("old".to_owned(), flat(old)), ("new".to_owned(), flat(new))];
        Facts { hosts: hosts.into(), ..Facts::default() }
    }

    #[test]
    fn what_differs_beside_the_machines_is_in_one_sentence() {
        let (a, b) = (
            [("cpu.model", "T2"), ("kernel.release", "5.10")],
            [("cpu.model", "X9"), ("kernel.release", "6.1")],
        );
        let found = machine_differences(&plan(), &facts(&a, &b));
        let [summary, kernel, model] = &found[..] else { panic!("{found:?}") };
        assert_eq!(
            summary.remark,
            "beside the machines themselves, kernel.release differ: the ratio is of all of it together"
        );
        assert_eq!(
            (kernel.key.as_str(), kernel.class),
            ("host.kernel.release", DifferenceClass::Unexplained)
        );
        assert_eq!((model.key.as_str(), model.class), ("host.cpu.model", DifferenceClass::TheVariantItself));
        let found = machine_differences(&plan(), &facts(&[a[0], b[1]], &b));
        assert_eq!(found[0].class, DifferenceClass::TheVariantItself, "only the model differs");
        let mut on_one = plan();
        on_one.variants[1].host = Some("old".to_owned());
        assert!(machine_differences(&on_one, &facts(&a, &b)).is_empty());
    }

    #[test]
    fn a_client_in_a_container_beside_one_server_is_named() {
        let kernel = [("kernel.boot_id", "a")];
        let mut facts = facts(&kernel, &kernel);
        facts.hosts.insert("load".to_owned(), facts.hosts["old"].clone());
        let mut plan = plan();
        plan.clients = vec!["load".to_owned()];
        plan.hosts.push(planned_host("load", "10.1.0.9"));
        for (host, cpus) in plan.hosts.iter_mut().zip(["0", "1", "0"]) {
            host.cpus = Some(cpus.to_owned());
        }
        let found = machine_differences(&plan, &facts);
        let [summary, shared] = &found[..] else { panic!("{found:?}") };
        assert_eq!(
            summary.remark,
            "beside the machines themselves, clients on its CPUs differ: the ratio is of all of it together"
        );
        let of = |at: usize| shared.values[&plan.variants[at].name].as_str();
        assert_eq!((of(0), of(1)), ("load", "no client"));
        plan.hosts[2].cpus = Some("2".to_owned());
        assert_eq!(machine_differences(&plan, &facts).len(), 1, "the client has a CPU of its own");
    }

    #[test]
    fn machines_are_shown_with_their_round_trips() {
        let to = |server: &str, round_trip_us| NetworkFacts {
            server: Some(server.to_owned()),
            round_trip_us,
            ..NetworkFacts::default()
        };
        let network = vec![to("old", 412.4), to("new", 80.0), to("old", 90.0)];
        let facts = Facts { network, ..facts(&[("cpu.model", "T2")], &[("cpu.model", "X9")]) };
        let shown: Vec<String> = machine_differences(&plan(), &facts)[0].values.values().cloned().collect();
        assert!(shown.iter().any(|text| text.ends_with(", round trip 90 to 412 µs")), "{shown:?}");
        assert!(shown.iter().any(|text| text.ends_with(", round trip 80 µs")), "{shown:?}");
    }

    #[test]
    fn other_packages_are_unlike_once_both_are_known() {
        let plan = plan();
        let variant = |at: usize, version: &str| VariantFacts {
            name: plan.variants[at].name.clone(),
            version: version.to_owned(),
            ..VariantFacts::default()
        };
        let with = |variants: Vec<VariantFacts>| Facts { variants, ..Facts::default() };
        assert_eq!(unlike(&plan, &with(vec![variant(0, "1.22")])), None);
        assert_eq!(unlike(&plan, &with(vec![variant(0, "1.22"), variant(1, "1.22")])), None);
        let why = unlike(&plan, &with(vec![variant(0, "1.22"), variant(1, "1.26")])).expect("they differ");
        assert!(why.contains("are not alike: version is 1.22 and 1.26: install the same packages"), "{why}");
    }
}
