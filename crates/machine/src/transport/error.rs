//! Why there is no agent on a host, and what to do.

use std::io;

use super::link::LinkError;
use super::ssh_failure::SshFailure;

/// Why no agent could be started on a host.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is no ssh here.
    #[error("cannot start ssh: {0}: install openssh-client")]
    NoSsh(io::Error),
    /// The program could not be started here.
    #[error("cannot start an agent: {0}")]
    Start(io::Error),
    /// ssh says why.
    #[error("{}: {}", .0.reason, .0.remedy)]
    Ssh(SshFailure),
    /// The login gives no shell that runs the script.
    #[error(
        "the login works, and its shell does not run the agent ({why}): check with `ssh {destination} uname`"
    )]
    Login {
        /// What the shell did instead.
        why: String,
        /// Where ssh went.
        destination: String,
    },
    /// It does not run Linux.
    #[error("it runs {system}, and showdown runs on Linux only: take it out of the hosts file")]
    System {
        /// The name of its kernel.
        system: String,
    },
    /// There is no program for it.
    #[error("it is {is}, and the program here is for {}: pass --program {is}=PATH with a build of showdown for {is}", .has.join(", "))]
    Architecture {
        /// Its architecture.
        is: String,
        /// Those that there are programs for.
        has: Vec<String>,
    },
    /// The user has no home.
    #[error(
        "the user has no home directory there to keep the program in: give it one, or set XDG_CACHE_HOME for it"
    )]
    NoHome,
    /// The cache cannot be made.
    #[error(
        "cannot make a directory for the program ({why}): make the home directory writable, or set XDG_CACHE_HOME to a place that is"
    )]
    Directory {
        /// What mkdir(1) said.
        why: String,
    },
    /// There is not enough room.
    #[error("no room for the program: it has {} MB, and {free_mb} MB are free in its cache: free some space, or set XDG_CACHE_HOME to another place", .needed_mb)]
    NoRoom {
        /// The size of the program.
        needed_mb: u64,
        /// What is free.
        free_mb: u64,
    },
    /// The program could not be written.
    #[error(
        "cannot write the program ({why}): free some space in its home directory, or set XDG_CACHE_HOME to another place"
    )]
    Write {
        /// What head(1) or mv(1) said.
        why: String,
    },
    /// What arrived is not what was sent.
    #[error(
        "the program did not arrive as it was sent: start again; if that does not help, check the disk of the host"
    )]
    Damaged,
    /// The program does not run there.
    #[error("the program does not run there ({why}): {remedy}")]
    Run {
        /// What the shell or the loader said.
        why: String,
        /// What to do.
        remedy: &'static str,
    },
    /// It gets no rights of root.
    #[error(
        "its agent gets no rights of root ({why}): {remedy} without a password, or take `become` out of the hosts file"
    )]
    Become {
        /// What the command said.
        why: String,
        /// What to do.
        remedy: &'static str,
    },
    /// The agent ended at once.
    #[error("its agent ended at its start ({why}): start again")]
    Agent {
        /// Its last words.
        why: String,
    },
    /// The agent is of another version.
    #[error(
        "its agent is showdown {is}, protocol {protocol}; this is {own}: pass --program with a build of this version"
    )]
    Version {
        /// The agent's version.
        is: String,
        /// The agent's protocol.
        protocol: u32,
        /// This version and protocol.
        own: String,
    },
    /// The agent is of other sources of this version.
    #[error(
        "its agent is another build of showdown {version} (of the sources {is}; this is of {own}): pass --program with a build of \
         the same sources"
    )]
    Sources {
        /// The version of both.
        version: String,
        /// The hash of the agent's sources.
        is: String,
        /// That of this program.
        own: String,
    },
    /// The link broke without a word.
    #[error("{0}: check the network to the host, and start again")]
    Link(LinkError),
    /// Ctrl-C.
    #[error("interrupted")]
    Interrupted,
}

impl From<LinkError> for OpenError {
    fn from(error: LinkError) -> Self {
        match error {
            LinkError::Interrupted => Self::Interrupted,
            error => Self::Link(error),
        }
    }
}

/// The remedy for a command that gives no rights.
pub(super) fn cannot_become(why: String) -> OpenError {
    let is_there = !why.contains("not found") && !why.contains("No such file");
    let remedy = if is_there {
        "permit the command of `become`"
    } else {
        "install the command of `become`, permit it"
    };
    OpenError::Become { why, remedy }
}

/// The remedy for a program that does not run.
pub(super) fn cannot_run(why: String) -> OpenError {
    let remedy = match why.as_str() {
        why if why.contains("Permission denied") => {
            "its home may be mounted noexec: set XDG_CACHE_HOME to a place where programs may run"
        }
        why if why.contains("GLIBC_") || why.contains("not found") || why.contains("No such file") => {
            "its C library is older than that of this build: pass --program with a build for it"
        }
        _ => "pass --program with a build for it",
    };
    OpenError::Run { why, remedy }
}
