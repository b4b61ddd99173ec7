//! TLS parameters from a spec, shared by all connections of a worker.

use std::io::{Read, Write};
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

use super::error::TlsError;
use super::identity;
use super::spec::TlsSpec;
use super::trust;
use super::words::describe;

/// Sessions kept for resumption: more than the connections that are open at once.
const SESSIONS_KEPT: usize = 4096;

/// The parameters of sessions, shared by all connections of a worker.
#[derive(Clone, Debug)]
pub(crate) struct TlsContext {
    pub(super) config: Arc<ClientConfig>,
    pub(super) name: ServerName<'static>,
}

/// A context for one worker. Each worker has its own resumable sessions, so that workers do not share a lock. `alpn` is
/// the protocol's name in ALPN, if it has one.
pub(crate) fn context(spec: &TlsSpec, alpn: Option<&[u8]>) -> Result<TlsContext, TlsError> {
    let name = ServerName::try_from(spec.server_name.clone())
        .map_err(|_| TlsError::Name(spec.server_name.clone()))?;
    let provider = Arc::new(ring::default_provider());
    let verifier = trust::verifier(&spec.trust, spec.proof, &provider)?;
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let mut config = match &spec.identity {
        None => builder.with_no_client_auth(),
        Some(identity) => {
            let (chain, key) =
                (identity::certificates(&identity.certificate)?, identity::key(&identity.key)?);
            builder.with_client_auth_cert(chain, key).map_err(|error| TlsError::Identity {
                path: identity.key.path().to_owned(),
                reason: describe(&error),
            })?
        }
    };
    config.resumption =
        if spec.resumption { Resumption::in_memory_sessions(SESSIONS_KEPT) } else { Resumption::disabled() };
    config.alpn_protocols = alpn.map(<[u8]>::to_vec).into_iter().collect();
    Ok(TlsContext { config: Arc::new(config), name })
}

/// Puts TLS on a socket, for single requests outside of the load. It blocks if the socket does, and the handshake takes
/// place with the first byte. `alpn` is the protocol's name in ALPN, if it has one.
pub fn secure<S: Read + Write>(
    spec: &TlsSpec,
    alpn: Option<&[u8]>,
    socket: S,
) -> Result<impl Read + Write + use<S>, TlsError> {
    let TlsContext { config, name } = context(spec, alpn)?;
    Ok(StreamOwned::new(ClientConnection::new(config, name)?, socket))
}
