//! One TLS session without a socket: plain bytes in and cipher text out, and back. What is wrong is told in
//! words that name the mend.

use std::io::{self, Read, Write};

use rustls::{CertificateError, ClientConnection, Error, HandshakeKind};

use super::TlsContext;

/// The client's end of a session.
#[derive(Debug)]
pub(crate) struct Session {
    inner: ClientConnection,
    /// The end of the handshake has been told.
    secured: bool,
    /// The peer has said that it sends no more (`close_notify`).
    closed: bool,
}

impl Session {
    /// A session whose handshake has not begun.
    pub fn new(context: &TlsContext) -> Result<Self, Error> {
        let mut inner = ClientConnection::new(context.config.clone(), context.name.clone())?;
        // What is written is sent at once or kept by the link; a limit here would cut a long request short.
        inner.set_buffer_limit(None);
        Ok(Self { inner, secured: false, closed: false })
    }

    /// Appends the cipher text of `plain` to `wire`, and what else the session has to say. Empty bytes only
    /// move the handshake along.
    pub fn encrypt(&mut self, plain: &[u8], wire: &mut impl Write) -> Result<(), Error> {
        self.inner.writer().write_all(plain).map_err(library)?;
        self.write(wire)
    }

    /// Takes all of `cipher`, appends to `wire` what the session answers, and returns how much of `plain` was
    /// filled. `plain` must be longer than `cipher` by a record (16 KiB), since what is left of an earlier
    /// record may come out with it.
    pub fn decrypt(
        &mut self,
        mut cipher: &[u8],
        plain: &mut [u8],
        wire: &mut impl Write,
    ) -> Result<usize, Error> {
        let mut filled = 0;
        // What comes after the peer's last word is to be ignored (RFC 8446, 6.1).
        while !cipher.is_empty() && !self.closed {
            self.inner.read_tls(&mut cipher).map_err(library)?;
            match self.inner.process_new_packets() {
                Ok(state) => self.closed = state.peer_has_closed(),
                Err(error) => {
                    // The peer is told why; what counts is the error.
                    let _ = self.write(wire);
                    return Err(error);
                }
            }
            // Emptied as it comes, for a session buffers no more than a record or two.
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

    /// Is the handshake over, and not yet told by [`Session::take_secured`]?
    pub fn is_newly_secured(&self) -> bool {
        !self.secured && !self.inner.is_handshaking()
    }

    /// Told once when the handshake is over: whether it resumed an earlier session.
    pub fn take_secured(&mut self) -> Option<bool> {
        self.is_newly_secured().then(|| {
            self.secured = true;
            self.inner.handshake_kind() == Some(HandshakeKind::Resumed)
        })
    }

    /// Has the peer said that nothing more will come?
    pub fn is_closed(&self) -> bool {
        self.closed
    }
}

/// Reading from and writing to memory fails only where the library has a limit of its own.
#[allow(clippy::needless_pass_by_value)] // as `map_err` passes it
fn library(error: io::Error) -> Error {
    Error::General(error.to_string())
}

/// What is wrong, for a reader who does not know the library.
pub(crate) fn describe(error: &Error) -> String {
    match error {
        Error::InvalidMessage(_) => {
            "the server's answer is not TLS: is this an https:// port, and not a plain one?".to_owned()
        }
        Error::AlertReceived(alert) => format!("the server broke the TLS session off: {alert:?}"),
        Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
            "the server's certificate is neither trusted nor signed by one that is: give it, or its issuer's, with --ca".to_owned()
        }
        Error::InvalidCertificate(CertificateError::NotValidForNameContext { expected, presented }) => format!(
            "the server's certificate is for {}, not for {}: ask for it by that name",
            presented.join(", "),
            expected.to_str()
        ),
        Error::InvalidCertificate(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => {
            "the server's certificate has expired".to_owned()
        }
        Error::InvalidCertificate(reason) => format!("the server's certificate is not accepted: {reason}"),
        Error::PeerIncompatible(reason) => {
            format!("the server speaks no TLS that we do (1.2 and 1.3): {reason:?}")
        }
        other => format!("TLS: {other}"),
    }
}
