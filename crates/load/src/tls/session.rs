//! One TLS session without a socket: plain text in, cipher text out, and back; and errors with their remedy.

use std::io::{self, Read, Write};

use rustls::{ClientConnection, Error, HandshakeKind};

use super::context::TlsContext;

/// The client's end of a session.
#[derive(Debug)]
pub(crate) struct TlsSession {
    inner: ClientConnection,
    /// [`TlsSession::take_secured`] has returned the end of the handshake.
    secured: bool,
    /// The peer has sent `close_notify`: it sends no more.
    closed: bool,
}

impl TlsSession {
    /// A session whose handshake has not begun.
    pub fn new(context: &TlsContext) -> Result<Self, Error> {
        let mut inner = ClientConnection::new(context.config.clone(), context.name.clone())?;
        // The link sends or keeps all that is written; a limit here would cut a long request.
        inner.set_buffer_limit(None);
        Ok(Self { inner, secured: false, closed: false })
    }

    /// Appends the cipher text of `plain` and the session's own messages to `wire`. Empty bytes only continue the
    /// handshake.
    pub fn encrypt(&mut self, plain: &[u8], wire: &mut impl Write) -> Result<(), Error> {
        self.inner.writer().write_all(plain).map_err(library)?;
        self.write(wire)
    }

    /// Decrypts all of `cipher`, appends the session's answers to `wire`, and returns how much of `plain` was filled.
    /// `plain` must be longer than `cipher` by a record (16 KiB): the rest of an earlier record may come out as well.
    pub fn decrypt(
        &mut self,
        mut cipher: &[u8],
        plain: &mut [u8],
        wire: &mut impl Write,
    ) -> Result<usize, Error> {
        let mut filled = 0;
        // Bytes after the peer's close_notify are ignored (RFC 8446, 6.1).
        while !cipher.is_empty() && !self.closed {
            self.inner.read_tls(&mut cipher).map_err(library)?;
            match self.inner.process_new_packets() {
                Ok(state) => self.closed = state.peer_has_closed(),
                Err(error) => {
                    // Send the alert if possible; the caller gets the error.
                    let _ = self.write(wire);
                    return Err(error);
                }
            }
            // Read at once: a session buffers no more than a record or two.
            while let Ok(count @ 1..) = self.inner.reader().read(&mut plain[filled..]) {
                filled += count;
            }
        }
        self.write(wire)?;
        Ok(filled)
    }

    fn write(&mut self, wire: &mut impl Write) -> Result<(), Error> {
        while self.inner.wants_write() {
            self.inner.write_tls(wire).map_err(library)?;
        }
        Ok(())
    }

    /// Is the handshake over, and not yet returned by [`TlsSession::take_secured`]?
    pub fn is_newly_secured(&self) -> bool {
        !self.secured && !self.inner.is_handshaking()
    }

    /// Returns once, when the handshake is over, whether it resumed an earlier session.
    pub fn take_secured(&mut self) -> Option<bool> {
        self.is_newly_secured().then(|| {
            self.secured = true;
            self.inner.handshake_kind() == Some(HandshakeKind::Resumed)
        })
    }

    /// Has the peer announced that it sends no more?
    pub fn is_closed(&self) -> bool {
        self.closed
    }
}

/// Reading from and writing to memory fails only at a limit of the library.
#[allow(clippy::needless_pass_by_value)] // as `map_err` passes it
fn library(error: io::Error) -> Error {
    Error::General(error.to_string())
}
