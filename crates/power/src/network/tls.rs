//! Which certificates of a BMC or plug are trusted.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

/// Whom to believe that it is the device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum ServerTrust {
    /// Certificates of the authorities that this system trusts.
    #[default]
    System,
    /// Certificates of the authorities in this file, PEM.
    File(PathBuf),
    /// Anyone who answers. A password is then anyone's, too.
    Unverified,
}

impl ServerTrust {
    /// The settings of the client. The error says what is wrong with the file.
    pub(super) fn config(&self) -> Result<TlsConfig, String> {
        let builder = TlsConfig::builder()
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()));
        Ok(match self {
            Self::System => {
                let certificates = rustls_native_certs::load_native_certs().certs;
                let certificates: Vec<_> =
                    certificates.iter().map(|der| Certificate::from_der(der).to_owned()).collect();
                builder.root_certs(RootCerts::Specific(Arc::new(certificates))).build()
            }
            Self::File(path) => {
                let shown = path.display();
                let pem = fs::read(path).map_err(|error| format!("cannot read {shown}: {error}"))?;
                let items = parse_pem(&pem).filter_map(Result::ok);
                let certificates: Vec<_> = items
                    .filter_map(|item| match item {
                        PemItem::Certificate(certificate) => Some(certificate),
                        _ => None,
                    })
                    .collect();
                if certificates.is_empty() {
                    return Err(format!("{shown} has no certificate in PEM"));
                }
                builder.root_certs(RootCerts::Specific(Arc::new(certificates))).build()
            }
            Self::Unverified => builder.disable_verification(true).build(),
        })
    }
}
