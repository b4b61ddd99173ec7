//! The programs that servers need: whether they are installed, and whether this user may run them.

use std::path::Path;

use host::Host;
use host::packages::{Error, Program};
use host::process::base_environment;

use crate::definition::{ServerDefinition, Workload, named_program};
use crate::instance::{InstanceError, certificate};

impl ServerDefinition {
    /// The program that it needs from the system; none where it starts a program by its path.
    pub fn program(&self) -> Option<Program> {
        let name = named_program(&self.start)?;
        Some(Program { name: name.to_owned(), packages: self.packages.clone() })
    }

    /// Whether that program is installed.
    pub fn is_installed(&self) -> bool {
        self.program().is_none_or(|program| {
            let path = base_environment().remove("PATH").unwrap_or_default();
            path.split(':').any(|directory| Path::new(directory).join(&program.name).is_file())
        })
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

    /// Installs the missing programs of these servers, with the installer's output in `log`. Where this user may not
    /// install packages, the error names the command to run.
    pub fn ensure_programs<'a>(
        &self,
        servers: impl IntoIterator<Item = &'a str>,
        host: &Host,
        log: &Path,
    ) -> Result<(), Error> {
        if self.load.is_tls {
            host.ensure_program(&certificate::program(), log)?;
        }
        for name in servers {
            let server = self.servers.iter().find(|server| server.name == name);
            if let Some(program) = server.and_then(ServerDefinition::program) {
                host.ensure_program(&program, log)?;
            }
        }
        Ok(())
    }
}
