//! The companions of a running server: started in the order of the file, each ready before the next, and stopped in reverse order, also
//! where a later start fails. Each is an [`Instance`] of its own, with its own directory, port, log and supervisor.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use load::connecting::UnixSocket;

use super::error::InstanceError;
use super::options::StartOptions;
use super::private::credentials::ServerCredentials;
use super::running::Instance;
use super::starting::start::Role;
use crate::definition::{CompanionDefinition, TypedValue, Workload};
use crate::render;

/// What the names of a companion's directory and files begin with.
pub(crate) fn prefix(name: &str) -> String {
    format!("companion-{name}-")
}

/// The running companions of a server. Dropping it stops them, the last one first.
#[derive(Debug, Default)]
pub(crate) struct Companions(Vec<Companion>);

/// A running companion.
#[derive(Debug)]
pub(crate) struct Companion {
    /// Its name.
    pub name: String,
    /// Its process.
    pub instance: Instance,
}

impl Companions {
    /// Starts them, each after the one before is ready. They have the CPUs of their server, and the server's password where they ask
    /// for one. They listen on loopback: only their server uses them.
    pub fn start(
        workload: &Workload,
        definitions: &[CompanionDefinition],
        knobs: &BTreeMap<String, TypedValue>,
        options: &StartOptions,
        credentials: &ServerCredentials,
    ) -> Result<Self, InstanceError> {
        let mut started = Self::default();
        for CompanionDefinition { name, process } in definitions {
            let own = StartOptions {
                directory: options.directory.join(prefix(name).trim_end_matches('-')),
                address: IpAddr::V4(Ipv4Addr::LOCALHOST),
                ..options.clone()
            };
            let password = if process.has_password { credentials.password.clone() } else { None };
            let credentials = ServerCredentials { password, certificate: None };
            let role = Role::Companion { knobs, earlier: &started };
            let instance = Instance::start_as(role, workload, process, &own, Some(credentials))?;
            started.0.push(Companion { name: name.clone(), instance });
        }
        Ok(started)
    }

    /// All of them, in the order of their start.
    pub fn iter(&self) -> impl Iterator<Item = &Companion> {
        self.0.iter()
    }

    /// The variable `companion` of templates; none without a companion.
    pub fn variable(&self) -> minijinja::Value {
        if self.0.is_empty() {
            return minijinja::Value::from(());
        }
        let values = self.iter().map(|companion| (companion.name.clone(), companion.instance.as_variable()));
        minijinja::Value::from_iter(values)
    }

    /// Stops them, the last one first. All are stopped, also where stopping one fails.
    pub fn stop(&mut self) -> Result<(), InstanceError> {
        let mut outcome = Ok(());
        while let Some(mut last) = self.0.pop() {
            outcome = last.instance.stop().map(drop).and(outcome);
        }
        outcome
    }
}

impl Drop for Companions {
    fn drop(&mut self) {
        // What does not stop on request is killed when it is dropped.
        let _ = self.stop();
    }
}

impl Instance {
    /// What templates of later processes know of it.
    fn as_variable(&self) -> minijinja::Value {
        let socket = self.socket.as_ref().map(UnixSocket::path);
        render::companion(self.address, self.directory(), socket.map(Path::new))
    }
}
