//! How connections of both engines begin, and why they fail. What is sent over them is left to the engines.
//!
//! [`UnixSocket`] is a socket of the file system, [`Endpoint`] the place of a single request outside of a load.

mod endpoint;
pub mod sources;
mod unix_socket;

use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;

use nix::sys::socket::{setsockopt, sockopt::IpBindAddressNoPort};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType, ipproto};

pub use self::endpoint::{Endpoint, other_loopback};
pub use self::unix_socket::{UnixSocket, UnixSocketError};
use crate::record::ErrorKind;
use crate::tls;

/// Why a connection failed: its kind, and an example in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConnectionError {
    pub kind: ErrorKind,
    pub detail: String,
}

impl From<Errno> for ConnectionError {
    fn from(errno: Errno) -> Self {
        Self { kind: errno.into(), detail: std::io::Error::from(errno).to_string() }
    }
}

impl From<rustls::Error> for ConnectionError {
    fn from(error: rustls::Error) -> Self {
        Self { kind: ErrorKind::Tls, detail: tls::describe(&error) }
    }
}

/// Connects to a socket of the file system without waiting: at once, or not at all where its queue is full.
pub(crate) fn connect_to_socket(to: &UnixSocket) -> Result<OwnedFd, ConnectionError> {
    let (address, _open) = to.address().map_err(|error| {
        let detail = format!("{}: {error}", to.path().display());
        ConnectionError { kind: ErrorKind::Refused, detail }
    })?;
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    match net::connect(&socket, &address) {
        Ok(()) => Ok(socket),
        Err(Errno::AGAIN) => {
            let detail = format!("the queue of {} is full", to.path().display());
            Err(ConnectionError { kind: ErrorKind::Refused, detail })
        }
        Err(errno) => Err(errno.into()),
    }
}

/// Begins to connect without waiting. `prepare` sets options before the handshake. Without `from`, the kernel chooses the address.
pub(crate) fn connect(
    to: SocketAddr,
    from: Option<IpAddr>,
    prepare: impl FnOnce(&OwnedFd) -> Result<(), Errno>,
) -> Result<OwnedFd, Errno> {
    let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = net::socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    prepare(&socket)?;
    if let Some(from) = from {
        // The kernel chooses the port at connect, so that several connections can use one local port.
        setsockopt(&socket, IpBindAddressNoPort, &true).map_err(|e| Errno::from_raw_os_error(e as i32))?;
        net::bind(&socket, &SocketAddr::new(from, 0))?;
    }
    match net::connect(&socket, &to) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(errno) => Err(errno),
    }
}
