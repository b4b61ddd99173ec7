//! Starts the companions of a server in the order of the file, each after the one before is ready. Those that run are stopped where a later
//! one does not start.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use load::connecting::UnixSocket;
use minijinja::Value;

use crate::definition::{CompanionDefinition, TypedValue, Workload};
use crate::instance::error::InstanceError;
use crate::instance::options::StartOptions;
use crate::instance::private::credentials::ServerCredentials;
use crate::instance::running::{Companions, Instance, companion_prefix};
use crate::render;
use crate::variant::ServerVariant;

/// What a process is to its workload.
#[derive(Clone, Copy)]
pub(in crate::instance) enum Role<'a> {
    /// The server of this variant.
    Server(&'a ServerVariant),
    /// A companion of a server with these values of knobs, after these companions.
    Companion {
        /// Of the server.
        knobs: &'a BTreeMap<String, TypedValue>,
        /// Those that templates may refer to.
        earlier: &'a Companions,
    },
}

/// Starts them. They have the CPUs of their server, and the server's password where they ask for one. They listen on loopback: only
/// their server uses them.
pub(super) fn start(
    workload: &Workload,
    definitions: &[CompanionDefinition],
    knobs: &BTreeMap<String, TypedValue>,
    options: &StartOptions,
    credentials: &ServerCredentials,
) -> Result<Companions, InstanceError> {
    let mut started = Companions::default();
    for CompanionDefinition { name, process } in definitions {
        let own = StartOptions {
            directory: options.directory.join(companion_prefix(name).trim_end_matches('-')),
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            ..options.clone()
        };
        let password = if process.has_password { credentials.password.clone() } else { None };
        let credentials = ServerCredentials { password, certificate: None };
        let role = Role::Companion { knobs, earlier: &started };
        match Instance::start_as(role, workload, process, &own, Some(credentials)) {
            Ok(instance) => started.push(name, instance),
            Err(error) => return Err(error.with_prefix(&companion_prefix(name)).with_logs(started.logs())),
        }
    }
    Ok(started)
}

/// The variable `companion` of templates; none without a companion.
pub(super) fn variable(companions: &Companions) -> Value {
    let mut values = BTreeMap::new();
    for companion in companions.iter() {
        let instance = &companion.instance;
        let socket = instance.socket.as_ref().map(UnixSocket::path);
        let value = render::companion(instance.address, instance.directory(), socket.map(Path::new));
        values.insert(companion.name.clone(), value);
    }
    if values.is_empty() { Value::from(()) } else { Value::from(values) }
}
