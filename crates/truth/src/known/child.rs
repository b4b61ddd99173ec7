//! Starts a known server in its own process, and reads its account.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use host::process::tcp_probe;
use host::{CpuSet, Host, ServerCommand, ServerProcess};
use rustix::process::{Pid, Signal, kill_process};

use super::account::{Account, ServedRequest};
use super::behaviour::Behaviour;
use load::clock::Nanos;

/// The verb with which this program runs a known server.
pub const VERB: &str = "__known-server";

/// Time limit for the start of a server and for its answers.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Why a known server failed.
#[derive(Debug, thiserror::Error)]
pub enum ChildError {
    /// It does not start, or it died.
    #[error(transparent)]
    Process(#[from] host::process::Error),
    /// No port is free.
    #[error(transparent)]
    Port(#[from] host::ports::Error),
    /// This program cannot be found, so it cannot be started as a server.
    #[error("cannot find the path of this program: {0}")]
    Program(io::Error),
    /// It does not answer.
    #[error("a known server does not answer: {0}: check that the machine has free memory and processes")]
    NoAnswer(io::Error),
    /// Its answer is malformed.
    #[error("a known server gave a malformed answer: {0}")]
    Malformed(&'static str),
    /// Its account is malformed.
    #[error("a known server gave a malformed account: {0}")]
    Account(#[from] serde_json::Error),
    /// It cannot be frozen.
    #[error("cannot send a signal to a known server: {0}")]
    Signal(io::Error),
}

/// A running known server: this program with the verb [`VERB`]. Dropping it stops the server.
#[derive(Debug)]
pub struct KnownServer {
    running: ServerProcess,
    address: SocketAddr,
}

impl KnownServer {
    /// Starts a server on a free loopback port; the port of `behaviour` is ignored. Its log goes to `directory`.
    pub fn start(
        host: &Host,
        behaviour: &Behaviour,
        cpus: Option<&CpuSet>,
        directory: &Path,
    ) -> Result<Self, ChildError> {
        let ip = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let port = host.free_ports(ip, 1)?[0];
        let address = SocketAddr::new(ip, port);
        let program = std::env::current_exe().map_err(ChildError::Program)?;
        let behaviour = Behaviour { host: ip, port, ..behaviour.clone() };
        let argv = [program.display().to_string(), VERB.to_owned()].into_iter().chain(behaviour.arguments());
        let mut command =
            ServerCommand::new("a known server", argv, directory, directory.join("known-server.log"));
        command.cpus = cpus.cloned();
        let running = host.start(&command)?;
        running.wait_ready(TIMEOUT, tcp_probe(address))?;
        let server = Self { running, address };
        server.account()?;
        Ok(server)
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its own counts and times.
    pub fn account(&self) -> Result<Account, ChildError> {
        account_of(self.address)
    }

    /// Every request answered successfully, in the order of the replies; empty without a log.
    pub fn log(&self) -> Result<Vec<ServedRequest>, ChildError> {
        let text = ask(self.address, "/log")?;
        let served = |line: &str| {
            let (received, sent) = line.split_once(',')?;
            Some(ServedRequest { received: Nanos(received.parse().ok()?), sent: Nanos(sent.parse().ok()?) })
        };
        let all: Option<Vec<ServedRequest>> = text.lines().skip(1).map(served).collect();
        all.ok_or(ChildError::Malformed("a line of its log is not a request"))
    }

    /// Freezes it from outside, as a debugger or a hypervisor does.
    pub fn freeze(&self) -> Result<(), ChildError> {
        self.signal(Signal::STOP)
    }

    /// Ends the freeze.
    pub fn resume(&self) -> Result<(), ChildError> {
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> Result<(), ChildError> {
        let pid = Pid::from_raw(self.running.pid().cast_signed());
        let pid = pid.ok_or(ChildError::Malformed("it has no process id"))?;
        kill_process(pid, signal).map_err(|errno| ChildError::Signal(errno.into()))
    }
}

/// The counts and times of a known server, by itself.
pub fn account_of(address: SocketAddr) -> Result<Account, ChildError> {
    Ok(serde_json::from_str(&ask(address, "/account")?)?)
}

/// Waits until a known server accepts connections.
pub fn wait_for(address: SocketAddr) -> Result<(), ChildError> {
    let until = Instant::now() + TIMEOUT;
    loop {
        match TcpStream::connect_timeout(&address, TIMEOUT) {
            Ok(_) => return Ok(()),
            Err(error) if Instant::now() > until => return Err(ChildError::NoAnswer(error)),
            Err(_) => thread::sleep(Duration::from_millis(5)),
        }
    }
}

fn ask(address: SocketAddr, path: &str) -> Result<String, ChildError> {
    let answer = || -> io::Result<String> {
        let mut stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.write_all(format!("GET {path} HTTP/1.1\r\n\r\n").as_bytes())?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        Ok(text)
    };
    let text = answer().map_err(ChildError::NoAnswer)?;
    let body = text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned());
    body.ok_or(ChildError::Malformed("there is no body"))
}
