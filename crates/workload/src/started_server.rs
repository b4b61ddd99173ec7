//! What only the start of a server knows, as plain data, and the load that follows from it and from the workload.
//!
//! Both sides of a connection use it: a machine for its own servers, and the controller for a server on another machine. The
//! controller builds the load of its own workload, so that no host chooses what the client does.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use load::connecting::UnixSocket;
use load::drivers::ProtocolSpec;
use load::drivers::password::PasswordSource;
use load::drivers::protocol::ServerAccess;
use load::spec::{LoadSpec, Shape};
use load::tls::{KeyProof, TlsSpec, Trust};
use load::users::outside_spec::Outside;

use crate::definition::{CERTIFICATE, DatabaseAccount, ServerDefinition, Workload};
use crate::names::UnknownName;

/// The server name of a certificate of a start, which the client sends and checks.
pub const CERTIFIED_NAME: &str = "localhost";

/// What only the start of a server knows.
#[derive(Clone, Debug)]
pub struct StartedServer {
    /// The address of each instance, at least one. A client that sends the server's name (`Host` of HTTP) sends the first.
    pub addresses: Vec<SocketAddr>,
    /// The socket of each instance, on which it listens instead; none where they listen on their addresses.
    pub sockets: Vec<UnixSocket>,
    /// Where its password is, if it has one.
    pub password: Option<PasswordSource>,
    /// The file with its certificate, for a load over TLS.
    pub certificate: Option<PathBuf>,
    /// The pipes to a runner.
    pub pipes: Option<(PathBuf, PathBuf)>,
    /// Keys, values and rows follow from this.
    pub seed: u64,
}

/// Whether the load of a server uses a certificate of its start.
pub fn has_certificate(server: &ServerDefinition) -> bool {
    server.knobs.iter().any(|knob| knob.name == CERTIFICATE)
}

impl StartedServer {
    fn address(&self) -> SocketAddr {
        *self.addresses.first().expect("a server listens")
    }

    /// The operations for the engine: the workload's mix, or only the operation of this name.
    pub fn protocol(
        &self,
        workload: &Workload,
        server: &ServerDefinition,
        only: Option<&str>,
    ) -> Result<ProtocolSpec, UnknownName> {
        let mix = match only {
            None => workload.load.mix.clone(),
            Some(name) => workload.only(name)?,
        };
        let access = self.access(workload, server);
        Ok(server.protocol.spec(&mix, &access).expect("the server's protocol has the mix of the load"))
    }

    /// What a client needs to know of the server.
    fn access(&self, workload: &Workload, server: &ServerDefinition) -> ServerAccess {
        let DatabaseAccount { user, database } = server.account.clone().unwrap_or_default();
        ServerAccess {
            authority: self.address().to_string(),
            user,
            database,
            password: self.password.clone(),
            pipes: self.pipes.clone(),
            seed: self.seed,
            folder: workload.load_folder(),
            // The password is of this start, and protects nothing else.
            may_send_cleartext: !self.address().ip().is_loopback(),
        }
    }

    /// A closed loop of the mix, or of the operation of this name, on one thread and without an end; visits arrive, if the users do not
    /// stay. Connections are divided among the addresses. The caller sets length and threads, and another shape.
    pub fn load_spec(
        &self,
        workload: &Workload,
        server: &ServerDefinition,
        only: Option<&str>,
    ) -> Result<LoadSpec, UnknownName> {
        let protocol = self.protocol(workload, server, only)?;
        let starttls = protocol.starts_tls().then(|| TlsSpec {
            server_name: self.address().ip().to_string(),
            resumption: true,
            trust: Trust::Anyone,
            proof: KeyProof::Once,
            identity: None,
        });
        let tls = self.certificate.as_deref().map(trusted_by_client);
        // One operation alone has no walk, and nothing beside it.
        let users = if only.is_none() { workload.load.users.clone() } else { None };
        let outside = match only {
            None => workload.load.outside.specs(server.protocol, &self.access(workload, server)),
            Some(_) => Outside::default(),
        };
        let visits = if only.is_none() { workload.load.visits.clone() } else { None };
        let shape = visits.map(|visits| Shape::Open { rate: visits.rate, arrivals: visits.arrivals });
        Ok(LoadSpec::closed(protocol, self.address(), workload.load.connections)
            .with_addresses(self.addresses.clone())
            .with_sockets(self.sockets.clone())
            .with_tls(tls.or(starttls))
            .with_duration(None)
            .with_timeout(workload.load.timeout)
            .with_users(users)
            .with_outside(outside)
            .with_shape(shape.unwrap_or(Shape::closed()))
            .with_seed(self.seed))
    }
}

/// The client's side of a certificate in this file. The client always offers to resume a session; the server accepts or declines.
pub fn trusted_by_client(certificate: &Path) -> TlsSpec {
    TlsSpec {
        server_name: CERTIFIED_NAME.to_owned(),
        resumption: true,
        trust: Trust::File(certificate.to_string_lossy().into_owned()),
        proof: KeyProof::Once,
        identity: None,
    }
}
