//! Ways to an agent. Each starts a child process whose standard input and output carry frames from some moment on.

mod bootstrap;
mod error;
mod link;
mod local;
mod ssh;
mod ssh_failure;

use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub use bootstrap::copied_programs;
pub use error::OpenError;
pub(crate) use link::POLL_INTERVAL;
pub use link::{Link, LinkError, LinkPipes, LinkProcess};
pub use ssh::OpenProgress;
pub use ssh_failure::{SshFailure, explain, killed};

use crate::program::Programs;

/// A way to an agent.
#[derive(Debug, Clone)]
pub enum Transport {
    /// A child process on this machine.
    Local {
        /// The program; it must have the verb `agent`.
        program: PathBuf,
    },
    /// The system's ssh.
    Ssh {
        /// Where to.
        destination: String,
        /// What runs there.
        programs: Arc<Programs>,
        /// The words before its command, for root's rights.
        become_root: Vec<String>,
    },
}

impl Transport {
    /// Starts the agent. `nonce` is a word that no login file prints.
    pub fn open(
        &self,
        nonce: &str,
        interrupted: Arc<AtomicBool>,
        observe: &dyn Fn(OpenProgress),
    ) -> Result<Link, OpenError> {
        match self {
            Self::Local { program } => local::open(program, nonce, interrupted),
            Self::Ssh { destination, programs, become_root } => {
                let command = bootstrap::command(nonce, programs, become_root);
                ssh::open(destination, programs, &command, nonce, interrupted, observe)
            }
        }
    }

    /// Why a link that worked has ended, by its last words and its status, if it has one.
    pub fn explain_end(&self, words: &str, status: Option<ExitStatus>) -> SshFailure {
        let last = words.lines().map(str::trim).rfind(|line| !line.is_empty());
        let by_signal = status.filter(|status| status.signal().is_some());
        match (self, by_signal, last) {
            (Self::Ssh { .. }, Some(status), _) => killed(status),
            (Self::Ssh { destination, .. }, None, Some(_)) => explain(words, destination),
            (Self::Local { .. }, None, Some(last)) => again(last.to_owned()),
            (_, _, None) | (Self::Local { .. }, Some(_), _) => again("its agent was killed".to_owned()),
        }
    }
}

fn again(reason: String) -> SshFailure {
    SshFailure { reason, remedy: "start again".to_owned() }
}
