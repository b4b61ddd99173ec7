//! Whether a server can be added to a backend: its name, its address, and that it accepts connections. What the balancer itself must be like
//! is checked in [`super::refusals`].

use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::client::Haproxy;
use super::refusals::Refusal;
use crate::balancer::interface::{Balancer, NewServer, ServerReading};
use crate::observation::ServerState;

/// How long a server may take to accept a connection.
const CONNECT_LIMIT: Duration = Duration::from_secs(2);

/// Checks that a server can be added: its name is free, no other server takes traffic at its address, and it accepts connections.
pub fn check_new(balancer: &mut Haproxy, server: &NewServer) -> Result<(), Refusal> {
    let readings = balancer.read()?;
    check_place(balancer.backend().as_str(), &readings, server)?;
    match TcpStream::connect_timeout(&server.address, CONNECT_LIMIT) {
        Ok(_) => Ok(()),
        Err(error) => Err(Refusal::CandidateDown {
            server: server.name.to_string(),
            address: server.address,
            reason: error.to_string(),
        }),
    }
}

fn check_place(backend: &str, readings: &[ServerReading], new: &NewServer) -> Result<(), Refusal> {
    let (backend, server) = (backend.to_owned(), new.name.to_string());
    if let Some(existing) = readings.iter().find(|other| other.name == server) {
        return Err(Refusal::Exists { backend, server, weight: existing.weight });
    }
    match readings.iter().find(|other| takes_traffic_at(other, new.address)) {
        Some(other) => {
            let (address, other) = (new.address, other.name.clone());
            Err(Refusal::AddressTaken { server, address, backend, other })
        }
        None => Ok(()),
    }
}

fn takes_traffic_at(other: &ServerReading, address: SocketAddr) -> bool {
    let Ok(there) = other.address.parse::<SocketAddr>() else { return false };
    let is_there = (there.ip().to_canonical(), there.port()) == (address.ip().to_canonical(), address.port());
    is_there && other.weight > 0 && other.state != ServerState::Maintenance
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(name: &str, address: &str, weight: u32, state: ServerState) -> ServerReading {
        let (name, address) = (name.to_owned(), address.to_owned());
        ServerReading { name, address, weight, initial_weight: 1, state, administration: 0, has_agent: false }
    }

    fn new(name: &str, address: &str) -> NewServer {
        NewServer {
            name: name.parse().unwrap(),
            address: address.parse().unwrap(),
            check: None,
            sends_proxy_header: false,
            most_connections: None,
        }
    }

    #[test]
    fn a_new_server_has_a_name_and_an_address_of_its_own() {
        let readings = [
            reading("old1", "10.0.0.1:80", 64, ServerState::Up),
            reading("off", "10.0.0.2:80", 64, ServerState::Maintenance),
            reading("empty", "10.0.0.3:80", 0, ServerState::Up),
        ];
        for address in ["10.0.0.1:81", "10.0.0.2:80", "10.0.0.3:80"] {
            assert!(check_place("b", &readings, &new("candidate", address)).is_ok(), "{address}");
        }
        for address in ["10.0.0.1:80", "[::ffff:10.0.0.1]:80"] {
            let refusal = check_place("b", &readings, &new("control", address)).unwrap_err().to_string();
            assert!(refusal.contains("where b/old1 takes traffic: start control at an"), "{refusal}");
        }
        let refusal = check_place("b", &readings, &new("off", "10.0.0.9:80")).unwrap_err().to_string();
        assert!(refusal.contains("has a server off already, with weight 64"), "{refusal}");
    }
}
