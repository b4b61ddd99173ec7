//! What the networks between the clients and the servers of a run carry, and how much of it a trial used. They are measured by
//! [`network_survey`](crate::machines::network_survey); whether one was the limit is left to the gate.

use std::collections::BTreeMap;

use archive::model::{NetworkFacts, SharedNetworkFacts};
use machine::{PathCapacity, Throughput};

/// The name of a host; none stands for this machine.
pub type HostName = Option<String>;

/// A client and a server.
pub type Ends = (HostName, HostName);

/// What a trial used of a network.
#[derive(Debug, Clone, PartialEq)]
pub struct NetworkUse {
    /// Its ends, for messages.
    pub between: String,
    /// What the client, or all of them, received.
    pub to_clients: DirectionUse,
    /// What it, or all of them, sent.
    pub to_server: DirectionUse,
    /// Share of the segments of the server's machine that were sent again; none where the kernel does not count.
    pub retransmits: Option<f64>,
}

/// One direction of a network, bytes a second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DirectionUse {
    /// What was moved under load.
    pub moved_bytes_per_s: f64,
    /// What the network carried before the trials.
    pub capacity_bytes_per_s: f64,
}

/// What the networks of a run carry.
#[derive(Debug, Default)]
pub struct NetworkPaths {
    /// Between a client and a server.
    pub of_pairs: BTreeMap<Ends, PathCapacity>,
    /// Between a server and all clients on other machines at the same time, where these are several.
    pub of_servers: BTreeMap<HostName, Throughput>,
}

impl NetworkPaths {
    /// What these clients used of the networks to a server. Each of them moved as much, and of the segments of the server's machine
    /// this share was sent again.
    pub fn used(
        &self,
        clients: &[Option<&str>],
        server: Option<&str>,
        moved: Throughput,
        retransmits: Option<f64>,
    ) -> Vec<NetworkUse> {
        let host = |name: Option<&str>| name.map(str::to_owned);
        let elsewhere = clients.iter().filter(|client| **client != server);
        let shared = self.of_servers.get(&host(server)).map(|capacity| {
            let all = elsewhere.clone().count() as f64;
            let moved = Throughput { to_clients: moved.to_clients * all, to_server: moved.to_server * all };
            network_use(between_all(server), moved, *capacity, retransmits)
        });
        let own = elsewhere.filter_map(|client| {
            let path = self.of_pairs.get(&(host(*client), host(server)))?;
            Some(network_use(between(*client, server), moved, path.throughput, retransmits))
        });
        own.chain(shared).collect()
    }

    /// For the record.
    pub fn facts(&self) -> Vec<NetworkFacts> {
        let fact = |((client, server), path): (&Ends, &PathCapacity)| NetworkFacts {
            client: client.clone(),
            server: server.clone(),
            round_trip_us: path.round_trip_us,
            to_client_bytes_per_s: path.throughput.to_clients,
            to_server_bytes_per_s: path.throughput.to_server,
        };
        self.of_pairs.iter().map(fact).collect()
    }

    /// What several clients share, for the record.
    pub fn shared_facts(&self) -> Vec<SharedNetworkFacts> {
        let fact = |(server, throughput): (&HostName, &Throughput)| SharedNetworkFacts {
            server: server.clone(),
            to_clients_bytes_per_s: throughput.to_clients,
            to_server_bytes_per_s: throughput.to_server,
        };
        self.of_servers.iter().map(fact).collect()
    }
}

/// How messages name a host.
pub fn named_host(host: Option<&str>) -> &str {
    host.unwrap_or("this machine")
}

/// How messages name the network between two hosts.
pub fn between(client: Option<&str>, server: Option<&str>) -> String {
    format!("{} and {}", named_host(client), named_host(server))
}

/// How messages name the network between all clients and a server.
pub fn between_all(server: Option<&str>) -> String {
    format!("the clients and {}", named_host(server))
}

fn network_use(
    between: String,
    moved: Throughput,
    capacity: Throughput,
    retransmits: Option<f64>,
) -> NetworkUse {
    NetworkUse {
        between,
        to_clients: DirectionUse {
            moved_bytes_per_s: moved.to_clients,
            capacity_bytes_per_s: capacity.to_clients,
        },
        to_server: DirectionUse {
            moved_bytes_per_s: moved.to_server,
            capacity_bytes_per_s: capacity.to_server,
        },
        retransmits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_has_its_path_and_all_share_the_one_of_the_server() {
        let host = |name: &str| Some(name.to_owned());
        let throughput = |to_clients| Throughput { to_clients, to_server: 1e8 };
        let path = PathCapacity { round_trip_us: 80.0, throughput: throughput(1.2e8) };
        let paths = NetworkPaths {
            of_pairs: [((host("b"), host("a")), path), ((host("c"), host("a")), path)].into(),
            of_servers: [(host("a"), throughput(1.3e8))].into(),
        };
        let moved = Throughput { to_clients: 6e7, to_server: 1e6 };
        // The client on the server's machine has no network to it.
        let used = paths.used(&[Some("a"), Some("b"), Some("c")], Some("a"), moved, Some(0.001));
        let of = |used: &NetworkUse| {
            let DirectionUse { moved_bytes_per_s, capacity_bytes_per_s } = used.to_clients;
            (used.between.clone(), moved_bytes_per_s, capacity_bytes_per_s, used.retransmits)
        };
        let expected = [
            ("b and a", 6e7, 1.2e8, Some(0.001)),
            ("c and a", 6e7, 1.2e8, Some(0.001)),
            ("the clients and a", 1.2e8, 1.3e8, Some(0.001)),
        ];
        let used: Vec<_> = used.iter().map(of).collect();
        assert_eq!(
            used,
            expected.map(|(between, moved, most, again)| (between.to_owned(), moved, most, again))
        );
        assert!(paths.used(&[None], Some("new"), moved, None).is_empty(), "it was not measured");
    }
}
