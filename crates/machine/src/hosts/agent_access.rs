//! How the hosts of a hosts file are reached: by a child process here, or by ssh.

use std::path::PathBuf;
use std::sync::Arc;

use host::lock_owner::LockOwner;

use crate::hosts::host_entry::HostEntry;
use crate::program::{ProgramError, Programs};
use crate::transport::Transport;

/// How hosts are reached.
#[derive(Debug, Clone)]
pub struct AgentAccess {
    /// The program that runs as the agent on this machine.
    pub local_agent: PathBuf,
    /// The programs that are copied to other hosts.
    pub programs: Arc<Programs>,
    /// The run that they are reserved for.
    pub owner: LockOwner,
}

impl AgentAccess {
    /// How this program reaches these hosts for a new run. `builds` has the user's builds for other architectures, each as
    /// `ARCHITECTURE=PATH`.
    pub fn to<'h>(
        hosts: impl IntoIterator<Item = &'h HostEntry>,
        builds: &[String],
    ) -> Result<Self, ProgramError> {
        // To read and strip a program takes a moment, and a host without ssh needs none.
        let uses_ssh = hosts.into_iter().any(|host| host.ssh.is_some());
        let programs = if uses_ssh { Programs::with(builds)? } else { Programs::default() };
        let owner = LockOwner::of_random(rand::random());
        Ok(Self { local_agent: "/proc/self/exe".into(), programs: Arc::new(programs), owner })
    }

    /// The same for the run that has reserved this machine: a host may be this machine, too.
    #[must_use]
    pub fn for_run(self, owner: LockOwner) -> Self {
        Self { owner, ..self }
    }

    /// The way to a host.
    pub fn transport(&self, host: &HostEntry) -> Transport {
        match &host.ssh {
            None => Transport::Local { program: self.local_agent.clone() },
            Some(destination) => Transport::Ssh {
                destination: destination.clone(),
                programs: Arc::clone(&self.programs),
                become_root: host.become_root.clone(),
            },
        }
    }
}
