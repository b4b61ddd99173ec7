//! One non-blocking socket, in plain text or with TLS: connect, send what the socket takes and keep the rest, receive until
//! there is nothing more. It does not use the protocol or a clock.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::sys::socket::MsgFlags;
use rustix::io::Errno;
use rustix::net::{self, RecvFlags, SendFlags, sockopt};

use super::stamp::{self, Stamp};
use crate::connecting::{self, ConnectionError, UnixSocket};
use crate::tls::{TlsContext, TlsSession};

/// Memory that a connection keeps for bytes that the socket did not take at once. Tens of thousands of connections must
/// not each keep the memory of one large request.
const KEPT_CAPACITY: usize = 1024;

/// The result of reading from a link.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Received {
    /// Number of bytes at the front of the buffer, and when the kernel received the last of them. 0: only the TLS handshake
    /// made progress, see [`Link::take_secured`].
    Data(usize, Option<Stamp>),
    /// Nothing for now: wait for the poller.
    Nothing,
    /// The peer has closed without an error.
    Closed,
}

/// A connection's socket.
#[derive(Debug)]
pub(super) struct Link {
    socket: OwnedFd,
    session: Option<Box<TlsSession>>,
    /// The kernel stamps what is received.
    is_stamped: bool,
    /// Bytes that the socket did not take yet.
    unsent: VecDeque<u8>,
    /// The kernel may have unread bytes: set by the poller, cleared by a short read.
    readable: bool,
    /// The peer has closed or failed: read until the end of file or the error.
    ended: bool,
}

impl Link {
    /// Begins to connect. The poller reports the end; [`Link::connected`] returns the result. With `stamped`, what is
    /// received has the kernel's timestamp where the kernel gives one.
    pub fn connect(
        to: SocketAddr,
        from: Option<IpAddr>,
        tls: Option<&TlsContext>,
        stamped: bool,
    ) -> Result<Self, ConnectionError> {
        let mut is_stamped = false;
        let socket = connecting::connect(to, from, |socket| {
            sockopt::set_tcp_nodelay(socket, true)?;
            is_stamped = stamped && stamp::request(socket);
            Ok(())
        })?;
        Self::over(socket, tls, is_stamped)
    }

    /// Connects to a socket of the file system, whose bytes the kernel does not stamp.
    pub fn connect_to_socket(to: &UnixSocket, tls: Option<&TlsContext>) -> Result<Self, ConnectionError> {
        Self::over(connecting::connect_to_socket(to)?, tls, false)
    }

    fn over(socket: OwnedFd, tls: Option<&TlsContext>, is_stamped: bool) -> Result<Self, ConnectionError> {
        let session = tls.map(TlsSession::new).transpose()?.map(Box::new);
        Ok(Self { socket, session, is_stamped, unsent: VecDeque::new(), readable: false, ended: false })
    }

    /// Begins TLS: the next bytes are its handshake.
    pub fn secure(&mut self, tls: &TlsContext) -> Result<(), ConnectionError> {
        self.session = Some(Box::new(TlsSession::new(tls)?));
        self.send(&[])
    }

    /// The result of connecting, after the poller has reported the socket.
    pub fn connected(&self) -> Result<(), ConnectionError> {
        Ok(sockopt::socket_error(&self.socket)??)
    }

    /// The port of this end.
    pub fn local_port(&self) -> Option<u16> {
        let address: SocketAddr = net::getsockname(&self.socket).ok()?.try_into().ok()?;
        Some(address.port())
    }

    /// Whether there is a TLS handshake before the first byte.
    pub fn is_tls(&self) -> bool {
        self.session.is_some()
    }

    /// The poller has reported the socket.
    pub fn notice(&mut self, ended: bool) {
        self.readable = true;
        self.ended |= ended;
    }

    /// Whether a further [`Link::receive`] may return something.
    pub fn has_more(&self) -> bool {
        self.readable || self.session.as_ref().is_some_and(|session| session.is_closed())
    }

    /// Whether the peer sends no more than what has arrived: it cannot reply to a further request on this link.
    pub fn is_ending(&self) -> bool {
        self.ended || self.session.as_ref().is_some_and(|session| session.is_closed())
    }

    /// Sends; keeps what the socket does not take for [`Link::flush`]. Empty bytes only continue the TLS handshake.
    #[inline(always)]
    pub fn send(&mut self, bytes: &[u8]) -> Result<(), ConnectionError> {
        if self.session.is_some() || !self.unsent.is_empty() {
            return self.send_behind(bytes);
        }
        let sent = send_some(&self.socket, bytes)?;
        if sent < bytes.len() {
            self.unsent.extend(&bytes[sent..]);
        }
        Ok(())
    }

    /// Sends bytes that must be encrypted first, or that are behind kept ones.
    #[inline(never)]
    fn send_behind(&mut self, bytes: &[u8]) -> Result<(), ConnectionError> {
        match &mut self.session {
            None => self.unsent.extend(bytes),
            Some(session) => session.encrypt(bytes, &mut self.unsent)?,
        }
        self.flush()
    }

    /// Sends the kept bytes, as far as the socket takes them.
    #[inline(always)]
    pub fn flush(&mut self) -> Result<(), ConnectionError> {
        if self.unsent.capacity() == 0 { Ok(()) } else { self.flush_kept() }
    }

    #[inline(never)]
    fn flush_kept(&mut self) -> Result<(), ConnectionError> {
        while !self.unsent.is_empty() {
            let (front, _) = self.unsent.as_slices();
            let sent = send_some(&self.socket, front)?;
            let is_blocked = sent < front.len();
            self.unsent.drain(..sent);
            if is_blocked {
                return Ok(());
            }
        }
        if self.unsent.capacity() > KEPT_CAPACITY {
            self.unsent = VecDeque::new();
        }
        Ok(())
    }

    /// Receives into `buffer`. With TLS, `wire` takes the cipher text, and `buffer` must be longer than it by a record, see [`TlsSession::decrypt`].
    #[inline(always)]
    pub fn receive(&mut self, buffer: &mut [u8], wire: &mut [u8]) -> Result<Received, ConnectionError> {
        if self.session.is_none() {
            return self.receive_plain(buffer, MsgFlags::empty());
        }
        self.receive_tls(buffer, wire)
    }

    /// Discards at most as many bytes as `span` is long; `span` is not written to. Not with TLS, where the received bytes
    /// are cipher text.
    #[inline(always)]
    pub fn discard(&mut self, span: &mut [u8]) -> Result<Received, ConnectionError> {
        debug_assert!(self.session.is_none(), "cipher text must be read");
        // "Causes the received bytes of data to be discarded, rather than passed back": tcp(7), MSG_TRUNC.
        self.receive_plain(span, MsgFlags::MSG_TRUNC)
    }

    #[inline(always)]
    fn receive_plain(&mut self, buffer: &mut [u8], flags: MsgFlags) -> Result<Received, ConnectionError> {
        while self.readable {
            let received = if self.is_stamped {
                stamp::receive(&self.socket, &mut *buffer, flags)
            } else {
                let flags = RecvFlags::from_bits_retain(flags.bits().cast_unsigned());
                net::recv(&self.socket, &mut *buffer, flags).map(|(_, count)| (count, None))
            };
            match received {
                Ok((0, _)) => {
                    self.readable = false;
                    return Ok(Received::Closed);
                }
                Ok((count, stamp)) => {
                    // With edge triggering, a short read means that the socket is drained (epoll(7)), unless the peer has
                    // ended: there is no further report of that.
                    self.readable = self.ended || count == buffer.len();
                    return Ok(Received::Data(count, stamp));
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

    /// A separate function, so that a plain receive does not pay for its stack frame.
    #[inline(never)]
    fn receive_tls(&mut self, buffer: &mut [u8], wire: &mut [u8]) -> Result<Received, ConnectionError> {
        loop {
            if self.session.as_ref().is_some_and(|session| session.is_closed()) {
                return Ok(Received::Closed);
            }
            let (count, stamp) = match self.receive_plain(wire, MsgFlags::empty())? {
                Received::Data(count, stamp) => (count, stamp),
                // Many servers close without close_notify (RFC 8446, 6.1); the codec decides whether the reply was
                // complete.
                other => return Ok(other),
            };
            let Some(session) = &mut self.session else { return Ok(Received::Data(count, stamp)) };
            let plain = session.decrypt(&wire[..count], buffer, &mut self.unsent);
            let is_newly_secured = session.is_newly_secured();
            let flushed = self.flush();
            // Report an error of the session before the error of the socket that follows from it.
            let plain = plain?;
            flushed?;
            if plain > 0 || is_newly_secured {
                return Ok(Received::Data(plain, stamp));
            }
        }
    }

    /// Returns once, when the TLS handshake is over, whether it resumed an earlier session.
    pub fn take_secured(&mut self) -> Option<bool> {
        self.session.as_mut()?.take_secured()
    }
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Sends what the socket takes now.
#[inline(always)]
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
