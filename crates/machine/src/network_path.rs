//! The network between a client and a server of a run: what it carries, measured before the trials. Whether a trial needed that
//! much is left to the gates of a run. For a table of all hosts, see [`survey`](crate::survey).

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use crate::agent::measure_network;
use crate::error::MachineError;
use crate::protocol::{CallError, CloseProbe, Connect, MeasureNetwork, NetworkPath, OpenProbe, system_text};
use crate::remote::RemoteMachine;

/// How long an agent may take to open or close a port.
const SHORT: Duration = Duration::from_secs(30);
/// How long a measurement may take beside its throughputs.
const BESIDE: Duration = Duration::from_mins(1);
/// The number of throughputs that are measured.
const THROUGHPUTS: u32 = 4;

/// What a network carries between a client and a server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PathCapacity {
    /// Median round trip, microseconds.
    pub round_trip_us: f64,
    /// From the server to the client, bytes a second.
    pub to_client_bytes_per_s: f64,
    /// From the client to the server, bytes a second.
    pub to_server_bytes_per_s: f64,
}

impl PathCapacity {
    /// Of a path that was measured from the client.
    fn from_client(path: &NetworkPath) -> Self {
        Self {
            round_trip_us: path.median_us,
            to_client_bytes_per_s: path.one_stream_back_bytes_per_s.max(path.eight_streams_back_bytes_per_s),
            to_server_bytes_per_s: path.one_stream_bytes_per_s.max(path.eight_streams_bytes_per_s),
        }
    }

    fn reversed(self) -> Self {
        Self {
            to_client_bytes_per_s: self.to_server_bytes_per_s,
            to_server_bytes_per_s: self.to_client_bytes_per_s,
            ..self
        }
    }
}

/// Measures the path between a client and a server; none stands for this machine. Each of its throughputs takes this long. One
/// of the two must be another machine.
pub fn measure_path(
    client: Option<&RemoteMachine>,
    server: Option<&RemoteMachine>,
    each: Duration,
) -> Result<PathCapacity, MachineError> {
    match (client, server) {
        (from, Some(to)) => measured(from, to, each).map(|path| PathCapacity::from_client(&path)),
        (Some(to), None) => measured(None, to, each).map(|path| PathCapacity::from_client(&path).reversed()),
        (None, None) => unreachable!("no network is between a machine and itself"),
    }
}

fn measured(
    from: Option<&RemoteMachine>,
    to: &RemoteMachine,
    each: Duration,
) -> Result<NetworkPath, MachineError> {
    let there = to.connection();
    let token = format!("{:032x}", rand::random::<u128>());
    let port = there.call(OpenProbe { address: to.address(), token: token.clone() }, SHORT)?.port;
    let to_port = SocketAddr::new(to.address(), port);
    let result = match from {
        Some(from) => {
            let connect = Connect { from: from.address(), to: to_port, token };
            from.connection().call(MeasureNetwork { connect, each }, BESIDE + each * THROUGHPUTS * 2)
        }
        None => own_address_towards(to_port)
            .map_err(|error| CallError::Broken { why: system_text(&error) })
            .and_then(|from| {
                measure_network(&MeasureNetwork { connect: Connect { from, to: to_port, token }, each })
            })
            .map_err(|source| MachineError::Call { host: "this machine".to_owned(), source }),
    };
    there.call(CloseProbe {}, SHORT)?;
    result
}

/// The address of this machine from which packets to another one leave. Nothing is sent.
fn own_address_towards(to: SocketAddr) -> io::Result<IpAddr> {
    let any: IpAddr = if to.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(to)?;
    Ok(socket.local_addr()?.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_directions_are_those_of_client_and_server() {
        let path = NetworkPath {
            round_trips: 200,
            median_us: 80.0,
            p99_us: 120.0,
            one_stream_bytes_per_s: 1e8,
            one_stream_back_bytes_per_s: 3e8,
            eight_streams_bytes_per_s: 2e8,
            eight_streams_back_bytes_per_s: 2.5e8,
        };
        let from_client = PathCapacity::from_client(&path);
        let expected =
            PathCapacity { round_trip_us: 80.0, to_client_bytes_per_s: 3e8, to_server_bytes_per_s: 2e8 };
        assert_eq!(from_client, expected);
        assert_eq!(from_client.reversed().reversed(), expected);
        assert!((from_client.reversed().to_client_bytes_per_s - 2e8).abs() < 1.0);
    }

    #[test]
    fn packets_to_loopback_leave_from_it() {
        let address = own_address_towards(([127, 0, 0, 1], 9).into()).expect("an address");
        assert!(address.is_loopback());
    }
}
