//! The client's own certificate and its key, for servers that ask for one.

use std::borrow::Cow;

use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::error::TlsError;
use super::spec::PemSource;

fn refused(source: &PemSource, reason: impl std::fmt::Display) -> TlsError {
    TlsError::Identity { path: source.path().to_owned(), reason: reason.to_string() }
}

fn text(source: &PemSource) -> Result<Cow<'_, str>, TlsError> {
    match source {
        PemSource::Text { text, .. } => Ok(text.into()),
        PemSource::File(path) => {
            std::fs::read_to_string(path).map(Cow::Owned).map_err(|error| refused(source, error))
        }
    }
}

/// The certificate and those of its issuers.
pub(super) fn certificates(source: &PemSource) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found: Result<Vec<_>, pem::Error> =
        CertificateDer::pem_slice_iter(text(source)?.as_bytes()).collect();
    match found.map_err(|error| refused(source, error))? {
        none if none.is_empty() => Err(refused(source, "there is no certificate in it")),
        certificates => Ok(certificates),
    }
}

/// The key.
pub(super) fn key(source: &PemSource) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_slice(text(source)?.as_bytes()).map_err(|error| match error {
        pem::Error::NoItemsFound => refused(source, "there is no key in it that needs no passphrase"),
        other => refused(source, other),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_certificate_and_no_key_is_refused_with_its_file() {
        let none = PemSource::Text { from: "c.pem".to_owned(), text: "nothing".to_owned() };
        let error = certificates(&none).expect_err("no certificate").to_string();
        assert!(error.starts_with("c.pem: there is no certificate in it: give"), "{error}");
        let error = key(&none).expect_err("no key").to_string();
        assert!(error.starts_with("c.pem: there is no key in it"), "{error}");
        assert!(!format!("{none:?}").contains("nothing"), "{none:?}");
        let missing = PemSource::File("/nowhere/c.pem".to_owned());
        assert!(certificates(&missing).expect_err("no file").to_string().starts_with("/nowhere/c.pem: "));
    }
}
