//! Readiness of a server: the results of a probe, and the TCP probe.

use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// The result of a probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    /// The server answers correctly.
    Ready,
    /// Not ready yet, with the reason.
    NotYet(String),
    /// It cannot become ready, or the user interrupted; with the reason.
    Never(String),
}

/// A loopback address accepts or refuses a connection at once. A connection that hangs found the queue full.
const CONNECT: Duration = Duration::from_millis(250);

/// A probe that reports ready when the address accepts a connection.
///
/// The probe cannot distinguish the server from another process on the same port: find a free one
/// ([`crate::Host::free_ports`]).
pub fn tcp_probe(address: SocketAddr) -> impl FnMut() -> Readiness {
    move || match TcpStream::connect_timeout(&address, CONNECT) {
        Ok(_) => Readiness::Ready,
        Err(error) => Readiness::NotYet(format!("{address} does not accept connections: {error}")),
    }
}
