//! The socket of one transfer, and the decoder of its reply. When it reads is left to the worker.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{self, SendFlags, sockopt};
use wire::http1::{Event, HeadCache, ResponseDecoder};

use super::spec::TransferSpec;
use crate::connecting::{self, ConnectionError};
use crate::record::ErrorKind;

/// What a read has brought.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// Nothing is there.
    Nothing,
    /// So many bytes, and more to come.
    Bytes(u32),
    /// So many bytes, the last ones.
    Complete(u32),
}

/// A connection with one request.
#[derive(Debug)]
pub(super) struct Download {
    socket: OwnedFd,
    decoder: ResponseDecoder,
    /// Bytes of the request that are sent.
    sent: u32,
}

impl Download {
    /// Begins to connect, and sends the request if that is possible at once, as on loopback.
    pub fn begin(spec: &TransferSpec, to: SocketAddr, from: Option<IpAddr>) -> Result<Self, ConnectionError> {
        let socket = connecting::connect(to, from, |socket| {
            // Before the handshake, which announces the window.
            sockopt::set_socket_recv_buffer_size(socket, spec.buffer_bytes() as usize)?;
            // A client that leaves sends a reset: a closed transfer keeps neither port nor memory.
            sockopt::set_socket_linger(socket, Some(Duration::ZERO))
        })?;
        let mut decoder = ResponseDecoder::new();
        decoder.expect(false);
        let mut begun = Self { socket, decoder, sent: 0 };
        begun.send(&spec.request)?;
        Ok(begun)
    }

    /// Sends what is left of the request; returns whether nothing is left.
    pub fn send(&mut self, request: &[u8]) -> Result<bool, ConnectionError> {
        while let Some(rest @ [_, ..]) = request.get(self.sent as usize..) {
            match net::send(&self.socket, rest, SendFlags::NOSIGNAL) {
                Ok(count) => self.sent += count as u32,
                // Not connected yet.
                Err(Errno::AGAIN | Errno::NOTCONN) => return Ok(false),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(self.cause(errno)),
            }
        }
        Ok(true)
    }

    /// What the connection failed with, where the error of a call is only a consequence.
    fn cause(&self, errno: Errno) -> ConnectionError {
        match sockopt::socket_error(&self.socket) {
            Ok(Err(first)) => first.into(),
            _ => errno.into(),
        }
    }

    /// Whether the whole request is sent.
    pub fn is_sent(&self, request: &[u8]) -> bool {
        self.sent as usize >= request.len()
    }

    /// Reads once, at most as much as the buffer takes.
    pub fn read(
        &mut self,
        spec: &TransferSpec,
        cache: &mut HeadCache,
        buffer: &mut [u8],
    ) -> Result<Progress, ConnectionError> {
        let count = match rustix::io::read(&self.socket, &mut *buffer) {
            Ok(count) => count,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(Progress::Nothing),
            Err(errno) => return Err(self.cause(errno)),
        };
        if count == 0 {
            let closed = |error: wire::http1::DecodeError| ConnectionError {
                kind: ErrorKind::Closed,
                detail: error.to_string(),
            };
            return self.decoder.eof().map_err(closed).map(|_| Progress::Complete(0));
        }
        let mut input = &buffer[..count];
        loop {
            match self.decoder.decode(cache, &mut input) {
                Ok(Some(Event::Head(head))) if !spec.expect.accepts(head.status) => {
                    return Err(ConnectionError {
                        kind: ErrorKind::UnexpectedReply,
                        detail: format!("status {}", head.status),
                    });
                }
                Ok(Some(Event::Head(_) | Event::Body(_))) => {}
                Ok(Some(Event::End { .. })) => return Ok(Progress::Complete(count as u32)),
                Ok(None) => return Ok(Progress::Bytes(count as u32)),
                Err(error) => {
                    return Err(ConnectionError { kind: ErrorKind::Protocol, detail: error.to_string() });
                }
            }
        }
    }
}

impl AsFd for Download {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
