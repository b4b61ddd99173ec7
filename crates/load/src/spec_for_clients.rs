//! The spec of a load as its clients get it: nothing in it is on this machine only. The spec that is recorded stays as it was.

use crate::drivers::ProtocolSpec;
use crate::outcome::RunError;
use crate::spec::{LoadSpec, TlsSpec, Trust};
use crate::worker_threads::WorkerThreadsError;

/// Whether these many clients can make a load.
pub(crate) fn check_for_clients(spec: &LoadSpec, clients: u32) -> Result<(), RunError> {
    match spec.protocol {
        _ if spec.connections < clients => {
            Err(RunError::TooFewConnections { clients, connections: spec.connections })
        }
        ProtocolSpec::Runner(_) if clients > 0 => Err(RunError::RunnerWithClients),
        _ => Ok(()),
    }
}

/// The spec with what is in files and in the environment here.
pub(crate) fn for_clients(spec: &LoadSpec) -> Result<LoadSpec, RunError> {
    let mut spec = spec.clone();
    if let Some(TlsSpec { trust, .. }) = &mut spec.tls
        && let Trust::File(path) = trust
    {
        let text = std::fs::read_to_string(&*path)
            .map_err(|source| RunError::Certificate { path: path.clone(), source })?;
        *trust = Trust::Text { from: path.clone(), text };
    }
    if let Some(password) = spec.protocol.password() {
        *password = password.sent().map_err(WorkerThreadsError::from)?;
    }
    Ok(spec)
}
