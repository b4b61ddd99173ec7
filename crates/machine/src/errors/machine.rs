//! What goes wrong with a machine: each in one line with the reason and the remedy, and with the host's name where it is
//! not this one.

use host::process::LogText;

use crate::errors::call::CallError;
use crate::errors::local::LocalError;
use crate::transport::OpenError;

/// What went wrong with a machine.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// This machine could not do what was asked.
    #[error(transparent)]
    Local(#[from] LocalError),
    /// No agent could be started.
    #[error("host {host}: {source}")]
    Open {
        /// The host's name.
        host: String,
        /// The reason and the remedy.
        source: OpenError,
    },
    /// The link to its agent has ended.
    #[error("host {host} was lost: {reason}: {remedy}")]
    Lost {
        /// The host's name.
        host: String,
        /// Why.
        reason: String,
        /// What to do.
        remedy: String,
    },
    /// The agent could not do what was asked.
    #[error("host {host}: {source}")]
    Call {
        /// The host's name.
        host: String,
        /// The agent's reason.
        source: CallError,
    },
    /// The agent answers pings and not this request.
    #[error("host {host}: no answer for {seconds} s: is it overloaded? Start again")]
    Slow {
        /// The host's name.
        host: String,
        /// How long it was waited for.
        seconds: u64,
    },
    /// A program that the agent started has failed.
    #[error("host {host}: its {program} ended ({why}): start again")]
    Program {
        /// The host's name.
        host: String,
        /// Which program.
        program: &'static str,
        /// Its last words, or its status.
        why: String,
    },
    /// The agent sent something that is not of this protocol.
    #[error("host {host} sent an answer that is not of this version ({why}): report this as a bug")]
    Protocol {
        /// The host's name.
        host: String,
        /// What is wrong with it.
        why: String,
    },
    /// Its servers cannot listen where the hosts file says.
    #[error("host {host} {why}: correct its address in the hosts file")]
    Address {
        /// The host's name.
        host: String,
        /// The address and the system's reason.
        why: String,
    },
    /// The hosts file names CPUs that the host does not have.
    #[error("host {host} has the CPUs {has}, not all of {wanted}: correct cpus in the hosts file")]
    Cpus {
        /// The host's name.
        host: String,
        /// The CPUs of the hosts file.
        wanted: String,
        /// Those of the host.
        has: String,
    },
    /// What only a machine without a connection can do.
    #[error("host {host}: {what} cannot be asked of another machine: run the same command on that host")]
    OnlyHere {
        /// The host's name.
        host: String,
        /// What was asked.
        what: &'static str,
    },
    /// Ctrl-C.
    #[error("interrupted")]
    Interrupted,
}

impl MachineError {
    /// The logs of a server of this machine that did not start, with their names.
    pub fn logs(&self) -> &[(String, LogText)] {
        if let Self::Local(LocalError::Server(error)) = self { error.logs() } else { &[] }
    }

    /// Whether the hosts file says of the host what is not true there.
    pub fn is_of_hosts_file(&self) -> bool {
        matches!(self, Self::Address { .. } | Self::Cpus { .. })
    }

    /// Whether a server did not do its work, and its machine and the way to it did theirs. Of what an agent could not do, only servers
    /// are known to fail now and then.
    pub fn is_of_server(&self) -> bool {
        match self {
            Self::Local(LocalError::Server(error)) => error.is_of_server(),
            Self::Call { source, .. } => matches!(source, CallError::Failed { .. }),
            _ => false,
        }
    }

    /// The host that it is about; none where that is this machine.
    pub fn host(&self) -> Option<&str> {
        match self {
            Self::Open { host, .. }
            | Self::Lost { host, .. }
            | Self::Call { host, .. }
            | Self::Slow { host, .. }
            | Self::Address { host, .. }
            | Self::Cpus { host, .. }
            | Self::Program { host, .. }
            | Self::Protocol { host, .. }
            | Self::OnlyHere { host, .. } => Some(host),
            Self::Local(_) | Self::Interrupted => None,
        }
    }
}
