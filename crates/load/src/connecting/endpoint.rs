//! Where a single request outside of a load goes, and its blocking connection: probes and statistics go where the load goes.

use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use socket2::{Domain, SockAddr, Socket, Type};

use super::unix_socket::UnixSocket;

/// An address with a port, or a socket of the file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// TCP.
    Tcp(SocketAddr),
    /// A socket of the file system.
    Unix(UnixSocket),
}

impl Endpoint {
    /// Whether nobody else reads what is sent: on loopback, or without a network.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Tcp(address) => address.ip().to_canonical().is_loopback(),
            Self::Unix(_) => true,
        }
    }

    /// Connects. Reads and writes take `timeout` at most, each.
    pub fn connect(&self, timeout: Duration) -> io::Result<Socket> {
        let socket = match self {
            Self::Tcp(address) => {
                let socket = Socket::new(Domain::for_address(*address), Type::STREAM, None)?;
                socket.connect_timeout(&(*address).into(), timeout)?;
                socket
            }
            Self::Unix(unix) => {
                // The descriptor stays open until the connection stands.
                let (address, _open) = unix.address()?;
                let path = address.path().ok_or(io::ErrorKind::InvalidInput)?;
                let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
                let path = OsStr::from_bytes(path.to_bytes());
                socket.connect_timeout(&SockAddr::unix(path)?, timeout)?;
                socket
            }
        };
        socket.set_read_timeout(Some(timeout))?;
        socket.set_write_timeout(Some(timeout))?;
        Ok(socket)
    }
}

/// A connection on loopback is accepted at once or not at all.
const LOOPBACK: Duration = Duration::from_millis(100);

/// Where a port of loopback is open instead, if it is open on the other loopback address only: `localhost` may be either.
pub fn other_loopback(address: SocketAddr) -> Option<SocketAddr> {
    let other = match address.ip() {
        IpAddr::V4(Ipv4Addr::LOCALHOST) => IpAddr::V6(Ipv6Addr::LOCALHOST),
        IpAddr::V6(Ipv6Addr::LOCALHOST) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        _ => return None,
    };
    let other = SocketAddr::new(other, address.port());
    let is_open = |address: SocketAddr| Endpoint::Tcp(address).connect(LOOPBACK).is_ok();
    (!is_open(address) && is_open(other)).then_some(other)
}

impl From<SocketAddr> for Endpoint {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(address)
    }
}

/// As it stands in messages.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(unix) => unix.path().display().fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_server_on_the_other_loopback_address_is_found() -> io::Result<()> {
        let Ok(listener) = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)) else { return Ok(()) };
        let there = listener.local_addr()?;
        let here = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), there.port());
        assert_eq!((other_loopback(here), other_loopback(there)), (Some(there), None));
        drop(listener);
        assert_eq!(other_loopback(here), None);
        assert_eq!(other_loopback(([192, 0, 2, 1], 80).into()), None, "it is no loopback address");
        Ok(())
    }
}
