//! A known server in a process of its own, as its owner sees it.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use host::process::{ServerCommand, ServerProcess, tcp_probe};
use host::{CpuSet, Host};
use rustix::process::{Pid, Signal, kill_process};

use super::account::{Account, Served};
use super::behaviour::Behaviour;
use load::clock::Nanos;

/// The verb under which the program of this process serves.
pub const VERB: &str = "__known-server";

/// How long a server may take to start, and to answer a question about itself.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why a known server did not do what it is for.
#[derive(Debug, thiserror::Error)]
pub enum ChildError {
    /// It does not start, or has died.
    #[error(transparent)]
    Process(#[from] host::process::Error),
    /// No port is free.
    #[error(transparent)]
    Port(#[from] host::ports::Error),
    /// It does not answer.
    #[error("a known server does not tell its account: {0}: is the machine out of memory or processes?")]
    Mute(String),
    /// It cannot be frozen.
    #[error("a known server cannot be sent a signal: {0}")]
    Signal(io::Error),
}

/// A known server that was started: this program under [`VERB`]. It is stopped when this is dropped.
#[derive(Debug)]
pub struct KnownServer {
    running: ServerProcess,
    address: SocketAddr,
}

impl KnownServer {
    /// Starts one on a free port of loopback, whatever port `behaviour` names; its log goes to `directory`.
    pub fn start(
        host: &Host,
        behaviour: &Behaviour,
        cpus: Option<&CpuSet>,
        directory: &Path,
    ) -> Result<Self, ChildError> {
        let ip = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let port = host.free_ports(ip, 1)?[0];
        let address = SocketAddr::new(ip, port);
        let program = std::env::current_exe().map_err(|error| ChildError::Mute(error.to_string()))?;
        let behaviour = Behaviour { host: ip, port, ..behaviour.clone() };
        let argv = [program.display().to_string(), VERB.to_owned()].into_iter().chain(behaviour.arguments());
        let mut command =
            ServerCommand::new("a known server", argv, directory, directory.join("known-server.log"));
        command.cpus = cpus.cloned();
        let running = host.start(&command)?;
        running.wait_ready(PATIENCE, tcp_probe(address))?;
        let server = Self { running, address };
        server.account()?;
        Ok(server)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it tells of itself.
    pub fn account(&self) -> Result<Account, ChildError> {
        let text = self.ask("/account")?;
        serde_json::from_str(&text).map_err(|error| ChildError::Mute(error.to_string()))
    }

    /// Every request that was answered well, in the order of the replies; empty unless it keeps a log.
    pub fn log(&self) -> Result<Vec<Served>, ChildError> {
        let text = self.ask("/log")?;
        let served = |line: &str| {
            let (received, sent) = line.split_once(',')?;
            Some(Served { received: Nanos(received.parse().ok()?), sent: Nanos(sent.parse().ok()?) })
        };
        let all: Option<Vec<Served>> = text.lines().skip(1).map(served).collect();
        all.ok_or_else(|| ChildError::Mute("its log has a line that is no request".to_owned()))
    }

    /// Freezes it from outside, as a debugger or a hypervisor does.
    pub fn stop_the_world(&self) -> Result<(), ChildError> {
        self.signal(Signal::STOP)
    }

    /// Lets it go on.
    pub fn resume(&self) -> Result<(), ChildError> {
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> Result<(), ChildError> {
        let pid = Pid::from_raw(self.running.pid().cast_signed());
        let pid = pid.ok_or_else(|| ChildError::Mute("it has no process".to_owned()))?;
        kill_process(pid, signal).map_err(|errno| ChildError::Signal(errno.into()))
    }

    fn ask(&self, path: &str) -> Result<String, ChildError> {
        let answer = || -> io::Result<String> {
            let mut stream = TcpStream::connect_timeout(&self.address, PATIENCE)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.write_all(format!("GET {path} HTTP/1.1\r\n\r\n").as_bytes())?;
            let mut text = String::new();
            stream.read_to_string(&mut text)?;
            Ok(text)
        };
        let text = answer().map_err(|error| ChildError::Mute(error.to_string()))?;
        let body = text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned());
        body.ok_or_else(|| ChildError::Mute("its answer has no body".to_owned()))
    }
}
