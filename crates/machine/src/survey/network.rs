//! The network between each two hosts, measured by their agents.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::thread;
use std::time::Duration;

use super::pairs::rounds;
use super::report::NetworkReport;
use crate::connection::Connection;
use crate::errors::machine::MachineError;
use crate::mutex::locked;
use crate::network::open_port::{OpenPort, Prober};
use crate::protocol::{CallError, ConnectFailure, NetworkPath};

/// A host that is reachable.
pub(super) struct Node<'a> {
    pub name: &'a str,
    pub address: IpAddr,
    pub connection: &'a Connection,
}

/// The networks of all pairs, and the hosts that were lost meanwhile with their errors.
pub(super) struct Measured {
    pub paths: Vec<NetworkReport>,
    pub lost: BTreeMap<String, String>,
}

/// Measures between all hosts. The bytes of each throughput are counted for this long at least.
pub(super) fn measure(
    nodes: &[Node<'_>],
    each: Duration,
    observe: &(dyn Fn(&str, &str) + Sync),
) -> Result<Measured, MachineError> {
    let lost: Mutex<BTreeMap<String, String>> = Mutex::default();
    let is_lost = |node: &Node<'_>| locked(&lost).contains_key(node.name);
    let mut paths = Vec::new();
    for round in rounds(nodes.len()) {
        let of_round: Result<Vec<_>, MachineError> = thread::scope(|scope| {
            let pairs = round.iter().map(|(a, b)| (&nodes[*a], &nodes[*b]));
            let pairs = pairs.filter(|(a, b)| !is_lost(a) && !is_lost(b));
            let threads: Vec<_> = pairs
                .map(|(a, b)| {
                    observe(a.name, b.name);
                    scope.spawn(move || measure_pair(a, b, each))
                })
                .collect();
            let results = threads.into_iter().map(|thread| thread.join().expect("a pair does not panic"));
            let mut reports = Vec::new();
            for result in results {
                match result {
                    Ok(report) => reports.push(report),
                    Err(MachineError::Interrupted) => return Err(MachineError::Interrupted),
                    Err(error) => {
                        if let Some(host) = error.host() {
                            locked(&lost).insert(host.to_owned(), error.to_string());
                        }
                    }
                }
            }
            Ok(reports)
        });
        paths.extend(of_round?);
    }
    let place = |name: &str| nodes.iter().position(|node| node.name == name);
    paths.sort_by_key(|path: &NetworkReport| (place(&path.from), place(&path.to)));
    Ok(Measured { paths, lost: lost.into_inner().unwrap_or_else(PoisonError::into_inner) })
}

/// Measures between two hosts, from the first to the second where that is possible.
fn measure_pair(a: &Node<'_>, b: &Node<'_>, each: Duration) -> Result<NetworkReport, MachineError> {
    let mut problems = Vec::new();
    let mut path = None;
    let ways = [(a, b), (b, a)];
    for (from, to) in ways {
        let port = match OpenPort::on(to.connection, to.address) {
            Ok(port) => port,
            // Its own examination has said that it cannot listen there.
            Err(MachineError::Call { .. }) => continue,
            Err(error) => return Err(error),
        };
        let result = match &path {
            None => port
                .measure(Prober::There(from.connection, from.address), each)
                .map(|measured| path = Some((from.name, to.name, measured))),
            Some(_) => port.reach(from.connection, from.address),
        };
        let number = port.number();
        port.close()?;
        match result {
            Ok(()) => {}
            Err(MachineError::Call { source, .. }) => problems.push(blocked(from, to, number, &source)),
            Err(error) => return Err(error),
        }
    }
    let (from, to, measured) = match path {
        Some((from, to, measured)) => (from, to, Some::<NetworkPath>(measured)),
        None => (a.name, b.name, None),
    };
    Ok(NetworkReport { from: from.to_owned(), to: to.to_owned(), path: measured, problems })
}

/// One line: what is blocked, from where to where, and what to open.
fn blocked(from: &Node<'_>, to: &Node<'_>, port: u16, error: &CallError) -> String {
    let way = format!("{} cannot reach {} at {} port {port}", from.name, to.name, to.address);
    let open = format!(
        "allow TCP from {} to {}, ports 10000 and above, in the firewalls between them",
        from.address, to.address
    );
    match error {
        CallError::Connect { failure, why } => match failure {
            ConnectFailure::TimedOut => format!("{way} (no answer): {open}"),
            ConnectFailure::Refused => format!("{way} (refused): {open}"),
            ConnectFailure::NoRoute | ConnectFailure::Other => {
                format!("{way} ({why}): check the routes of {}, or {open}", from.name)
            }
            ConnectFailure::Source => format!("{way} ({why}): correct its address in the hosts file"),
        },
        other => format!("{way} ({other}): check the network between them"),
    }
}
