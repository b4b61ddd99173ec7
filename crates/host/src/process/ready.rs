//! Is it ready? The answers of a probe, and the usual probe.

use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// What a probe found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    /// The server answers as it should.
    Ready,
    /// Not yet, and what was found instead.
    NotYet(String),
    /// It never will, or nobody wants it any more (Ctrl-C); and why.
    Never(String),
}

/// A connection to a loopback address is answered or refused at once; one that hangs has its queue full.
const CONNECT: Duration = Duration::from_millis(250);

/// A probe that is content when the address accepts a connection.
///
/// Check that the port is free before the server is started ([`crate::Host::check_port`]): this cannot
/// tell who accepts.
pub fn tcp_probe(address: SocketAddr) -> impl FnMut() -> Readiness {
    move || match TcpStream::connect_timeout(&address, CONNECT) {
        Ok(_) => Readiness::Ready,
        Err(error) => Readiness::NotYet(format!("{address} does not accept connections: {error}")),
    }
}
