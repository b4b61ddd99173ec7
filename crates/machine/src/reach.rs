//! How the hosts of a hosts file are reached: by a child process here, or by ssh.

use std::path::PathBuf;
use std::sync::Arc;

use crate::hosts_file::HostEntry;
use crate::program::Programs;
use crate::transport::Transport;

/// How hosts are reached.
#[derive(Debug, Clone)]
pub struct ReachOptions {
    /// The program that runs as the agent on this machine.
    pub local_agent: PathBuf,
    /// The programs that are copied to other hosts.
    pub programs: Arc<Programs>,
}

impl ReachOptions {
    /// The way to a host.
    pub fn transport(&self, host: &HostEntry) -> Transport {
        match &host.ssh {
            None => Transport::Local { program: self.local_agent.clone() },
            Some(destination) => {
                Transport::Ssh { destination: destination.clone(), programs: Arc::clone(&self.programs) }
            }
        }
    }
}
