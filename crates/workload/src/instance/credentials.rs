//! What a client and its server have in common for one start: a password, a certificate. Instances behind one load have
//! the same, for the client does not ask which of them it talks to.

use std::path::Path;
use std::sync::Arc;

use host::Host;

use super::certificate::Certificate;
use super::error::InstanceError;
use super::password::Password;

/// Password and certificate, where there are any.
#[derive(Clone, Debug, Default)]
pub struct ServerCredentials {
    /// Made for a server that asks for one.
    pub password: Option<Arc<Password>>,
    /// Made where the load is over TLS.
    pub certificate: Option<Arc<Certificate>>,
}

impl ServerCredentials {
    /// Makes those that are needed into `directory`; `certificate` is the kind of its key.
    pub fn make(
        host: &Host,
        directory: &Path,
        has_password: bool,
        certificate: Option<&str>,
    ) -> Result<Self, InstanceError> {
        let password = has_password.then(|| Password::make(directory)).transpose()?;
        let certificate = certificate.map(|kind| Certificate::make(host, directory, kind)).transpose()?;
        Ok(Self { password: password.map(Arc::new), certificate: certificate.map(Arc::new) })
    }
}
