//! The secrets of one start: a password, a certificate. All instances of a load have the same, because the client uses
//! them for every connection.

use std::sync::Arc;

use super::certificate::Certificate;
use super::password::Password;
use crate::instance::error::InstanceError;
use crate::instance::tool::Tools;

/// The password and the certificate of a start, where the server has them.
#[derive(Clone, Debug, Default)]
pub struct ServerCredentials {
    /// For a server with `password = true`.
    pub password: Option<Arc<Password>>,
    /// For a load over TLS.
    pub certificate: Option<Arc<Certificate>>,
}

impl ServerCredentials {
    /// Generates them in the private directory of `tools`. `certificate` is the type of its key, if one is needed.
    pub fn generate(
        tools: &Tools,
        has_password: bool,
        certificate: Option<&str>,
    ) -> Result<Self, InstanceError> {
        let password = has_password.then(|| Password::generate(&tools.private)).transpose()?;
        let certificate = certificate.map(|kind| Certificate::generate(tools, kind)).transpose()?;
        Ok(Self { password: password.map(Arc::new), certificate: certificate.map(Arc::new) })
    }
}
