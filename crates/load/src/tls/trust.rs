//! Which certificates are accepted: all, or the trusted ones and those that they have signed.

use std::sync::{Arc, OnceLock};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use super::error::TlsError;
use super::raw_key;
use super::spec::{KeyProof, Trust};

/// Checks a server's certificate, and that the server has its key. [`KeyProof`] says how often the latter.
#[derive(Debug)]
pub(super) struct Verifier {
    provider: Arc<CryptoProvider>,
    accepted: Accepted,
    proof: KeyProof,
    /// With [`KeyProof::Once`], the certificate whose key the server has proven to have.
    proven: OnceLock<CertificateDer<'static>>,
}

#[derive(Debug)]
enum Accepted {
    Any,
    Trusted {
        /// Accepted as they are, byte for byte. A certificate that `openssl req -x509` makes is its own
        /// authority: webpki refuses that of a server, while OpenSSL (and so curl) takes it if it is trusted.
        pinned: Vec<CertificateDer<'static>>,
        /// Accepts what they have signed; none if no certificate can be an authority.
        authorities: Option<Arc<WebPkiServerVerifier>>,
    },
}

/// The verifier of a spec; reads the certificates that it needs.
pub(super) fn verifier(
    trust: &Trust,
    proof: KeyProof,
    provider: &Arc<CryptoProvider>,
) -> Result<Verifier, TlsError> {
    let accepted = match trust {
        Trust::Anyone => Accepted::Any,
        Trust::System => trusted(system_certificates()?, provider)?,
        Trust::File(path) => trusted(certificates_of(path, CertificateDer::pem_file_iter(path))?, provider)?,
        Trust::Text { from, text } => {
            trusted(certificates_of(from, Ok(CertificateDer::pem_slice_iter(text.as_bytes())))?, provider)?
        }
    };
    Ok(Verifier { provider: provider.clone(), accepted, proof, proven: OnceLock::new() })
}

fn trusted(
    certificates: Vec<CertificateDer<'static>>,
    provider: &Arc<CryptoProvider>,
) -> Result<Accepted, TlsError> {
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(certificates.iter().cloned());
    let authorities = (added > 0).then(|| {
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone())
            .build()
            .map_err(|e| TlsError::Setup(Error::General(e.to_string())))
    });
    Ok(Accepted::Trusted { pinned: certificates, authorities: authorities.transpose()? })
}

fn system_certificates() -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        let reason = found.errors.first().map_or_else(|| "there are none".to_owned(), ToString::to_string);
        return Err(TlsError::Roots { from: "the system".to_owned(), reason });
    }
    Ok(found.certs)
}

/// The certificates of a PEM file, or of its text.
fn certificates_of(
    path: &str,
    found: Result<impl Iterator<Item = Result<CertificateDer<'static>, pem::Error>>, pem::Error>,
) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let failed = |reason: String| TlsError::Roots { from: path.to_owned(), reason };
    let certificates: Vec<_> = found.and_then(Iterator::collect).map_err(|e| failed(e.to_string()))?;
    if certificates.is_empty() { Err(failed("there are none in it".to_owned())) } else { Ok(certificates) }
}

impl Verifier {
    /// Checks the signature with `check`, unless this certificate's key is proven.
    fn prove(
        &self,
        certificate: &CertificateDer<'_>,
        check: impl FnOnce(&WebPkiSupportedAlgorithms) -> Result<HandshakeSignatureValid, Error>,
    ) -> Result<HandshakeSignatureValid, Error> {
        if self.proven.get() == Some(certificate) {
            return Ok(HandshakeSignatureValid::assertion());
        }
        let valid = check(&self.provider.signature_verification_algorithms)?;
        if self.proof == KeyProof::Once {
            // Only the first is kept: a server with several certificates proves the others each time.
            let _ = self.proven.set(certificate.clone().into_owned());
        }
        Ok(valid)
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match &self.accepted {
            Accepted::Any => Ok(ServerCertVerified::assertion()),
            Accepted::Trusted { pinned, .. } if pinned.contains(end_entity) => {
                Ok(ServerCertVerified::assertion())
            }
            Accepted::Trusted { authorities: Some(authorities), .. } => {
                authorities.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
            }
            Accepted::Trusted { authorities: None, .. } => {
                Err(Error::InvalidCertificate(CertificateError::UnknownIssuer))
            }
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.prove(certificate, |algorithms| {
            let checked = verify_tls12_signature(message, certificate, signature, algorithms);
            raw_key::or_by_key(checked, message, certificate, signature, algorithms)
        })
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.prove(certificate, |algorithms| {
            let checked = verify_tls13_signature(message, certificate, signature, algorithms);
            raw_key::or_by_key(checked, message, certificate, signature, algorithms)
        })
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests;
