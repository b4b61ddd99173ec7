//! Measures the networks between the clients and the servers of a run, before its trials. Whether one was the limit of a trial is
//! left to the gate.

use std::collections::BTreeMap;
use std::time::Duration;

use archive::model::{Measure, Plan};
use load::inputs::slo::Slo;
use machine::{HostEntry, MachineError, measure_path, measure_together};

use crate::event::{Event, Observer};
use crate::machines::network_paths::{Ends, HostName, NetworkPaths, between, between_all, named_host};
use crate::machines::open::OtherMachines;
use crate::plan::check::CheckedPlan;
use crate::plan::hosts::CheckedHosts;
use crate::plan::kind_assignment;

/// How long the bytes of one throughput are counted. On a far network it is longer.
const EACH: Duration = Duration::from_millis(200);
/// All throughputs together take about this long at most, beside what far networks need. Clients that are measured together have a
/// second before each, to begin at one instant.
const LONGEST: Duration = Duration::from_secs(30);
/// Throughputs of a measurement.
const THROUGHPUTS: u32 = 4;

/// The network takes longer than the objective permits.
#[derive(Debug, thiserror::Error)]
#[error(
    "a round trip between client {client} and {server} takes {round_trip_ms:.1} ms, so no rate can meet {slo}: take a nearer \
     client, or an objective for this network, such as --slo 'p99<{enough_ms}ms'"
)]
pub struct TooFar {
    /// The client.
    client: String,
    /// The host of the server.
    server: String,
    /// A round trip between them.
    round_trip_ms: f64,
    /// The objective.
    slo: String,
    /// An objective that leaves the server as much time.
    enough_ms: f64,
}

/// Measures the networks of a run: each client's path to each server, one after the other, and then all paths to a server at the
/// same time. What cannot be measured is told and left out: the trials need other ports.
pub fn measure_networks(
    checked: &CheckedPlan<'_>,
    others: &OtherMachines,
    observe: &mut Observer<'_>,
) -> Result<NetworkPaths, MachineError> {
    let ends = ends(checked.plan, &checked.hosts);
    let shared = shared(&ends);
    let measurements = (ends.len() + shared.len()) as u32;
    let each = EACH.min(LONGEST / THROUGHPUTS / measurements.max(1));
    let machine = |name: &HostName| name.as_ref().and_then(|name| others.get(name));
    let mut paths = NetworkPaths::default();
    for (client, server) in ends {
        let between = between(client.as_deref(), server.as_deref());
        let measured = told(between, observe, || measure_path(machine(&client), machine(&server), each))?;
        paths.of_pairs.extend(measured.map(|path| ((client, server), path)));
    }
    for (server, clients) in shared {
        let between = between_all(server.as_deref());
        let clients: Vec<_> = clients.iter().map(machine).collect();
        let round_trip = longest_round_trip(&paths, &server);
        let measure = || measure_together(&clients, machine(&server), round_trip, each);
        let measured = told(between, observe, measure)?;
        paths.of_servers.extend(measured.map(|throughput| (server, throughput)));
    }
    Ok(paths)
}

/// The longest round trip between a server and its clients, as far as they could be measured.
fn longest_round_trip(paths: &NetworkPaths, server: &HostName) -> Duration {
    let to_server = paths.of_pairs.iter().filter(|((_, other), _)| other == server);
    let longest_us = to_server.map(|(_, path)| path.round_trip_us).fold(0.0, f64::max);
    Duration::from_secs_f64(longest_us / 1e6)
}

/// Measures a network and tells it; none where it cannot be measured.
fn told<T>(
    between: String,
    observe: &mut Observer<'_>,
    measure: impl FnOnce() -> Result<T, MachineError>,
) -> Result<Option<T>, MachineError> {
    observe(Event::Doing { what: format!("measuring the network between {between}") });
    match measure() {
        Ok(measured) => Ok(Some(measured)),
        Err(MachineError::Interrupted) => Err(MachineError::Interrupted),
        Err(error) => {
            observe(Event::NetworkNotMeasured { between, why: error.to_string() });
            Ok(None)
        }
    }
}

/// An objective that the round trip alone exceeds is met at no rate: it is better to say so than to try rates for minutes.
pub fn check_objective(
    measure: &Measure,
    objective: Option<&Slo>,
    paths: &NetworkPaths,
) -> Result<(), TooFar> {
    let Measure::Capacity { slo } = measure else { return Ok(()) };
    let Some(limit_us) = objective.and_then(Slo::latency_limit_us) else { return Ok(()) };
    let farthest = paths.of_pairs.iter().max_by(|(_, a), (_, b)| a.round_trip_us.total_cmp(&b.round_trip_us));
    match farthest {
        Some(((client, server), path)) if path.round_trip_us >= limit_us => Err(TooFar {
            client: named_host(client.as_deref()).to_owned(),
            server: named_host(server.as_deref()).to_owned(),
            round_trip_ms: path.round_trip_us / 1e3,
            slo: slo.clone(),
            enough_ms: ((path.round_trip_us + limit_us) / 1e3).ceil(),
        }),
        _ => Ok(()),
    }
}

/// Every client with every server on another machine.
fn ends(plan: &Plan, hosts: &CheckedHosts) -> Vec<Ends> {
    let elsewhere = |host: &HostEntry| host.ssh.is_some().then(|| host.name.clone());
    let mut clients: Vec<HostName> = hosts.clients().map(elsewhere).collect();
    if clients.is_empty() {
        clients.push(None);
    }
    let mut servers: Vec<HostName> = Vec::new();
    for variant in &plan.variants {
        let machines = kind_assignment::machines(plan, variant);
        let names = machines.iter().map(|host| host.ssh.is_some().then(|| host.name.clone()));
        servers.extend(names.chain(machines.is_empty().then_some(None)));
    }
    servers.sort();
    servers.dedup();
    let of_client = |client: &HostName| {
        let others = servers.iter().filter(|server| *server != client);
        others.map(|server| (client.clone(), server.clone())).collect::<Vec<_>>()
    };
    clients.iter().flat_map(of_client).collect()
}

/// The servers with several clients on other machines, and these clients.
fn shared(ends: &[Ends]) -> BTreeMap<HostName, Vec<HostName>> {
    let mut of_servers: BTreeMap<HostName, Vec<HostName>> = BTreeMap::new();
    for (client, server) in ends {
        of_servers.entry(server.clone()).or_default().push(client.clone());
    }
    of_servers.retain(|_, clients| clients.len() > 1);
    of_servers
}

#[cfg(test)]
mod tests {
    use machine::{PathCapacity, Throughput};

    use super::*;
    use crate::plan::check::objective;
    use crate::plan::error::PlanError;
    use crate::testing::plan::{PLAN, planned_host};

    #[test]
    fn an_objective_below_the_round_trip_is_refused_with_one_that_is_not() {
        let throughput = Throughput { to_clients: 1e9, to_server: 1e9 };
        let path = |round_trip_us| PathCapacity { round_trip_us, throughput };
        let ends = |client: &str| (Some(client.to_owned()), Some("a".to_owned()));
        let of_pairs = [(ends("near"), path(80.0)), (ends("far"), path(102_300.0))].into();
        let paths = NetworkPaths { of_pairs, ..NetworkPaths::default() };
        let check = |measure: &Measure| {
            check_objective(measure, objective(measure).expect("an objective").as_ref(), &paths)
        };
        let capacity = |slo: &str| Measure::Capacity { slo: slo.to_owned() };
        let refused = check(&capacity("p99<5ms")).expect_err("5 ms are not enough").to_string();
        assert_eq!(
            refused,
            "a round trip between client far and a takes 102.3 ms, so no rate can meet p99<5ms: take a nearer client, or an \
             objective for this network, such as --slo 'p99<108ms'"
        );
        assert!(check(&capacity("p99<108ms")).is_ok());
        assert!(check(&Measure::MaxThroughput).is_ok(), "it has no objective");
    }

    #[test]
    fn each_client_has_a_path_to_each_server_on_another_machine() -> Result<(), PlanError> {
        let mut plan: Plan = PLAN.parse().expect("a plan");
        let ends = |plan: &Plan| Ok::<_, PlanError>(ends(plan, &CheckedHosts::read(plan)?));
        assert_eq!(ends(&plan)?, [], "all on this machine");
        plan.hosts = ["a", "b", "c"].map(|name| planned_host(name, "10.1.0.5")).into();
        plan.variants[0].host = Some("a".to_owned());
        let name = |name: &str| Some(name.to_owned());
        assert_eq!(ends(&plan)?, [(None, name("a"))]);
        plan.clients = vec!["b".to_owned(), "a".to_owned()];
        let both = ends(&plan)?;
        assert_eq!(both, [(name("b"), None), (name("b"), name("a")), (name("a"), None)]);
        assert_eq!(shared(&both), [(None, vec![name("b"), name("a")])].into(), "a has one client elsewhere");
        Ok(())
    }
}
