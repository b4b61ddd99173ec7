//! What a host says of a server's start, checked, and the load that follows from this side's workload.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use load::drivers::password::PasswordSource;
use load::spec::LoadSpec;
use workload::{InstanceError, ServerFiles, StartedServer, Workload, has_certificate};

use super::limits::{LONGEST_CERTIFICATE_BYTES, LONGEST_PASSWORD, LOWEST_PORT};
use crate::errors::local::LocalError;
use crate::errors::machine::MachineError;
use crate::interface::machine::ServerOrder;
use crate::protocol::servers::{ServerStart, StartPassword};

/// A server that was ordered of a host.
pub(super) struct OrderedServer {
    pub workload: Workload,
    pub order: ServerOrder,
    /// For the files that its load reads.
    pub directory: PathBuf,
}

/// Writes a file that only this user can read.
fn write(directory: &Path, name: &str, text: &str) -> Result<PathBuf, LocalError> {
    let path = directory.join(name);
    let written = fs::DirBuilder::new().recursive(true).mode(0o700).create(directory).and_then(|()| {
        let mut file = fs::OpenOptions::new();
        let mut file = file.write(true).create(true).truncate(true).mode(0o600).open(&path)?;
        file.write_all(text.as_bytes())
    });
    written.map(|()| path).map_err(|source| LocalError::System { what: "write a file for the load", source })
}

/// What is wrong with the ports of a server with this number of instances.
fn check_ports(ports: &[u16], instances: u16) -> Result<(), String> {
    let different = ports.iter().collect::<BTreeSet<_>>().len();
    if ports.len() != usize::from(instances) || different != ports.len() {
        return Err(format!("{} ports for {instances} instances", ports.len()));
    }
    match ports.iter().find(|port| **port < LOWEST_PORT) {
        Some(port) => Err(format!("port {port} of the system")),
        None => Ok(()),
    }
}

/// What is wrong with a certificate, where one is expected or not.
fn check_certificate(certificate: Option<&str>, is_expected: bool) -> Result<(), String> {
    match certificate {
        Some(_) if !is_expected => Err("a certificate for a load without TLS".to_owned()),
        None if is_expected => Err("no certificate".to_owned()),
        Some(text) if text.len() > LONGEST_CERTIFICATE_BYTES || !text.is_ascii() => {
            Err("a certificate that is no PEM".to_owned())
        }
        _ => Ok(()),
    }
}

/// What is wrong with a password, where one is expected or not.
fn check_password(password: Option<&StartPassword>, is_expected: bool) -> Result<(), String> {
    let is_plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric());
    match password {
        Some(_) if !is_expected => Err("a password for a server without one".to_owned()),
        None if is_expected => Err("no password".to_owned()),
        Some(StartPassword(text)) if text.is_empty() || text.len() > LONGEST_PASSWORD || !is_plain(text) => {
            Err("a password that no start makes".to_owned())
        }
        _ => Ok(()),
    }
}

impl OrderedServer {
    /// The files whose names this side's workload gives to the server's, each once: no host names a file here.
    pub fn of_known_names<T>(
        &self,
        files: Vec<(String, T)>,
        known: fn(&ServerFiles) -> &[String],
    ) -> Vec<(String, T)> {
        let Ok(server) = self.workload.server(&self.order.variant.server) else { return Vec::new() };
        let of_server = ServerFiles::of(server, &self.order.variant);
        let mut seen = BTreeSet::new();
        let is_known = |name: &String| known(&of_server).contains(name);
        files.into_iter().filter(|(name, _)| is_known(name) && seen.insert(name.clone())).collect()
    }

    /// How many parts of the server have an account of their own: none of a server without companions.
    pub fn parts_with_accounts(&self) -> usize {
        let server = self.workload.server(&self.order.variant.server);
        server.map_or(0, |server| server.accounts().len())
    }

    /// The load for the server that a host has started.
    pub fn load_spec(&self, host: &str, start: &ServerStart) -> Result<LoadSpec, MachineError> {
        let ServerOrder { variant, address, connections, seed, on_op, .. } = &self.order;
        let workload = self.workload.for_variant(variant, *connections).map_err(of_this_side)?;
        let server = workload.server(&variant.server).map_err(of_this_side)?;
        let ServerStart { ports, certificate, password } = start;
        check_ports(ports, variant.instances())
            .and_then(|()| check_certificate(certificate.as_deref(), has_certificate(server)))
            .and_then(|()| check_password(password.as_ref(), server.has_password))
            .map_err(|why| MachineError::Protocol { host: host.to_owned(), why })?;
        let write = |name, text: &String| write(&self.directory, name, text);
        let certificate = certificate.as_ref().map(|text| write("certificate.pem", text)).transpose()?;
        let password = password.as_ref().map(|StartPassword(text)| write("password", text)).transpose()?;
        let started = StartedServer {
            addresses: ports.iter().map(|port| (*address, *port).into()).collect(),
            // No client here reaches a socket there: the host refuses such a start.
            sockets: Vec::new(),
            password: password.map(PasswordSource::File),
            certificate,
            pipes: None,
            seed: *seed,
        };
        Ok(started.load_spec(&workload, server, on_op.as_deref()).map_err(of_this_side)?)
    }
}

/// An error of this side's workload.
fn of_this_side(error: impl Into<InstanceError>) -> LocalError {
    LocalError::from(error.into())
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use load::tls::Trust;
    use workload::Catalogue;

    use super::*;

    fn ordered(directory: &tempfile::TempDir, workload: &str, variant: &str) -> OrderedServer {
        let workload = Catalogue::with("/nowhere").find(workload).expect("a workload");
        let (server, knob) = variant.split_once(':').unwrap_or((variant, ""));
        let order = ServerOrder {
            trial: 1,
            name: server.to_owned(),
            variant: workload.variant(server, knob.split_once('=')).expect("a variant"),
            cpus: "0".parse().expect("a CPU"),
            address: [10, 1, 0, 2].into(),
            connections: 8,
            seed: 7,
            on_op: None,
        };
        OrderedServer { workload, order, directory: directory.path().join("1") }
    }

    fn start(ports: &[u16], certificate: Option<&str>, password: Option<&str>) -> ServerStart {
        ServerStart {
            ports: ports.to_vec(),
            certificate: certificate.map(str::to_owned),
            password: password.map(|text| StartPassword(text.to_owned())),
        }
    }

    #[test]
    fn the_load_is_that_of_this_side_at_the_address_of_the_order() -> Result<(), Box<dyn std::error::Error>> {
        let directory = tempfile::tempdir()?;
        let redis = ordered(&directory, "cache", "redis:instances=2");
        let spec = redis.load_spec("h", &start(&[7001, 7002], None, Some("abc")))?;
        let expected: [SocketAddr; 2] = [([10, 1, 0, 2], 7001).into(), ([10, 1, 0, 2], 7002).into()];
        assert_eq!((spec.addresses.as_slice(), spec.sources.len()), (&expected[..], 0));
        assert_eq!(spec.protocol.protocol().name(), "redis");
        assert_eq!(fs::read_to_string(directory.path().join("1/password"))?, "abc");
        let web = ordered(&directory, "tls", "nginx");
        let spec = web.load_spec("h", &start(&[7001], Some("-----BEGIN"), None))?;
        let file = directory.path().join("1/certificate.pem").display().to_string();
        assert_eq!(spec.tls.map(|tls| tls.trust), Some(Trust::File(file)));
        Ok(())
    }

    #[test]
    fn what_no_start_has_is_refused() {
        let directory = tempfile::tempdir().expect("a directory");
        let (cache, web) =
            (ordered(&directory, "cache", "redis"), ordered(&directory, "static-web", "nginx"));
        let long = "x".repeat(1 << 20);
        let refused = |ordered: &OrderedServer, start: &ServerStart| {
            let error = ordered.load_spec("h", start).expect_err("it is refused").to_string();
            assert!(error.starts_with("host h sent an answer that is not of this version ("), "{error}");
            assert!(error.len() < 200, "{error}");
        };
        for ports in [&[][..], &[22], &[0], &[7001, 7002]] {
            refused(&cache, &start(ports, None, Some("abc")));
        }
        for password in [None, Some(""), Some("a\nb"), Some("../x"), Some(long.as_str())] {
            refused(&cache, &start(&[7001], None, password));
        }
        refused(&web, &start(&[7001], None, Some("abc")));
        refused(&web, &start(&[7001], Some("-----BEGIN"), None));
        assert!(!directory.path().join("1").exists(), "nothing is written of what is refused");
    }

    #[test]
    fn a_host_names_no_file() {
        let directory = tempfile::tempdir().expect("a directory");
        let web = ordered(&directory, "static-web", "nginx:instances=2");
        let sent = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), ())).collect::<Vec<_>>();
        let kept = |names: &[&str], of: fn(&ServerFiles) -> &[String]| {
            let files = web.of_known_names(sent(names), of);
            files.into_iter().map(|(name, ())| name).collect::<Vec<_>>()
        };
        let logs = [
            "server.log",
            "client-telemetry.parquet",
            "../../x",
            "a\0b",
            "trial.json",
            "server.log",
            "instance-3-server.log",
            "instance-2-server.log",
        ];
        assert_eq!(kept(&logs, |known| &known.logs), ["server.log", "instance-2-server.log"]);
        let files = ["command", "nginx.conf", "instance-2-nginx.conf", "/etc/passwd", "../plan.toml"];
        assert_eq!(kept(&files, |known| &known.configuration), files[..3]);
    }

    #[test]
    fn a_reply_with_anything_else_is_no_start() {
        for text in [
            r#"{"ports":[7001],"certificate":null,"password":null,"addresses":["127.0.0.9:1"]}"#,
            r#"{"ports":[7001],"certificate":{"file":"/etc/passwd"},"password":null}"#,
            r#"{"ports":[7001],"certificate":null,"password":{"environment":"SECRET"}}"#,
            r#"{"spec":{"addresses":["127.0.0.9:1"]},"files":[]}"#,
        ] {
            assert!(serde_json::from_str::<ServerStart>(text).is_err(), "{text}");
        }
    }
}
