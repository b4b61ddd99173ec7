//! What to start, as plain data that could be sent to another machine.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use super::Pipes;
use crate::affinity::CpuSet;

/// A server to start: an argument list (never a shell), where, with what, and how it is stopped.
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
    /// What messages call it.
    pub name: String,
    /// The program (looked up in `PATH` of `env`; relative paths count from `dir`) and its arguments.
    pub argv: Vec<String>,
    /// The working directory.
    pub dir: PathBuf,
    /// The file that gets standard output and error, appended.
    pub log: PathBuf,
    /// Pipes for standard input and output, if the program is to be talked to; the log gets standard error alone
    /// then.
    pub pipes: Option<Pipes>,
    /// The whole environment: nothing is inherited, so that two sides cannot differ by the user's shell.
    pub env: BTreeMap<String, String>,
    /// The CPUs that it may use; all of ours if not given.
    pub cpus: Option<CpuSet>,
    /// As whom it runs; as we do if not given. Only root may give up its rights.
    #[serde(default)]
    pub run_as: Option<RunAs>,
    /// The signal that asks it to stop.
    pub stop: StopSignal,
    /// How long it may take to stop before it is killed.
    pub grace: Duration,
}

/// A user and a group, and no further groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunAs {
    /// The user's number.
    pub uid: u32,
    /// The group's number.
    pub gid: u32,
}

impl ServerCommand {
    /// A server with [`base_environment`], all CPUs, and five seconds to stop after SIGTERM.
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
            run_as: None,
            stop: StopSignal::Term,
            grace: Duration::from_secs(5),
        }
    }
}

/// The few variables that a server gets from us: who and where the user is, and `PATH` with the `sbin`
/// directories, which Debian leaves out for ordinary users and puts nginx and apache2 in, and those of PostgreSQL,
/// the newest first.
///
/// `LC_ALL` is `C.UTF-8` on all sides, so that logs can be read by programs.
pub fn base_environment() -> BTreeMap<String, String> {
    let mut env: BTreeMap<_, _> = ["HOME", "LOGNAME", "PATH", "TMPDIR", "TZ", "USER"]
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
    for directory in own_directories() {
        path.push(':');
        path.push_str(&directory);
    }
    env.insert("LC_ALL".into(), "C.UTF-8".into());
    env
}

/// Where Debian puts PostgreSQL's programs: a directory for each version, of which the last is the newest.
fn own_directories() -> Vec<String> {
    let version = |path: &PathBuf| path.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok());
    let entries = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut versions: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|p| version(p).is_some()).collect();
    versions.sort_by_key(|path| std::cmp::Reverse(version(path)));
    versions.iter().map(|path| path.join("bin").display().to_string()).collect()
}

/// The signals by which servers are asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum StopSignal {
    /// What most understand.
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
    fn the_base_environment_finds_servers_in_sbin_and_leaks_nothing_else() {
        let env = base_environment();
        assert!(env["PATH"].split(':').any(|dir| dir == "/usr/sbin"));
        assert_eq!(env["LC_ALL"], "C.UTF-8");
        assert!(!env.contains_key("CARGO_MANIFEST_DIR"));
    }
}
