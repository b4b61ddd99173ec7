//! TLS by rustls: the certificate of a server, its key and the names in it; and whom a client trusts.

use std::sync::Arc;

use anyhow::Context;
use queue::arguments::TlsFiles;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// What a server shows to browsers.
#[derive(Clone, Debug)]
pub struct ServerTls {
    /// For the listener.
    pub config: Arc<ServerConfig>,
    /// The names of the certificate, without those that stand for many.
    pub names: Vec<String>,
}

/// Reads both files. Called again when the certificate is a new one.
pub fn read_files(files: &TlsFiles) -> anyhow::Result<ServerTls> {
    let TlsFiles { certificate, key } = files;
    let shown = certificate.display();
    let mut chain = Vec::new();
    let found = CertificateDer::pem_file_iter(certificate).with_context(|| format!("cannot read {shown}"))?;
    for part in found {
        chain.push(part.with_context(|| format!("{shown} is no certificate in PEM"))?);
    }
    let first = chain.first().with_context(|| format!("{shown} has no certificate in PEM"))?;
    let names = names_of(first).with_context(|| format!("{shown} is no certificate of a server"))?;
    let shown = key.display();
    let key = PrivateKeyDer::from_pem_file(key).with_context(|| format!("{shown} has no key in PEM"))?;
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .with_context(|| format!("{shown} is not the key of the certificate"))?;
    // The guard reads the header with the name of the server, which HTTP/2 has elsewhere.
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(ServerTls { config: Arc::new(config), names })
}

fn names_of(certificate: &CertificateDer<'_>) -> Result<Vec<String>, webpki::Error> {
    let read = webpki::EndEntityCert::try_from(certificate)?;
    let mut names = Vec::new();
    for name in read.valid_dns_names() {
        if !name.starts_with('*') {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

/// The library of ciphers.
pub fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// What a client of HTTP trusts: the authorities of this system, or those of the file in `SSL_CERT_FILE`.
pub fn trust_of_agent() -> TlsConfig {
    let mut certificates = Vec::new();
    for der in rustls_native_certs::load_native_certs().certs {
        certificates.push(Certificate::from_der(&der).to_owned());
    }
    TlsConfig::builder()
        .unversioned_rustls_crypto_provider(provider())
        .root_certs(RootCerts::Specific(Arc::new(certificates)))
        .build()
}

/// The same for a connection of another kind.
pub fn trust() -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let config = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .expect("the provider has them")
        .with_root_certificates(roots)
        .with_no_client_auth();
    Arc::new(config)
}
