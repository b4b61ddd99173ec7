//! The network between the clients and a server of a run: what it carries, measured before the trials. Whether a trial needed that
//! much is left to the gates of a run. For a table of all hosts, see [`survey`](crate::survey).

use std::thread;
use std::time::Duration;

use crate::error::MachineError;
use crate::open_port::{MeasurementSize, OpenPort};
use crate::protocol::{NetworkPath, ROUND_TRIPS};
use crate::remote::RemoteMachine;

/// What a network carries between a client and a server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PathCapacity {
    /// Median round trip, microseconds.
    pub round_trip_us: f64,
    /// Its throughput.
    pub throughput: Throughput,
}

/// Bytes a second between clients and a server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Throughput {
    /// From the server to the clients.
    pub to_clients: f64,
    /// From the clients to the server.
    pub to_server: f64,
}

impl Throughput {
    /// Of paths that were measured from the clients at the same time.
    fn from_clients(paths: &[NetworkPath]) -> Self {
        let sum = |part: fn(&NetworkPath) -> f64| paths.iter().map(part).sum::<f64>();
        Self {
            to_clients: sum(|path| path.one_stream_back_bytes_per_s)
                .max(sum(|path| path.eight_streams_back_bytes_per_s)),
            to_server: sum(|path| path.one_stream_bytes_per_s)
                .max(sum(|path| path.eight_streams_bytes_per_s)),
        }
    }

    fn reversed(self) -> Self {
        Self { to_clients: self.to_server, to_server: self.to_clients }
    }
}

/// Measures the path between a client and a server; none stands for this machine. Each of its throughputs takes this long. One
/// of the two must be another machine.
pub fn measure_path(
    client: Option<&RemoteMachine>,
    server: Option<&RemoteMachine>,
    each: Duration,
) -> Result<PathCapacity, MachineError> {
    let paths = measured(&[client], server, MeasurementSize { round_trips: ROUND_TRIPS, each })?;
    let round_trip_us = paths.iter().map(|path| path.median_us).fold(0.0, f64::max);
    Ok(PathCapacity { round_trip_us, throughput: throughput(&paths, server) })
}

/// Measures what all these clients move to and from a server at the same time. Each of them must be on another machine than the
/// server; none stands for this machine. Each throughput takes this long.
pub fn measure_together(
    clients: &[Option<&RemoteMachine>],
    server: Option<&RemoteMachine>,
    each: Duration,
) -> Result<Throughput, MachineError> {
    let paths = measured(clients, server, MeasurementSize { round_trips: 0, each })?;
    Ok(throughput(&paths, server))
}

/// This machine has no agent that could open a port: where it is the server, it connects to its clients.
fn throughput(paths: &[NetworkPath], server: Option<&RemoteMachine>) -> Throughput {
    let from_clients = Throughput::from_clients(paths);
    if server.is_some() { from_clients } else { from_clients.reversed() }
}

/// Measures from each client to the server, all at the same time; from this machine to each client where it is the server.
fn measured<'m>(
    clients: &[Option<&'m RemoteMachine>],
    server: Option<&'m RemoteMachine>,
    size: MeasurementSize,
) -> Result<Vec<NetworkPath>, MachineError> {
    let way = |client: Option<&'m RemoteMachine>| {
        let (from, to) = match (client, server) {
            (from, Some(to)) => (from, to),
            (Some(to), None) => (None, to),
            (None, None) => unreachable!("no network is between a machine and itself"),
        };
        (from, to.connection(), to.address())
    };
    let ways: Vec<_> = clients.iter().copied().map(way).collect();
    let mut ports = Vec::new();
    let mut measured = Ok(Vec::new());
    for (from, there, address) in &ways {
        match OpenPort::on(there, *address) {
            Ok(port) => ports.push((*from, port)),
            Err(error) => {
                measured = Err(error);
                break;
            }
        }
    }
    if measured.is_ok() {
        measured = thread::scope(|scope| {
            let threads: Vec<_> =
                ports.iter().map(|(from, port)| scope.spawn(move || from_one(*from, port, size))).collect();
            threads.into_iter().map(|thread| thread.join().expect("a path does not panic")).collect()
        });
    }
    let closed: Vec<_> = ports.into_iter().map(|(_, port)| port.close()).collect();
    let measured = measured?;
    closed.into_iter().collect::<Result<(), _>>()?;
    Ok(measured)
}

fn from_one(
    from: Option<&RemoteMachine>,
    port: &OpenPort<'_>,
    size: MeasurementSize,
) -> Result<NetworkPath, MachineError> {
    match from {
        Some(from) => port.measure(&from.connection(), from.address(), size),
        None => port.measure_from_here(size),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(one: f64, one_back: f64, eight: f64, eight_back: f64) -> NetworkPath {
        NetworkPath {
            round_trips: 200,
            median_us: 80.0,
            p99_us: 120.0,
            one_stream_bytes_per_s: one,
            one_stream_back_bytes_per_s: one_back,
            eight_streams_bytes_per_s: eight,
            eight_streams_back_bytes_per_s: eight_back,
        }
    }

    #[test]
    fn the_two_directions_are_those_of_client_and_server() {
        let from_client = Throughput::from_clients(&[path(1e8, 3e8, 2e8, 2.5e8)]);
        assert_eq!(from_client, Throughput { to_clients: 3e8, to_server: 2e8 });
        assert_eq!(from_client.reversed(), Throughput { to_clients: 2e8, to_server: 3e8 });
    }

    #[test]
    fn the_throughput_of_several_clients_is_their_sum_in_one_measurement() {
        // One stream each is the better way back: the best of each client would be of two moments.
        let paths = [path(1e8, 3e8, 2e8, 1e8), path(1e8, 1e8, 2e8, 2e8)];
        assert_eq!(Throughput::from_clients(&paths), Throughput { to_clients: 4e8, to_server: 4e8 });
    }
}
