//! The machines of a plan: those that its variants name, from the hosts file.

use std::collections::BTreeSet;

use archive::model::{Plan, PlannedHost, Variant};
use machine::HostEntry;
use workload::{VariantText, names_host, on_host};

use crate::plan_error::PlanError;

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

/// The entries of the machines that these variants and clients name.
pub fn used(
    known: &[HostEntry],
    variants: &[Variant],
    clients: &[String],
) -> Result<Vec<PlannedHost>, PlanError> {
    let of_variants = variants.iter().filter_map(|variant| variant.host.as_ref());
    let named: BTreeSet<&String> = of_variants.chain(clients).collect();
    let unknown = |name: &&&String| known.iter().all(|host| host.name != ***name);
    if let Some(name) = named.iter().find(unknown) {
        return Err(unknown_host(name, known.iter().map(|host| host.name.as_str())));
    }
    Ok(known.iter().filter(|host| named.contains(&host.name)).map(HostEntry::planned).collect())
}

/// Checks the machines of a plan, which somebody else may have written.
pub fn check(plan: &Plan) -> Result<(), PlanError> {
    for (at, host) in plan.hosts.iter().enumerate() {
        HostEntry::of_plan(host)?.check_private()?;
        if plan.hosts[..at].iter().any(|earlier| earlier.name == host.name) {
            return Err(PlanError::HostTwice(host.name.clone()));
        }
    }
    let named = plan.variants.iter().filter_map(|variant| variant.host.as_ref());
    for name in named.chain(&plan.clients) {
        if plan.hosts.iter().all(|host| host.name != *name) {
            return Err(unknown_host(name, plan.hosts.iter().map(|host| host.name.as_str())));
        }
    }
    check_clients(plan)
}

/// All hosts of a plan.
pub fn entries(plan: &Plan) -> Result<Vec<HostEntry>, PlanError> {
    plan.hosts.iter().map(|host| HostEntry::of_plan(host).map_err(PlanError::from)).collect()
}

/// The hosts that make the load, in their order.
pub fn clients(plan: &Plan) -> Result<Vec<HostEntry>, PlanError> {
    let of_name = |name: &String| plan.hosts.iter().find(|host| host.name == *name);
    let hosts = plan.clients.iter().filter_map(of_name);
    hosts.map(|host| HostEntry::of_plan(host).map_err(PlanError::from)).collect()
}

/// Whether the clients can share the load, and can reach all servers.
fn check_clients(plan: &Plan) -> Result<(), PlanError> {
    for (at, name) in plan.clients.iter().enumerate() {
        if plan.clients[..at].contains(name) {
            return Err(PlanError::ClientTwice(name.clone()));
        }
    }
    let is_elsewhere = |host: &&HostEntry| host.ssh.is_some() || !host.address.is_loopback();
    let clients = clients(plan)?;
    let on_loopback = |variant: &&Variant| {
        let entry = plan.host_of(variant).and_then(|host| HostEntry::of_plan(host).ok());
        entry.is_none_or(|entry| entry.address.is_loopback())
    };
    match (clients.iter().find(is_elsewhere), plan.variants.iter().find(on_loopback)) {
        (Some(client), Some(variant)) => {
            Err(PlanError::OutOfReach { client: client.name.clone(), variant: variant.name.clone() })
        }
        _ => Ok(()),
    }
}

fn unknown_host<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> PlanError {
    let known: Vec<&str> = known.collect();
    let known = if known.is_empty() { String::new() } else { format!(" (known: {})", known.join(", ")) };
    PlanError::UnknownHost { name: name.to_owned(), known }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests::PLAN;

    fn entry(name: &str, address: &str) -> HostEntry {
        let (ssh, address) = (Some(format!("ops@{name}")), address.to_owned());
        let planned =
            PlannedHost { name: name.to_owned(), ssh, address, kind: None, cpus: None, become_root: None };
        HostEntry::of_plan(&planned).expect("a good entry")
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
        assert_eq!(clients(&plan).expect("entries").len(), 2);
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
