//! A port of an agent that is open for measurements from other hosts. Which hosts measure, and what follows from it, is left to
//! [`network_path`](crate::network::network_path) and [`survey`](crate::survey).

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use load::clock::Nanos;

use crate::agent::{measure_network, measure_throughput};
use crate::connection::Connection;
use crate::errors::machine::MachineError;
use crate::protocol::throughput_span::ThroughputSpan;
use crate::protocol::{
    Call, CallError, CloseProbe, Connect, MeasureNetwork, MeasureThroughput, NetworkPath, OpenProbe, Way,
    system_text,
};

/// How long an agent may take to open or close a port, or to find that there is no way.
const LONGEST_OPENING: Duration = Duration::from_secs(30);
/// How long a measurement may take beside its throughputs: connections, round trips, slow starts.
const MARGIN: Duration = Duration::from_mins(1);
/// Throughputs of the measurement of a network.
const THROUGHPUTS: u32 = 4;

/// Who connects to an open port.
#[derive(Clone, Copy)]
pub enum Prober<'a> {
    /// This machine.
    Here,
    /// The agent of another host, from one of its addresses.
    There(&'a Connection, IpAddr),
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
        let port = there.call(OpenProbe { address, token: token.clone() }, LONGEST_OPENING)?.port;
        Ok(Self { there, to: SocketAddr::new(address, port), token })
    }

    /// Its number.
    pub fn number(&self) -> u16 {
        self.to.port()
    }

    /// Whether a connection from this address of another host reaches it.
    pub fn reach(&self, from: &Connection, address: IpAddr) -> Result<(), MachineError> {
        from.call(self.connect(address), LONGEST_OPENING)
    }

    /// Measures the network. Bytes are counted for this long at least for each of its throughputs.
    pub fn measure(&self, from: Prober<'_>, each: Duration) -> Result<NetworkPath, MachineError> {
        let call = |connect| MeasureNetwork { connect, each };
        self.ask(from, MARGIN + each * THROUGHPUTS * 2, call, measure_network)
    }

    /// Measures a throughput that begins at a moment of the clock of the connecting side, in bytes a second.
    pub fn throughput(
        &self,
        from: Prober<'_>,
        way: Way,
        streams: u32,
        begin: Nanos,
        span: ThroughputSpan,
    ) -> Result<f64, MachineError> {
        let call = |connect| MeasureThroughput { connect, way, streams, begin, span };
        self.ask(from, MARGIN + span.whole() * 2, call, measure_throughput)
    }

    /// Closes all ports of its host.
    pub fn close(self) -> Result<(), MachineError> {
        self.there.call(CloseProbe {}, LONGEST_OPENING)
    }

    fn connect(&self, from: IpAddr) -> Connect {
        Connect { from, to: self.to, token: self.token.clone() }
    }

    /// Asks the connecting side, which may be this process.
    fn ask<C: Call>(
        &self,
        from: Prober<'_>,
        longest: Duration,
        call: impl FnOnce(Connect) -> C,
        here: impl FnOnce(&C) -> Result<C::Answer, CallError>,
    ) -> Result<C::Answer, MachineError> {
        match from {
            Prober::There(connection, address) => connection.call(call(self.connect(address)), longest),
            Prober::Here => own_address_towards(self.to)
                .map_err(|error| CallError::Broken { why: system_text(&error) })
                .and_then(|address| here(&call(self.connect(address))))
                .map_err(|source| MachineError::Call { host: "this machine".to_owned(), source }),
        }
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
