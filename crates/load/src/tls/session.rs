//! One TLS session without a socket: plain text in, cipher text out, and back; and errors with their remedy.

use std::io::{self, Read, Write};

use rustls::{AlertDescription, CertificateError, ClientConnection, Error, HandshakeKind};

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

/// The error and its remedy, for a reader who does not use the library.
pub(crate) fn describe(error: &Error) -> String {
    match error {
        Error::InvalidMessage(_) => {
            "the server's answer is not TLS: is this a TLS port?".to_owned()
        }
        Error::AlertReceived(alert) => words_of(*alert),
        Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
            "the server's certificate is neither trusted nor signed by a trusted one: give it, or its issuer's, with --ca".to_owned()
        }
        Error::InvalidCertificate(CertificateError::NotValidForNameContext { expected, presented }) => format!(
            "the server's certificate is for {}, not for {}: use a name of the certificate",
            presented.join(", "),
            expected.to_str()
        ),
        Error::InvalidCertificate(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => {
            "the server's certificate has expired".to_owned()
        }
        Error::InvalidCertificate(reason) => format!("the server's certificate is not accepted: {reason}"),
        Error::PeerIncompatible(reason) => format!("{NO_COMMON_GROUND} ({})", in_words(&format!("{reason:?}"))),
        Error::PeerMisbehaved(how) => {
            format!("the server does not keep to TLS ({}): see its log", in_words(&format!("{how:?}")))
        }
        other => format!("TLS: {other}"),
    }
}

/// What this client can do, where a server can do something else.
const NO_COMMON_GROUND: &str = "the server and this client have no TLS parameters in common: this client has TLS 1.2 and 1.3, key exchange with X25519, P-256 and P-384 (not RSA key exchange, finite-field Diffie-Hellman or P-521), AES-GCM and ChaCha20: let the server allow one of each";

/// Why a server ended a session, and what to do (RFC 8446, section 6.2; RFC 5246, section 7.2.2).
fn words_of(alert: AlertDescription) -> String {
    let why = match alert {
        AlertDescription::HandshakeFailure | AlertDescription::InsufficientSecurity => {
            return NO_COMMON_GROUND.to_owned();
        }
        AlertDescription::ProtocolVersion => {
            "it wants another version of TLS, and this client has 1.2 and 1.3: let the server allow one of them"
        }
        AlertDescription::UnrecognisedName => {
            "it does not know the name that the client sent: give its name with --server-name, or use a URL with it and --connect-to"
        }
        AlertDescription::NoApplicationProtocol => {
            "it does not offer this protocol on the port (ALPN), for example HTTP/2 alone: let it offer http/1.1 as well"
        }
        AlertDescription::CertificateRequired | AlertDescription::NoCertificate => {
            "it wants a certificate of the client: give one with --certificate and --key"
        }
        AlertDescription::BadCertificate
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::CertificateUnknown
        | AlertDescription::CertificateRevoked
        | AlertDescription::CertificateExpired
        | AlertDescription::UnknownCA
        | AlertDescription::AccessDenied => {
            "it does not accept the certificate of the client: give one that it trusts with --certificate and --key"
        }
        AlertDescription::InternalError => "it has an error of its own: see its log",
        AlertDescription::DecodeError
        | AlertDescription::IllegalParameter
        | AlertDescription::UnexpectedMessage => {
            "it does not understand the handshake: is this a TLS port of that server?"
        }
        AlertDescription::CloseNotify | AlertDescription::UserCanceled => {
            "it closed before the handshake was over"
        }
        other => {
            return format!(
                "the server ended the TLS session ({}): see its log",
                in_words(&format!("{other:?}"))
            );
        }
    };
    format!("the server ended the TLS session: {why}")
}

/// A name of the library as words: `BadRecordMac` as `bad record mac`.
fn in_words(name: &str) -> String {
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && words.chars().last().is_some_and(|last| last.is_ascii_lowercase()) {
            words.push(' ');
        }
        words.push(letter.to_ascii_lowercase());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_alert_is_in_the_words_of_the_library() {
        for code in 0..=255 {
            let alert = AlertDescription::from(code);
            let text = describe(&Error::AlertReceived(alert));
            let name = format!("{alert:?}");
            let is_one_word = in_words(&name) == name.to_ascii_lowercase();
            assert!(is_one_word || !text.contains(&name), "{text}");
            assert!(text.contains(": ") || text.contains("own"), "{text}");
        }
        let text = describe(&Error::AlertReceived(AlertDescription::UnrecognisedName));
        assert!(text.contains("--server-name"), "{text}");
        assert_eq!(in_words("BadRecordMac"), "bad record mac");
    }
}
