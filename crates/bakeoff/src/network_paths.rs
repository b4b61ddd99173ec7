//! What the networks between the clients and the servers of a run carry. They are measured by
//! [`network_survey`](crate::network_survey).

use std::collections::BTreeMap;

use archive::model::NetworkFacts;
use machine::PathCapacity;

/// Two machines; none stands for this one.
pub type Ends = (Option<String>, Option<String>);

/// What the networks of a run carry, by the names of client and server.
#[derive(Debug, Default)]
pub struct NetworkPaths(pub BTreeMap<Ends, PathCapacity>);

impl NetworkPaths {
    /// That between a client and a server, by the names of their hosts.
    pub fn between(&self, client: Option<&str>, server: Option<&str>) -> Option<PathCapacity> {
        self.0.get(&(client.map(str::to_owned), server.map(str::to_owned))).copied()
    }

    /// For the record.
    pub fn facts(&self) -> Vec<NetworkFacts> {
        let fact = |((client, server), path): (&Ends, &PathCapacity)| NetworkFacts {
            client: client.clone(),
            server: server.clone(),
            round_trip_us: path.round_trip_us,
            to_client_bytes_per_s: path.to_client_bytes_per_s,
            to_server_bytes_per_s: path.to_server_bytes_per_s,
        };
        self.0.iter().map(fact).collect()
    }
}
