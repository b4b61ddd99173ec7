//! The description of a server to start, as plain data that can be sent to another machine.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use super::Pipes;
use crate::affinity::CpuSet;

/// A server to start: its arguments (no shell is involved), directory, environment, and how to stop it.
///
/// ```
/// use host::{CpuSet, ServerCommand};
/// # fn main() -> Result<(), host::affinity::ParseError> {
/// let nginx = ServerCommand {
///     cpus: Some("0-1".parse::<CpuSet>()?),
///     ..ServerCommand::new("nginx", ["nginx", "-p", ".", "-g", "daemon off;"], "/tmp/nginx", "/tmp/nginx/log")
/// };
/// assert_eq!(nginx.argv[0], "nginx");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerCommand {
    /// The name in messages.
    pub name: String,
    /// The program and its arguments. The program is searched in the `PATH` of `env`; a relative path is
    /// relative to `dir`.
    pub argv: Vec<String>,
    /// The working directory.
    pub dir: PathBuf,
    /// The file to which standard output and standard error are appended. This process's user creates it, and gives it to
    /// the user of `run_as`, who need not be able to enter its directory. That directory must be trusted.
    pub log: PathBuf,
    /// Pipes for standard input and output, for programs that communicate through them. The log then gets only
    /// standard error. They are opened and given away as the log is.
    pub pipes: Option<Pipes>,
    /// The whole environment. Nothing is inherited, so that the user's shell cannot make two variants differ.
    pub env: BTreeMap<String, String>,
    /// The CPUs that it may use. None: all CPUs of this process.
    pub cpus: Option<CpuSet>,
    /// Whether the kernel keeps it on these CPUs, and on the memory of their nodes, whatever affinity it asks for. Where this
    /// user cannot have a control group for that, it only begins with the affinity.
    #[serde(default)]
    pub is_confined: bool,
    /// The limit of open files (descriptors), at most this process's hard limit. None: the limit that this process had
    /// when it called [`crate::supervisor_main`].
    #[serde(default)]
    pub descriptors: Option<u64>,
    /// The user that it runs as. None: the current user. Only root may change the user.
    #[serde(default)]
    pub run_as: Option<RunAs>,
    /// The names of the settings that lower its need of memory, for messages.
    #[serde(default)]
    pub memory_settings: Vec<String>,
    /// The signal that requests a stop.
    pub stop: StopSignal,
    /// The command that stops it instead, for a server that another program has started. It runs as the server does; if it fails, the
    /// signal is sent.
    #[serde(default)]
    pub stop_command: Option<Vec<String>>,
    /// The address at which it will listen, where nobody does before. A process that listens there and has started since belongs to
    /// it, whoever has started it.
    #[serde(default)]
    pub listens: Option<SocketAddr>,
    /// The grace period: how long it may take to stop before it is killed.
    pub grace: Duration,
}

/// A user and a group, without supplementary groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunAs {
    /// The user ID.
    pub uid: u32,
    /// The group ID.
    pub gid: u32,
}

impl ServerCommand {
    /// A server with [`base_environment`], all CPUs, SIGTERM and a grace period of five seconds.
    pub fn new<A: Into<String>>(
        name: impl Into<String>,
        argv: impl IntoIterator<Item = A>,
        dir: impl Into<PathBuf>,
        log: impl Into<PathBuf>,
    ) -> Self {
        Self {
            name: name.into(),
            argv: argv.into_iter().map(Into::into).collect(),
            dir: dir.into(),
            log: log.into(),
            pipes: None,
            env: base_environment(),
            cpus: None,
            is_confined: false,
            descriptors: None,
            run_as: None,
            memory_settings: Vec::new(),
            stop: StopSignal::Term,
            stop_command: None,
            listens: None,
            grace: Duration::from_secs(5),
        }
    }
}

/// The directory of this program, if `PATH` can have it.
fn directory_of_this_program() -> Option<String> {
    let program = std::env::current_exe().ok()?;
    let directory = program.parent()?.to_str()?;
    if directory.contains(':') { None } else { Some(directory.to_owned()) }
}

/// The environment of a server: the user's identity, `TZ`, and an extended `PATH`.
///
/// `PATH` also has the `sbin` directories, where Debian installs nginx and apache2 and which it leaves out for
/// ordinary users, the directories of PostgreSQL, the newest version first, and last the directory of this program, which may have
/// others beside it. `LC_ALL` is always `C.UTF-8`, so
/// that programs can parse the logs. `TMPDIR` is not inherited: a server may run as a user who may not write there.
pub fn base_environment() -> BTreeMap<String, String> {
    let mut env: BTreeMap<_, _> = ["HOME", "LOGNAME", "PATH", "TZ", "USER"]
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?)))
        .collect();
    let path = env.entry("PATH".into()).or_insert_with(|| "/usr/local/bin:/usr/bin:/bin".into());
    for sbin in ["/usr/local/sbin", "/usr/sbin", "/sbin"] {
        if !path.split(':').any(|dir| dir == sbin) {
            path.push(':');
            path.push_str(sbin);
        }
    }
    for directory in postgresql_directories() {
        path.push(':');
        path.push_str(&directory);
    }
    if let Some(beside) = directory_of_this_program() {
        path.push(':');
        path.push_str(&beside);
    }
    env.insert("LC_ALL".into(), "C.UTF-8".into());
    env
}

/// Debian's directories of PostgreSQL programs, one for each version, newest first.
fn postgresql_directories() -> Vec<String> {
    let version = |path: &PathBuf| path.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok());
    let entries = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut versions: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|p| version(p).is_some()).collect();
    versions.sort_by_key(|path| std::cmp::Reverse(version(path)));
    versions.iter().map(|path| path.join("bin").display().to_string()).collect()
}

/// The signals that request a stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum StopSignal {
    /// The usual signal.
    #[default]
    #[serde(rename = "SIGTERM")]
    Term,
    /// `PostgreSQL`'s fast shutdown.
    #[serde(rename = "SIGINT")]
    Int,
    /// nginx's graceful shutdown.
    #[serde(rename = "SIGQUIT")]
    Quit,
    /// Apache httpd's graceful stop.
    #[serde(rename = "SIGWINCH")]
    Winch,
}

impl From<StopSignal> for Signal {
    fn from(signal: StopSignal) -> Self {
        match signal {
            StopSignal::Term => Self::TERM,
            StopSignal::Int => Self::INT,
            StopSignal::Quit => Self::QUIT,
            StopSignal::Winch => Self::WINCH,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_environment_has_sbin_and_no_other_variables() {
        let env = base_environment();
        assert!(env["PATH"].split(':').any(|dir| dir == "/usr/sbin"));
        let beside = std::env::current_exe().expect("a program");
        assert_eq!(env["PATH"].rsplit(':').next(), beside.parent().and_then(|directory| directory.to_str()));
        assert_eq!(env["LC_ALL"], "C.UTF-8");
        assert!(!env.contains_key("CARGO_MANIFEST_DIR"));
    }
}
