//! What servers need of the system: whether it is installed, and whether this user may run them.

use std::collections::BTreeMap;
use std::path::Path;

use host::Host;
use host::packages::{Dependency, Error};

use crate::definition::{
    PreloadedAllocator, ServerDefinition, TypedValue, Workload, named_program, own_build,
};
use crate::instance::InstanceError;
use crate::instance::private::certificate;
use crate::variant::ServerVariant;

impl ServerDefinition {
    /// What it needs of the system where these knobs are set: its program, its needs, and the library of an allocator. A program
    /// that is started by its path, or that is a build of the user's own, is there.
    pub fn dependencies(&self, knobs: &BTreeMap<String, TypedValue>) -> Vec<Dependency> {
        let program = if own_build(knobs).is_none() { named_program(&self.start) } else { None };
        let program = program.map(|name| Dependency::program(name, self.packages.clone()));
        let needs = self.needs.iter().filter(|need| need.applies(knobs));
        let allocator = PreloadedAllocator::of(knobs).and_then(|allocator| allocator.library());
        let own = program.into_iter().chain(needs.map(|need| need.dependency.clone())).chain(allocator);
        own.chain(self.dependencies_of_companions(knobs)).collect()
    }

    /// What its companions need. Knobs of the server decide about their needs, and not about their programs.
    fn dependencies_of_companions(&self, knobs: &BTreeMap<String, TypedValue>) -> Vec<Dependency> {
        let mut all = Vec::new();
        for process in self.companions.iter().map(|companion| &companion.process) {
            let program = named_program(&process.start);
            all.extend(program.map(|name| Dependency::program(name, process.packages.clone())));
            let needs = process.needs.iter().filter(|need| need.applies(knobs));
            all.extend(needs.map(|need| need.dependency.clone()));
        }
        all
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
        if rustix::process::geteuid().is_root() {
            return Ok(());
        }
        let Some(server) = self.servers.iter().find(|known| known.name == server) else { return Ok(()) };
        let companions = server.companions.iter().map(|companion| &companion.process);
        match [server].into_iter().chain(companions).find(|process| process.needs_root) {
            Some(process) => Err(InstanceError::NeedsRoot { server: process.name.clone() }),
            None => Ok(()),
        }
    }

    /// What a variant needs of the system.
    pub fn dependencies(&self, variant: &ServerVariant) -> Vec<Dependency> {
        let of_load = self.load.is_tls.then(certificate::program);
        let server = self.servers.iter().find(|server| server.name == variant.server);
        let of_server = server.into_iter().flat_map(|server| server.dependencies(&variant.knobs));
        of_load.into_iter().chain(of_server).collect()
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
