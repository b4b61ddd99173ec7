//! The spec of a load as its clients get it: nothing in it is on this machine only. The spec that is recorded stays as it was.

use crate::drivers::ProtocolSpec;
use crate::outcome::RunError;
use crate::spec::LoadSpec;
use crate::tls::{PemSource, TlsSpec, Trust};
use crate::worker_groups::threads::WorkerThreadsError;

/// Whether these many clients can make a load.
pub(crate) fn check_for_clients(spec: &LoadSpec, clients: u32) -> Result<(), RunError> {
    match spec.protocol {
        _ if spec.connections < clients => {
            Err(RunError::TooFewConnections { clients, connections: spec.connections })
        }
        _ if clients > 0 && !spec.sockets.is_empty() => Err(RunError::SocketWithClients),
        ProtocolSpec::Runner(_) if clients > 0 => Err(RunError::RunnerWithClients),
        _ => Ok(()),
    }
}

/// The spec with what is in files and in the environment here.
pub(crate) fn for_clients(spec: &LoadSpec) -> Result<LoadSpec, RunError> {
    let mut spec = spec.clone();
    let read = |path: &str| {
        let text = std::fs::read_to_string(path);
        text.map_err(|source| RunError::Certificate { path: path.to_owned(), source })
    };
    if let Some(TlsSpec { trust, identity, .. }) = &mut spec.tls {
        if let Trust::File(path) = trust {
            *trust = Trust::Text { text: read(path)?, from: path.clone() };
        }
        for source in identity.iter_mut().flat_map(|identity| [&mut identity.certificate, &mut identity.key])
        {
            if let PemSource::File(path) = source {
                *source = PemSource::Text { text: read(path)?, from: path.clone() };
            }
        }
    }
    if let Some(password) = spec.protocol.password() {
        *password = password.sent().map_err(WorkerThreadsError::from)?;
    }
    Ok(spec)
}
