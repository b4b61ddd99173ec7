//! One socket, in the clear or under TLS, without blocking: connect, send what fits and keep the rest,
//! receive until there is nothing more. Knows no protocol and no clock.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::sys::socket::{setsockopt, sockopt::IpBindAddressNoPort};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, ipproto, sockopt};
use rustls::{ClientConnection, HandshakeKind};

use crate::record::ErrorKind;
use crate::tls::TlsContext;

/// What a link has to say.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Received {
    /// So many bytes lie at the front of the buffer: none, if there is only [`Link::take_secured`] to ask.
    Data(usize),
    /// Nothing for now: wait for the poller.
    Nothing,
    /// The peer has closed in good order.
    Closed,
}

/// Why a link broke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LinkError {
    pub kind: ErrorKind,
    pub detail: String,
}

impl From<Errno> for LinkError {
    fn from(errno: Errno) -> Self {
        let kind = match errno {
            Errno::CONNREFUSED => ErrorKind::Refused,
            Errno::CONNRESET | Errno::PIPE | Errno::CONNABORTED => ErrorKind::Reset,
            Errno::TIMEDOUT => ErrorKind::Timeout,
            Errno::MFILE | Errno::NFILE => ErrorKind::NoDescriptors,
            Errno::ADDRNOTAVAIL | Errno::ADDRINUSE => ErrorKind::NoPorts,
            Errno::HOSTUNREACH | Errno::NETUNREACH => ErrorKind::Unreachable,
            _ => ErrorKind::Io,
        };
        Self { kind, detail: std::io::Error::from(errno).to_string() }
    }
}

impl From<rustls::Error> for LinkError {
    fn from(error: rustls::Error) -> Self {
        Self { kind: ErrorKind::Tls, detail: error.to_string() }
    }
}

#[derive(Debug)]
struct Tls {
    session: ClientConnection,
    /// The end of the handshake has been told.
    secured: bool,
}

impl Tls {
    fn is_newly_secured(&self) -> bool {
        !self.secured && !self.session.is_handshaking()
    }
}

/// A connection's socket.
#[derive(Debug)]
pub(super) struct Link {
    socket: OwnedFd,
    tls: Option<Box<Tls>>,
    /// Bytes for the wire that the socket did not take yet.
    unsent: Vec<u8>,
    /// The kernel may hold bytes that were not read: set by the poller, cleared by a short read.
    readable: bool,
    /// The peer has closed or failed: read until the end of file or the error.
    ended: bool,
}

impl Link {
    /// Begins to connect. The poller reports when it is done; [`Link::connected`] tells how it went.
    pub fn connect(
        to: SocketAddr,
        from: Option<IpAddr>,
        tls: Option<&TlsContext>,
    ) -> Result<Self, LinkError> {
        let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = net::socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
        sockopt::set_tcp_nodelay(&socket, true)?;
        if let Some(from) = from {
            // The port is chosen at connect, so that one local port can serve several sources.
            setsockopt(&socket, IpBindAddressNoPort, &true)
                .map_err(|e| Errno::from_raw_os_error(e as i32))?;
            net::bind(&socket, &SocketAddr::new(from, 0))?;
        }
        match net::connect(&socket, &to) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(errno) => return Err(errno.into()),
        }
        let tls = match tls {
            None => None,
            Some(context) => {
                let session = ClientConnection::new(context.config.clone(), context.name.clone())?;
                Some(Box::new(Tls { session, secured: false }))
            }
        };
        Ok(Self { socket, tls, unsent: Vec::new(), readable: false, ended: false })
    }

    /// The result of connecting, once the poller has reported the socket.
    pub fn connected(&self) -> Result<(), LinkError> {
        Ok(sockopt::socket_error(&self.socket)??)
    }

    /// Whether there is a TLS handshake before the first byte.
    pub fn is_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// The poller has reported the socket.
    pub fn notice(&mut self, ended: bool) {
        self.readable = true;
        self.ended |= ended;
    }

    /// Whether a further [`Link::receive`] may bring something.
    pub fn has_more(&self) -> bool {
        self.readable
    }

    /// Sends, or keeps what the socket does not take for [`Link::flush`]. Empty bytes only move TLS along.
    pub fn send(&mut self, bytes: &[u8]) -> Result<(), LinkError> {
        match &mut self.tls {
            None if self.unsent.is_empty() => {
                let sent = send_some(&self.socket, bytes)?;
                self.unsent.extend_from_slice(&bytes[sent..]);
                Ok(())
            }
            None => {
                self.unsent.extend_from_slice(bytes);
                self.flush()
            }
            Some(tls) => {
                tls.session.writer().write_all(bytes).map_err(|e| broken_tls(&e))?;
                self.flush()
            }
        }
    }

    /// Sends what is kept, as far as the socket takes it.
    pub fn flush(&mut self) -> Result<(), LinkError> {
        if let Some(tls) = &mut self.tls {
            while tls.session.wants_write() {
                tls.session.write_tls(&mut self.unsent).map_err(|e| broken_tls(&e))?;
            }
        }
        if self.unsent.is_empty() {
            return Ok(());
        }
        let sent = send_some(&self.socket, &self.unsent)?;
        self.unsent.drain(..sent);
        if self.unsent.is_empty() {
            // Tens of thousands of connections shall not each keep the memory of one large request.
            self.unsent = Vec::new();
        }
        Ok(())
    }

    /// Receives into `buffer`. Under TLS `wire` holds the cipher text meanwhile, and `buffer` must be longer
    /// than it by a record (16 KiB), since what is left of an earlier record may come out with it.
    pub fn receive(&mut self, buffer: &mut [u8], wire: &mut [u8]) -> Result<Received, LinkError> {
        if self.tls.is_none() {
            return self.receive_plain(buffer);
        }
        self.receive_tls(buffer, wire)
    }

    fn receive_plain(&mut self, buffer: &mut [u8]) -> Result<Received, LinkError> {
        while self.readable {
            match net::recv(&self.socket, &mut *buffer, RecvFlags::empty()) {
                Ok((_, 0)) => {
                    self.readable = false;
                    return Ok(Received::Closed);
                }
                Ok((_, count)) => {
                    // With edge triggering a short read says that the socket is drained (epoll(7)),
                    // unless it has also ended, of which there is no further report.
                    self.readable = self.ended || count == buffer.len();
                    return Ok(Received::Data(count));
                }
                Err(Errno::AGAIN) => self.readable = false,
                Err(Errno::INTR) => {}
                Err(errno) => {
                    self.readable = false;
                    return Err(errno.into());
                }
            }
        }
        Ok(Received::Nothing)
    }

    fn receive_tls(&mut self, buffer: &mut [u8], wire: &mut [u8]) -> Result<Received, LinkError> {
        loop {
            match self.receive_plain(wire)? {
                Received::Data(count) => {
                    let plain = self.decrypt(&wire[..count], buffer)?;
                    let newly_secured = self.tls.as_ref().is_some_and(|tls| tls.is_newly_secured());
                    if plain > 0 || newly_secured {
                        return Ok(Received::Data(plain));
                    }
                }
                // Many servers close without close_notify (RFC 8446, 6.1); the codec knows whether
                // the reply was whole.
                other => return Ok(other),
            }
        }
    }

    /// Takes all of `cipher`; returns how much of `plain` was filled.
    fn decrypt(&mut self, mut cipher: &[u8], plain: &mut [u8]) -> Result<usize, LinkError> {
        let tls = self.tls.as_mut().expect("only called under TLS");
        let mut filled = 0;
        while !cipher.is_empty() {
            tls.session.read_tls(&mut cipher).map_err(|e| broken_tls(&e))?;
            if let Err(error) = tls.session.process_new_packets() {
                // Tell the peer why, as far as that goes; what counts is the error.
                let _ = self.flush();
                return Err(error.into());
            }
            // Emptied as it comes, for a session buffers no more than a record or two.
            while let Ok(count @ 1..) = tls.session.reader().read(&mut plain[filled..]) {
                filled += count;
            }
        }
        self.flush()?;
        Ok(filled)
    }

    /// Told once when the TLS handshake is over: whether it resumed an earlier session.
    pub fn take_secured(&mut self) -> Option<bool> {
        let tls = self.tls.as_mut().filter(|tls| tls.is_newly_secured())?;
        tls.secured = true;
        Some(tls.session.handshake_kind() == Some(HandshakeKind::Resumed))
    }
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Sends what the socket takes now.
fn send_some(socket: &OwnedFd, bytes: &[u8]) -> Result<usize, Errno> {
    let mut sent = 0;
    while sent < bytes.len() {
        match net::send(socket, &bytes[sent..], SendFlags::NOSIGNAL) {
            Ok(count) => sent += count,
            Err(Errno::AGAIN) => break,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(sent)
}

fn broken_tls(error: &std::io::Error) -> LinkError {
    LinkError { kind: ErrorKind::Tls, detail: error.to_string() }
}
