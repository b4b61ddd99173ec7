//! TLS parameters from a spec: whose certificates are trusted, and whether sessions are resumed.

use std::sync::Arc;

use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::spec::{TlsSpec, Trust};

/// Sessions that may wait for resumption: more than connections that come and go at once.
const SESSIONS_KEPT: usize = 4096;

/// The parameters of sessions, shared by all connections of a worker.
#[derive(Clone, Debug)]
pub(crate) struct TlsContext {
    pub config: Arc<ClientConfig>,
    pub name: ServerName<'static>,
}

/// Why TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The name cannot be asked for in a handshake.
    #[error("{0:?} is neither a host name nor an address: TLS needs one")]
    Name(String),
    /// The trusted certificates cannot be had.
    #[error("no trusted certificates from {from}: {reason}: give a PEM file of certificates")]
    Roots {
        /// A file, or the system.
        from: String,
        /// What went wrong.
        reason: String,
    },
    /// The library refuses.
    #[error("TLS cannot be set up: {0}")]
    Setup(#[from] rustls::Error),
}

/// A context for one worker: its resumable sessions are its own, so that workers do not share a lock.
pub(crate) fn context(spec: &TlsSpec) -> Result<TlsContext, TlsError> {
    let name = ServerName::try_from(spec.server_name.clone())
        .map_err(|_| TlsError::Name(spec.server_name.clone()))?;
    let provider = Arc::new(ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions()?;
    let mut config = match &spec.trust {
        Trust::Anyone => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
            .with_no_client_auth(),
        Trust::System => builder.with_root_certificates(system_roots()?).with_no_client_auth(),
        Trust::File(path) => builder.with_root_certificates(roots_of(path)?).with_no_client_auth(),
    };
    config.resumption =
        if spec.resumption { Resumption::in_memory_sessions(SESSIONS_KEPT) } else { Resumption::disabled() };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsContext { config: Arc::new(config), name })
}

fn system_roots() -> Result<RootCertStore, TlsError> {
    let mut store = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    let (added, _) = store.add_parsable_certificates(found.certs);
    if added == 0 {
        let reason = found.errors.first().map_or_else(|| "there are none".to_owned(), ToString::to_string);
        return Err(TlsError::Roots { from: "the system".to_owned(), reason });
    }
    Ok(store)
}

fn roots_of(path: &str) -> Result<RootCertStore, TlsError> {
    let failed = |reason: String| TlsError::Roots { from: path.to_owned(), reason };
    let mut store = RootCertStore::empty();
    let certificates = CertificateDer::pem_file_iter(path).map_err(|e| failed(e.to_string()))?;
    for certificate in certificates {
        let certificate = certificate.map_err(|e| failed(e.to_string()))?;
        store.add(certificate).map_err(|e| failed(e.to_string()))?;
    }
    if store.is_empty() { Err(failed("there are none in it".to_owned())) } else { Ok(store) }
}

/// Accepts any certificate, but still checks that the server holds its key.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
