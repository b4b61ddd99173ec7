//! What is checked before a balancer is touched: each thing that would make a shift of weight wrong is refused, with its remedy. What
//! cannot be seen is named as unseen, so that a person can vouch for it.

use std::fs::{self, File};
use std::io::Read;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use super::answers::{self, BackendStatistics};
use super::client::Haproxy;
use super::configuration::{self, Obstacle};
use crate::balancer::interface::{Balancer, BalancerError};

/// The algorithm under which equal weights are equal shares, request by request.
const ALGORITHM: &str = "roundrobin";

/// The first HAProxy whose `add server` takes a health check and is not experimental.
const OLDEST_VERSION: (u32, u32) = (2, 6);

/// The largest configuration that is read.
const MOST_CONFIGURATION_BYTES: u64 = 4 << 20;

/// Why weight is not shifted at this balancer.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The socket is of another program.
    #[error("{} is no admin socket of HAProxy ({reason}): give the path of its `stats socket`", socket.display())]
    NotHaproxy {
        /// The socket.
        socket: PathBuf,
        /// What it answers.
        reason: String,
    },
    /// It cannot add servers with a health check.
    #[error(
        "this is HAProxy {version}, which adds no server with a health check while it runs (`add server` is experimental, or missing): use HAProxy {}.{} or newer",
        OLDEST_VERSION.0, OLDEST_VERSION.1
    )]
    TooOld {
        /// Its version.
        version: String,
    },
    /// The socket may not change weights.
    #[error("{} has level {level}: add `level admin` to its line `stats socket` and reload HAProxy", socket.display())]
    NotAdmin {
        /// The socket.
        socket: PathBuf,
        /// Its level.
        level: String,
    },
    /// HAProxy has no such backend.
    #[error("HAProxy has no backend {backend}: it has {known}")]
    NoBackend {
        /// The wanted one.
        backend: String,
        /// Those that it has.
        known: String,
    },
    /// Shares do not follow the weights.
    #[error(
        "backend {backend} has {}, under which equal weights are not equal shares: set `balance {ALGORITHM}` and reload HAProxy",
        named(algorithm)
    )]
    Algorithm {
        /// The backend.
        backend: String,
        /// Its algorithm. Empty if HAProxy does not say it; `unknown` is `random`.
        algorithm: String,
    },
    /// Sessions of mail need another mode than requests.
    #[error("backend {backend} has mode {mode}: {remedy}")]
    Mode {
        /// The backend.
        backend: String,
        /// Its mode.
        mode: String,
        /// What to change.
        remedy: &'static str,
    },
    /// Clients are bound to servers by a cookie.
    #[error(
        "backend {backend} binds clients to servers by the cookie {cookie}, which ignores weights: remove `cookie` for the time of the shift"
    )]
    Cookies {
        /// The backend.
        backend: String,
        /// The cookie.
        cookie: String,
    },
    /// The configuration has something that only it tells.
    #[error("{}:{line} has {obstacle}: {}", file.display(), remedy(*obstacle))]
    Configuration {
        /// The file.
        file: PathBuf,
        /// Its line.
        line: usize,
        /// What is there.
        obstacle: Obstacle,
    },
    /// An agent changes weights.
    #[error("server {server} has an agent-check, which changes weights: remove `agent-check` from its line")]
    AgentCheck {
        /// Backend and server.
        server: String,
    },
    /// A server's weight is growing.
    #[error(
        "server {server} is in its slowstart: wait until it has its whole weight, and remove `slowstart`"
    )]
    SlowStart {
        /// Backend and server.
        server: String,
    },
    /// Each process has weights of its own.
    #[error("HAProxy runs {count} processes with weights of their own: set `nbproc 1`, and use `nbthread`")]
    SeveralProcesses {
        /// How many.
        count: u32,
    },
    /// A reload has happened, and this process only finishes.
    #[error("the HAProxy behind {} is stopping: wait until the new process has the socket", socket.display())]
    Stopping {
        /// The socket.
        socket: PathBuf,
    },
    /// A server of that name exists.
    #[error(
        "backend {backend} has a server {server} already, with weight {weight}: use another name, or remove it with `set server {backend}/{server} state maint` and `del server {backend}/{server}`"
    )]
    Exists {
        /// The backend.
        backend: String,
        /// The server.
        server: String,
        /// Its weight.
        weight: u32,
    },
    /// The address of the new server is that of a server with traffic.
    #[error(
        "{server} is at {address}, where {backend}/{other} takes traffic: start {server} at an address of its own, and give that one"
    )]
    AddressTaken {
        /// The new server.
        server: String,
        /// Its address.
        address: SocketAddr,
        /// The backend.
        backend: String,
        /// The server that is there.
        other: String,
    },
    /// The new server does not answer.
    #[error("{server} does not accept connections at {address} ({reason}): start it first")]
    CandidateDown {
        /// The server.
        server: String,
        /// Its address.
        address: SocketAddr,
        /// The system's reason.
        reason: String,
    },
    /// The configuration that was named cannot be read.
    #[error("cannot read the configuration {}: {reason}: give a file that you may read", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The system's reason.
        reason: String,
    },
    /// The balancer does not answer as it should.
    #[error(transparent)]
    Balancer(#[from] BalancerError),
}

fn named(algorithm: &str) -> String {
    match algorithm {
        "" => "an algorithm that this socket does not name".to_owned(),
        "unknown" => "an algorithm that HAProxy does not name, such as random".to_owned(),
        named => format!("balance {named}"),
    }
}

fn remedy(obstacle: Obstacle) -> &'static str {
    match obstacle {
        Obstacle::StateFile => {
            "a reload would bring the candidate's weight back: set `load-server-state-from-file none` for the time of the shift"
        }
        Obstacle::SlowStart => {
            "weights would not be those that were set: remove it for the time of the shift"
        }
        Obstacle::AgentCheck => "an agent changes weights: remove it for the time of the shift",
        Obstacle::Cookie | Obstacle::StickTable => {
            "it binds clients to servers: remove it for the time of the shift"
        }
        Obstacle::PrefersLastServer => {
            "connections stay at their server: remove it for the time of the shift"
        }
        Obstacle::UseServer => "it sends requests past the weights: remove it for the time of the shift",
    }
}

/// What could not be checked. A person has to vouch for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unseen(pub String);

/// What a check has found out.
#[derive(Debug)]
pub struct Checked {
    /// What could not be seen, one line each.
    pub unseen: Vec<Unseen>,
    /// What a person should know before the start, one line each.
    pub notes: Vec<String>,
    /// The configuration files that were read.
    pub read: Vec<PathBuf>,
}

/// Checks that servers can be added. A version that is not two numbers is not refused: what it cannot do, it refuses itself.
fn check_version(version: &str) -> Result<(), Refusal> {
    let mut numbers = version.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) if (major, minor) < OLDEST_VERSION => {
            Err(Refusal::TooOld { version: version.to_owned() })
        }
        _ => Ok(()),
    }
}

/// Checks that a backend has sessions if the plan is of mail, and requests if it is not.
fn check_mode(backend: &str, mode: &str, is_mail: bool) -> Result<(), Refusal> {
    let remedy = match (mode, is_mail) {
        ("http", false) | ("tcp", true) => return Ok(()),
        (_, true) => "mail needs `mode tcp`; set it, or remove mail_log from the plan",
        // Of a session, the balancer does not say whether it went well.
        (_, false) => {
            "there the servers' own logs must be read, which is done for mail; add [candidate] mail_log, or set `mode http`"
        }
    };
    Err(Refusal::Mode { backend: backend.to_owned(), mode: mode.to_owned(), remedy })
}

/// Checks a balancer before anything is changed. `is_mail` says whether the plan reads logs of mail servers. `configuration` is the file that the user has named; without it, the files that HAProxy
/// names are read, where this user may.
pub fn check(
    balancer: &mut Haproxy,
    is_mail: bool,
    configuration: Option<&Path>,
) -> Result<Checked, Refusal> {
    let socket = balancer.socket().path().to_owned();
    let info = match balancer.info() {
        Ok(info) if info.name == "HAProxy" => info,
        Ok(info) => {
            return Err(Refusal::NotHaproxy {
                socket,
                reason: format!("it says that it is {:?}", info.name),
            });
        }
        Err(BalancerError::Unreadable { reason, .. } | BalancerError::Silent { reason, .. }) => {
            return Err(Refusal::NotHaproxy { socket, reason });
        }
        Err(error) => return Err(error.into()),
    };
    check_version(&info.version)?;
    let level = balancer.socket().ask("show cli level")?;
    if level.trim() != "admin" {
        return Err(Refusal::NotAdmin { socket, level: answers::in_one_line(&level) });
    }
    if info.is_stopping {
        return Err(Refusal::Stopping { socket });
    }
    if info.processes > 1 {
        return Err(Refusal::SeveralProcesses { count: info.processes });
    }
    let Some(statistics) = balancer.statistics()? else {
        let known = balancer.socket().ask("show backend")?;
        let known: Vec<&str> =
            known.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
        let (backend, known) = (balancer.backend().to_string(), answers::in_one_line(&known.join(", ")));
        return Err(Refusal::NoBackend { backend, known });
    };
    check_statistics(balancer.backend().as_str(), &statistics)?;
    check_mode(balancer.backend().as_str(), &statistics.mode, is_mail)?;
    for server in balancer.read()? {
        if server.has_agent {
            return Err(Refusal::AgentCheck { server: format!("{}/{}", balancer.backend(), server.name) });
        }
    }
    check_configuration(balancer, info.pid, configuration)
}

/// What the statistics tell.
fn check_statistics(backend: &str, statistics: &BackendStatistics) -> Result<(), Refusal> {
    let backend = backend.to_owned();
    if statistics.algorithm != ALGORITHM {
        return Err(Refusal::Algorithm { backend, algorithm: statistics.algorithm.clone() });
    }
    if !statistics.cookie.is_empty() {
        return Err(Refusal::Cookies { backend, cookie: statistics.cookie.clone() });
    }
    for server in &statistics.servers {
        if server.is_throttled {
            return Err(Refusal::SlowStart { server: format!("{backend}/{}", server.counters.name) });
        }
    }
    Ok(())
}

/// What only the configuration tells.
fn check_configuration(balancer: &Haproxy, pid: u32, named: Option<&Path>) -> Result<Checked, Refusal> {
    let backend = balancer.backend().as_str();
    let mut checked = Checked { unseen: Vec::new(), notes: Vec::new(), read: Vec::new() };
    let files = match named {
        Some(file) => vec![file.to_owned()],
        None => files_of(balancer, pid),
    };
    for file in files {
        let text = match read(&file) {
            Ok(text) => text,
            Err(reason) if named.is_some() => return Err(Refusal::Unreadable { file, reason }),
            Err(_) => continue,
        };
        if let Some(found) = configuration::obstacles(&text, backend).first() {
            return Err(Refusal::Configuration { file, line: found.line, obstacle: found.obstacle });
        }
        if configuration::redispatches(&text, backend) == Some(false) {
            checked.notes.push(format!(
                "backend {backend} has no `option redispatch`: a user gets an error for each request that the candidate refuses; add it, and \
                 reload HAProxy before you begin"
            ));
        }
        checked.read.push(file);
    }
    if checked.read.is_empty() {
        let what = "no state file, slowstart, stick table or use-server is configured, and `option redispatch` is \
                    (the configuration cannot be read here: name the file in the plan)";
        checked.unseen.push(Unseen(what.to_owned()));
    }
    checked.unseen.push(Unseen("no other balancer sends requests to these servers".to_owned()));
    Ok(checked)
}

/// The configuration files that HAProxy says it has read, as this process finds them.
fn files_of(balancer: &Haproxy, pid: u32) -> Vec<PathBuf> {
    let Ok(answer) = balancer.socket().ask("show env HAPROXY_CFGFILES") else { return Vec::new() };
    let Some((_, files)) = answer.trim().split_once('=') else { return Vec::new() };
    // Who has opened the socket is the master process, which is in no chroot. In a container, `pid` is a number of the container.
    let processes = [balancer.socket().listener(), Some(pid)];
    for pid in processes.into_iter().flatten().filter(|pid| is_haproxy(*pid)) {
        let found = files.split(';').filter(|file| !file.is_empty()).filter_map(|file| seen_by(pid, file));
        let found: Vec<PathBuf> = found.flat_map(|path| files_below(&path)).collect();
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

fn is_haproxy(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "haproxy")
}

/// The path by which this process finds a file that another one has under this name: in its working directory, and below its root, which
/// may be that of a container. A process that has changed its root since then has read the file below the common one.
fn seen_by(pid: u32, file: &str) -> Option<PathBuf> {
    let process = Path::new("/proc").join(pid.to_string());
    let path = fs::read_link(process.join("cwd")).ok()?.join(file);
    let inside = process.join("root").join(path.strip_prefix("/").unwrap_or(&path));
    if inside.exists() {
        return Some(inside);
    }
    let is_common = fs::read_link(process.join("ns/mnt")).ok()? == fs::read_link("/proc/self/ns/mnt").ok()?;
    if is_common && path.exists() { Some(path) } else { None }
}

/// A file, or the files of a directory in the order of their names, as HAProxy's `-f` takes it.
fn files_below(path: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(path) else { return vec![path.to_owned()] };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "cfg"));
    files.sort();
    files
}

fn read(file: &Path) -> Result<String, String> {
    let mut text = Vec::new();
    let opened = File::open(file).map_err(|error| error.to_string())?;
    if !opened.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return Err("it is no plain file".to_owned());
    }
    let length = opened
        .take(MOST_CONFIGURATION_BYTES + 1)
        .read_to_end(&mut text)
        .map_err(|error| error.to_string())?;
    if length as u64 > MOST_CONFIGURATION_BYTES {
        return Err(format!("it is longer than {MOST_CONFIGURATION_BYTES} bytes"));
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::balancer::haproxy::answers::ServerStatistics;

    #[test]
    fn a_haproxy_without_servers_added_at_run_time_is_refused() {
        for version in ["2.6.12-1+deb12u2", "2.6-dev3", "3.0.1", "10.1", "unknown"] {
            assert!(check_version(version).is_ok(), "{version}");
        }
        for version in ["2.4.22", "2.5.0-1ppa1", "1.8.30"] {
            let refusal = check_version(version).unwrap_err().to_string();
            assert!(refusal.contains(version) && refusal.ends_with("use HAProxy 2.6 or newer"), "{refusal}");
        }
    }

    fn statistics(algorithm: &str, cookie: &str) -> BackendStatistics {
        let (algorithm, cookie) = (algorithm.to_owned(), cookie.to_owned());
        let servers = vec![ServerStatistics::default()];
        BackendStatistics { algorithm, cookie, servers, mode: "http".to_owned() }
    }

    #[test]
    fn mail_has_sessions_and_anything_else_has_requests() {
        assert!(check_mode("b", "http", false).is_ok() && check_mode("b", "tcp", true).is_ok());
        for (mode, is_mail, words) in [
            ("http", true, "backend b has mode http: mail needs `mode tcp`"),
            ("tcp", false, "backend b has mode tcp: there the servers' own logs must be read"),
        ] {
            let refusal = check_mode("b", mode, is_mail).unwrap_err().to_string();
            assert!(refusal.starts_with(words), "{refusal}");
        }
    }

    #[test]
    fn statistics_refuse_in_one_line_with_a_remedy() {
        assert!(check_statistics("b", &statistics("roundrobin", "")).is_ok());
        for (statistics, words) in [
            (statistics("leastconn", ""), "backend b has balance leastconn, under which"),
            (statistics("unknown", ""), "such as random, under which"),
            (statistics("static-rr", ""), "set `balance roundrobin`"),
            (statistics("", ""), "this socket does not name"),
            (statistics("roundrobin", "SRV"), "by the cookie SRV, which ignores weights: remove `cookie`"),
        ] {
            let refusal = check_statistics("b", &statistics).expect_err(words).to_string();
            assert!(refusal.contains(words) && !refusal.contains('\n'), "{refusal}");
        }
    }
}
