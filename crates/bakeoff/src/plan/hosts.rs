//! The machines of a plan: those that its variants name, from the hosts file.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

use archive::model::{CpuSplit, Plan, PlannedHost, Variant};
use load::sources::is_of_this_machine;
use machine::HostEntry;
use workload::{VariantText, names_host, on_host};

use crate::plan::error::PlanError;

/// Variants as written, each with a machine where one is given for those that name none.
pub fn on_hosts(variants: &[String], on: Option<&str>) -> Vec<String> {
    let with_host = |text: &String| match on {
        Some(host) if !names_host(text) => on_host(text, host),
        _ => text.clone(),
    };
    variants.iter().map(with_host).collect()
}

/// The machine that each of them names. They have been parsed before.
pub fn names(written: &[String]) -> impl Iterator<Item = Option<String>> {
    written.iter().map(|text| text.parse::<VariantText>().ok().and_then(|text| text.host))
}

/// Whether all variants run on one host of the plan. Two names of one machine are two hosts.
pub fn have_one_host(plan: &Plan) -> bool {
    plan.variants.windows(2).all(|pair| are_on_one_host(plan, &pair[0], &pair[1]))
}

/// Whether the plan has one host for both variants: this machine, or the same behind ssh.
pub fn are_on_one_host(plan: &Plan, a: &Variant, b: &Variant) -> bool {
    let [ssh_of_a, ssh_of_b] = [a, b].map(|variant| plan.host_of(variant).and_then(|host| host.ssh.as_ref()));
    ssh_of_a == ssh_of_b
}

/// The entries of the machines that these variants and clients name.
pub fn used(
    known: &[HostEntry],
    variants: &[Variant],
    clients: &[String],
) -> Result<Vec<PlannedHost>, PlanError> {
    let kinds: BTreeSet<&str> = variants.iter().filter_map(Variant::kind).collect();
    let named: BTreeSet<&String> = named_by(variants, clients).collect();
    let unknown = |name: &&&String| known.iter().all(|host| host.name != ***name);
    if let Some(name) = named.iter().find(unknown) {
        return Err(unknown_host(name, known.iter().map(|host| host.name.as_str())));
    }
    let of_kind = |host: &HostEntry| host.kind.as_deref().is_some_and(|kind| kinds.contains(kind));
    let is_used = |host: &&HostEntry| named.contains(&host.name) || of_kind(host);
    let all: Vec<PlannedHost> = known.iter().map(HostEntry::planned).collect();
    check_kinds(variants, &all, clients)?;
    Ok(known.iter().filter(is_used).map(HostEntry::planned).collect())
}

/// Whether ssh leads to this machine, or to a container with its addresses.
pub fn leads_back(host: &PlannedHost) -> bool {
    host.ssh.is_some() && host.address.parse().is_ok_and(is_of_this_machine)
}

/// Gives the hosts that ssh leads back to this machine CPUs as in a local run: servers and clients have different ones, unless the hosts
/// file says otherwise.
pub fn divide_this_machine(hosts: &mut [PlannedHost], clients: &[String], split: &CpuSplit) {
    for host in hosts.iter_mut().filter(|host| host.cpus.is_none() && leads_back(host)) {
        let of = if clients.contains(&host.name) { &split.client } else { &split.server };
        host.cpus = Some(of.clone());
    }
}

/// The machines that they name, not those of the kinds that they name.
fn named_by<'p>(variants: &'p [Variant], clients: &'p [String]) -> impl Iterator<Item = &'p String> {
    let of_variants = variants.iter().filter(|variant| variant.kind().is_none());
    of_variants.filter_map(|variant| variant.host.as_ref()).chain(clients)
}

/// Whether each kind that variants name has machines beside the clients, all of them elsewhere.
fn check_kinds(variants: &[Variant], hosts: &[PlannedHost], clients: &[String]) -> Result<(), PlanError> {
    for kind in variants.iter().filter_map(Variant::kind) {
        let is_free = |host: &&PlannedHost| !clients.contains(&host.name);
        let of_kind = hosts.iter().filter(|host| host.kind.as_deref() == Some(kind));
        let mut of_kind = of_kind.filter(is_free).peekable();
        if of_kind.peek().is_none() {
            let kinds: BTreeSet<&str> = hosts.iter().filter_map(|host| host.kind.as_deref()).collect();
            return Err(PlanError::UnknownKind { kind: kind.to_owned(), known: known(kinds) });
        }
        if let Some(host) = of_kind.find(|host| host.ssh.is_none()) {
            return Err(PlanError::KindIsHere { kind: kind.to_owned(), host: host.name.clone() });
        }
    }
    Ok(())
}

/// The hosts of a plan, parsed: this file alone reads them, so that a bad one has one answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckedHosts {
    entries: Vec<HostEntry>,
    /// Those that make the load, by their index.
    clients: Vec<usize>,
}

impl CheckedHosts {
    /// Reads the hosts of a plan, which somebody else may have written. Each has a private address and a name of its own.
    pub fn read(plan: &Plan) -> Result<Self, PlanError> {
        let mut entries: Vec<HostEntry> = Vec::new();
        for host in &plan.hosts {
            let entry = HostEntry::of_plan(host)?;
            entry.check_private()?;
            if entries.iter().any(|earlier| earlier.name == entry.name) {
                return Err(PlanError::HostTwice(entry.name));
            }
            entries.push(entry);
        }
        let position = |name: &String| entries.iter().position(|entry| entry.name == *name);
        let clients = plan.clients.iter().filter_map(position).collect();
        Ok(Self { entries, clients })
    }

    /// All of them.
    pub fn all(&self) -> &[HostEntry] {
        &self.entries
    }

    /// The one of this name.
    pub fn get(&self, name: &str) -> Option<&HostEntry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// Those that make the load, in their order.
    pub fn clients(&self) -> impl Iterator<Item = &HostEntry> {
        self.clients.iter().map(|index| &self.entries[*index])
    }

    /// Where the server of the plan's first variant listens: at the address of its host, or at this machine's loopback.
    pub fn address_of_server(&self, plan: &Plan) -> IpAddr {
        let host = plan.variants.first().and_then(|variant| plan.host_of(variant));
        let entry = host.and_then(|host| self.get(&host.name));
        entry.map_or(Ipv4Addr::LOCALHOST.into(), |entry| entry.address)
    }
}

/// Reads the hosts of a plan, and checks that they are those that its variants and clients name.
pub fn check(plan: &Plan) -> Result<CheckedHosts, PlanError> {
    let hosts = CheckedHosts::read(plan)?;
    check_kinds(&plan.variants, &plan.hosts, &plan.clients)?;
    for name in named_by(&plan.variants, &plan.clients) {
        if plan.hosts.iter().all(|host| host.name != *name) {
            return Err(unknown_host(name, plan.hosts.iter().map(|host| host.name.as_str())));
        }
    }
    check_clients(plan, &hosts)?;
    Ok(hosts)
}

/// Whether the clients can share the load, and can reach all servers.
fn check_clients(plan: &Plan, hosts: &CheckedHosts) -> Result<(), PlanError> {
    for (at, name) in plan.clients.iter().enumerate() {
        if plan.clients[..at].contains(name) {
            return Err(PlanError::ClientTwice(name.clone()));
        }
    }
    let on_loopback = |variant: &&Variant| {
        let entry = plan.host_of(variant).and_then(|host| hosts.get(&host.name));
        entry.is_none_or(|entry| entry.address.is_loopback())
    };
    let elsewhere = hosts.clients().find(|client| client.is_elsewhere());
    match (elsewhere, plan.variants.iter().find(on_loopback)) {
        (Some(client), Some(variant)) => {
            Err(PlanError::OutOfReach { client: client.name.clone(), variant: variant.name.clone() })
        }
        _ => Ok(()),
    }
}

fn unknown_host<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> PlanError {
    PlanError::UnknownHost { name: name.to_owned(), known: known(names) }
}

fn known<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    if names.is_empty() { String::new() } else { format!(" (known: {})", names.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plan::{PLAN, planned_host};

    fn entry(name: &str, address: &str) -> HostEntry {
        HostEntry::of_plan(&planned_host(name, address)).expect("a good entry")
    }

    #[test]
    fn a_host_that_is_this_machine_shares_its_cpus_with_the_client() {
        let mut hosts = vec![
            planned_host("self", "127.0.0.1"),
            planned_host("load", "127.0.0.1"),
            PlannedHost { cpus: Some("7".to_owned()), ..planned_host("chosen", "127.0.0.1") },
            PlannedHost { ssh: None, ..planned_host("here", "127.0.0.1") },
            planned_host("far", "192.0.2.1"),
        ];
        let split = CpuSplit { server: "0".to_owned(), client: "1".to_owned() };
        divide_this_machine(&mut hosts, &["load".to_owned()], &split);
        let cpus: Vec<Option<&str>> = hosts.iter().map(|host| host.cpus.as_deref()).collect();
        assert_eq!(cpus, [Some("0"), Some("1"), Some("7"), None, None]);
    }

    #[test]
    fn a_kind_needs_machines_elsewhere() {
        let mut variant = PLAN.parse::<Plan>().expect("a plan").variants[0].clone();
        variant.host = Some("kind:small".to_owned());
        let of_kind = |entry: HostEntry, kind: &str| HostEntry { kind: Some(kind.to_owned()), ..entry };
        let small = of_kind(entry("a", "10.1.0.5"), "small");
        let large = of_kind(entry("b", "10.1.0.6"), "large");
        let names = |known: &[HostEntry]| {
            let used = used(known, std::slice::from_ref(&variant), &[]).map_err(|error| error.to_string())?;
            Ok::<_, String>(used.into_iter().map(|host| host.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&[small.clone(), large.clone()]), Ok(vec!["a".to_owned()]));
        let unknown = "no host beside the clients is of the kind \"small\" (known: large): give the hosts of that kind the key `kind`";
        assert_eq!(names(&[large]), Err(unknown.to_owned()));
        let here = HostEntry { ssh: None, ..small };
        assert!(
            names(&[here]).is_err_and(|error| error.starts_with("host a of the kind \"small\" has no `ssh`"))
        );
    }

    #[test]
    fn a_machine_is_given_to_the_variants_that_name_none() {
        let variants = ["nginx", "nginx@old", "apache:mpm=event"].map(str::to_owned);
        assert_eq!(on_hosts(&variants, None), variants);
        let on = on_hosts(&variants, Some("new"));
        assert_eq!(on, ["nginx@new", "nginx@old", "apache@new:mpm=event"]);
        let found: Vec<Option<String>> = names(&on).collect();
        assert_eq!(found, ["new", "old", "new"].map(|name| Some(name.to_owned())));
    }

    #[test]
    fn an_unknown_machine_is_refused_with_the_known_ones() {
        let mut plan: Plan = PLAN.parse().expect("a plan");
        plan.variants[0].host = Some("oled".to_owned());
        let known = [entry("old", "10.1.0.5"), entry("new", "10.1.0.6")];
        let error = used(&known, &plan.variants, &[]).expect_err("no such host").to_string();
        assert_eq!(error, "there is no host \"oled\" (known: old, new): give a host of the hosts file");
        assert!(check(&plan).is_err(), "nor has the plan");
        plan.variants[0].host = Some("old".to_owned());
        plan.hosts = used(&known, &plan.variants, &[]).expect("it is known");
        assert_eq!(plan.hosts.len(), 1, "only what is used");
        assert!(check(&plan).is_ok());
        plan.hosts[0].address = "192.0.2.7".to_owned();
        assert!(check(&plan).expect_err("it is public").to_string().contains("is a public address"));
    }

    #[test]
    fn clients_are_known_once_and_reach_all_servers() {
        let mut plan: Plan = PLAN.parse().expect("a plan");
        let known = [entry("old", "10.1.0.5"), entry("c1", "10.1.0.6"), entry("c2", "10.1.0.7")];
        plan.clients = ["c1", "c2"].map(str::to_owned).to_vec();
        plan.hosts = used(&known, &plan.variants, &plan.clients).expect("they are known");
        let names = |plan: &Plan| {
            let hosts = CheckedHosts::read(plan).expect("entries");
            hosts.clients().map(|client| client.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(names(&plan), ["c1", "c2"]);
        let refused = |plan: &Plan| check(plan).expect_err("refused").to_string();
        let far = refused(&plan);
        assert!(far.starts_with("client c1 cannot reach ") && far.contains("--on HOST"), "{far}");
        for variant in &mut plan.variants {
            variant.host = Some("old".to_owned());
        }
        plan.hosts = used(&known, &plan.variants, &plan.clients).expect("they are known");
        assert!(check(&plan).is_ok());
        plan.clients.push("c1".to_owned());
        assert_eq!(refused(&plan), "client c1 is named twice: name each once");
        assert!(used(&known, &plan.variants, &["c9".to_owned()]).is_err());
    }
}
