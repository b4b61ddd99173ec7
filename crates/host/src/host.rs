//! The seam: a machine, and what can be asked of it.

use std::path::PathBuf;

use crate::process::{self, Running, ServerCommand};

/// A machine. Today it is this one; a machine behind SSH will be another constructor of this type.
#[derive(Debug, Clone)]
pub struct Host {
    keeper: PathBuf,
}

impl Host {
    /// This machine, with this program as the keeper of servers: its `main` calls [`crate::keeper_main`].
    pub fn local() -> Self {
        Self::local_with_keeper("/proc/self/exe")
    }

    /// This machine, with another program as the keeper of servers.
    pub fn local_with_keeper(program: impl Into<PathBuf>) -> Self {
        Self { keeper: program.into() }
    }

    /// Starts a server.
    pub fn start(&self, command: &ServerCommand) -> Result<Running, process::Error> {
        process::start(&self.keeper, command)
    }
}
