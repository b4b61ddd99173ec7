//! What servers need of the system: whether it is installed, and whether this user may run them.

use std::collections::BTreeMap;
use std::path::Path;

use host::Host;
use host::packages::{Dependency, Error};

use crate::definition::{ServerDefinition, TypedValue, Workload, named_program};
use crate::instance::{InstanceError, certificate};
use crate::variant::ServerVariant;

impl ServerDefinition {
    /// What it needs of the system where these knobs are set: its program, unless it starts one by its path, and its needs.
    pub fn dependencies(&self, knobs: &BTreeMap<String, TypedValue>) -> Vec<Dependency> {
        let program = named_program(&self.start).map(|name| Dependency::program(name, self.packages.clone()));
        let needs = self.needs.iter().filter(|need| need.applies(&self.knobs, knobs));
        program.into_iter().chain(needs.map(|need| need.dependency.clone())).collect()
    }

    /// What is missing of that, with all knobs as they are by default.
    pub fn missing(&self, host: &Host) -> Vec<Dependency> {
        let all = self.dependencies(&BTreeMap::new()).into_iter();
        all.filter(|dependency| !host.has(dependency)).collect()
    }
}

impl Workload {
    /// Checks that this user may run the server of this name.
    pub fn check_rights(&self, server: &str) -> Result<(), InstanceError> {
        let needs_root = self.servers.iter().any(|known| known.name == server && known.needs_root);
        if needs_root && !rustix::process::geteuid().is_root() {
            return Err(InstanceError::NeedsRoot { server: server.to_owned() });
        }
        Ok(())
    }

    /// What a variant needs of the system. A build of one's own is there, with what it needs.
    pub fn dependencies(&self, variant: &ServerVariant) -> Vec<Dependency> {
        let of_load = self.load.is_tls.then(certificate::program);
        let is_its =
            |server: &&ServerDefinition| server.name == variant.server && variant.own_build().is_none();
        let of_server = self.servers.iter().find(is_its).map(|server| server.dependencies(&variant.knobs));
        of_load.into_iter().chain(of_server.into_iter().flatten()).collect()
    }

    /// Installs what these variants need and what is missing, with the installer's output in `log`. Where this user may not
    /// install packages, the error names the command to run.
    pub fn ensure_dependencies(
        &self,
        variants: &[ServerVariant],
        host: &Host,
        log: &Path,
    ) -> Result<(), Error> {
        let mut all = variants.iter().flat_map(|variant| self.dependencies(variant));
        all.try_for_each(|dependency| host.ensure(&dependency, log).map(drop))
    }
}
