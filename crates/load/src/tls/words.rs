//! What the library says of a handshake, in words with the remedy.

use rustls::{AlertDescription, CertificateError, Error};

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
        Error::InvalidCertificate(reason) => format!(
            "the server's certificate is not accepted ({}): give it with --ca to accept it as it is",
            words_about(reason)
        ),
        Error::InconsistentKeys(_) => "it is not the key of the certificate".to_owned(),
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

/// What is wrong with a certificate. The library's own findings are within another error.
fn words_about(reason: &CertificateError) -> String {
    let name = match reason {
        CertificateError::Other(inner) => inner.to_string(),
        reason => format!("{reason:?}"),
    };
    // What follows a name are its numbers.
    in_words(name.split([' ', '(', '{']).next().unwrap_or_default())
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
    use std::io;
    use std::sync::Arc;

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

    #[test]
    fn no_fault_of_a_certificate_is_in_the_words_of_the_library() {
        let found = rustls::OtherError(Arc::new(io::Error::other("CaUsedAsEndEntity")));
        for (reason, words) in [
            (CertificateError::Other(found), "(ca used as end entity)"),
            (CertificateError::Revoked, "(revoked)"),
            (CertificateError::BadEncoding, "(bad encoding)"),
        ] {
            let text = describe(&Error::InvalidCertificate(reason));
            assert!(text.contains(words) && text.contains("--ca"), "{text}");
        }
        let text = describe(&Error::InconsistentKeys(rustls::InconsistentKeys::KeyMismatch));
        assert_eq!(text, "it is not the key of the certificate");
    }
}
