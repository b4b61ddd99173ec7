//! A port of an agent that is open for measurements from other hosts. Which hosts measure, and what follows from it, is left to
//! [`network_path`](crate::network_path) and [`survey`](crate::survey).

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use crate::agent::measure_network;
use crate::connection::Connection;
use crate::error::MachineError;
use crate::protocol::{CallError, CloseProbe, Connect, MeasureNetwork, NetworkPath, OpenProbe, system_text};

/// How long an agent may take to open or close a port, or to find that there is no way.
const SHORT: Duration = Duration::from_secs(30);
/// How long a measurement may take beside its throughputs: connections, round trips.
const BESIDE: Duration = Duration::from_mins(1);
/// Throughputs of a measurement.
const THROUGHPUTS: u32 = 4;

/// How much is measured of a network.
#[derive(Debug, Clone, Copy)]
pub struct MeasurementSize {
    /// The most round trips.
    pub round_trips: u32,
    /// How long each throughput is measured.
    pub each: Duration,
}

/// A port that is open on a host.
pub struct OpenPort<'c> {
    there: &'c Connection,
    to: SocketAddr,
    token: String,
}

impl<'c> OpenPort<'c> {
    /// Opens a port at an address of this host. It is open until [`close`](Self::close), or until the agent ends.
    pub fn on(there: &'c Connection, address: IpAddr) -> Result<Self, MachineError> {
        let token = format!("{:032x}", rand::random::<u128>());
        let port = there.call(OpenProbe { address, token: token.clone() }, SHORT)?.port;
        Ok(Self { there, to: SocketAddr::new(address, port), token })
    }

    /// Its number.
    pub fn number(&self) -> u16 {
        self.to.port()
    }

    /// Whether a connection from this address of another host reaches it.
    pub fn reach(&self, from: &Connection, address: IpAddr) -> Result<(), MachineError> {
        from.call(self.connect(address), SHORT)
    }

    /// Measures the network from this address of another host.
    pub fn measure(
        &self,
        from: &Connection,
        address: IpAddr,
        size: MeasurementSize,
    ) -> Result<NetworkPath, MachineError> {
        from.call(self.measurement(address, size), BESIDE + size.each * THROUGHPUTS * 2)
    }

    /// Measures the network from this machine.
    pub fn measure_from_here(&self, size: MeasurementSize) -> Result<NetworkPath, MachineError> {
        own_address_towards(self.to)
            .map_err(|error| CallError::Broken { why: system_text(&error) })
            .and_then(|from| measure_network(&self.measurement(from, size)))
            .map_err(|source| MachineError::Call { host: "this machine".to_owned(), source })
    }

    /// Closes all ports of its host.
    pub fn close(self) -> Result<(), MachineError> {
        self.there.call(CloseProbe {}, SHORT)
    }

    fn connect(&self, from: IpAddr) -> Connect {
        Connect { from, to: self.to, token: self.token.clone() }
    }

    fn measurement(&self, from: IpAddr, size: MeasurementSize) -> MeasureNetwork {
        let MeasurementSize { round_trips, each } = size;
        MeasureNetwork { connect: self.connect(from), round_trips, each }
    }
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
    fn packets_to_loopback_leave_from_it() {
        let address = own_address_towards(([127, 0, 0, 1], 9).into()).expect("an address");
        assert!(address.is_loopback());
    }
}
