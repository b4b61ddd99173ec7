//! HAProxy as a [`Balancer`]: commands to its admin socket. Each command is built from names and numbers that were checked, never from a
//! text of somebody else.

use std::fmt::Write;
use std::path::Path;

use super::admin_socket::AdminSocket;
use super::answers::{self, AnswerError, BackendStatistics, Info};
use crate::balancer::interface::{
    BackendCounters, Balancer, BalancerError, HIGHEST_WEIGHT, NewServer, Remaining, ServerReading,
};
use crate::name::Name;
use crate::observation::BalancerIdentity;

/// How often HAProxy checks a server that was added, and after how many failures it sends nothing more: two failures are at most one
/// second, and one lost packet is no failure.
const CHECK: &str = "inter 500ms fall 2 rise 1";

/// One backend of a HAProxy.
#[derive(Debug, Clone)]
pub struct Haproxy {
    socket: AdminSocket,
    backend: Name,
}

impl Haproxy {
    /// The backend behind this admin socket, which is not opened yet.
    pub fn new(socket: &Path, backend: &Name) -> Self {
        Self { socket: AdminSocket::new(socket), backend: backend.clone() }
    }

    /// The admin socket.
    pub fn socket(&self) -> &AdminSocket {
        &self.socket
    }

    /// The backend.
    pub fn backend(&self) -> &Name {
        &self.backend
    }

    /// What HAProxy says of its process.
    pub fn info(&self) -> Result<Info, BalancerError> {
        let command = "show info";
        answers::info(&self.socket.ask(command)?).map_err(|error| unreadable(command, &error))
    }

    /// What HAProxy says of the backend. None if it has none of this name.
    pub fn statistics(&self) -> Result<Option<BackendStatistics>, BalancerError> {
        let command = "show stat";
        let answer = self.socket.ask(command)?;
        answers::statistics(&answer, self.backend.as_str()).map_err(|error| unreadable(command, &error))
    }

    fn of_backend(&self) -> Result<BackendStatistics, BalancerError> {
        self.statistics()?
            .ok_or_else(|| BalancerError::NoServer { server: format!("of a backend {}", self.backend) })
    }

    /// Backend and server, as commands name it.
    fn path(&self, server: &Name) -> String {
        format!("{}/{server}", self.backend)
    }

    /// A command that changes something, whose answer is an empty line.
    fn change(&self, command: &str) -> Result<(), BalancerError> {
        let answer = self.socket.ask(command)?;
        answers::done(&answer).map_err(|answer| refused(command, answer))
    }

    /// A command whose success is a sentence.
    fn change_with_words(&self, command: &str, success: &str) -> Result<(), BalancerError> {
        let answer = self.socket.ask(command)?;
        if answer.contains(success) { Ok(()) } else { Err(refused(command, answers::in_one_line(&answer))) }
    }

    fn weight(&self, server: &Name) -> Result<u32, BalancerError> {
        let command = format!("get weight {}", self.path(server));
        let answer = self.socket.ask(&command)?;
        answers::weight(&answer).map_err(|error| match error {
            AnswerError::Other(words) if is_missing(&words) => self.no_server(server),
            error => unreadable(&command, &error),
        })
    }

    fn no_server(&self, server: &Name) -> BalancerError {
        BalancerError::NoServer { server: self.path(server) }
    }
}

/// Whether HAProxy says that it does not know a server or its backend.
fn is_missing(answer: &str) -> bool {
    ["No such server", "No such backend", "Can't find"].iter().any(|words| answer.contains(words))
}

fn refused(command: &str, answer: String) -> BalancerError {
    BalancerError::Refused { command: command.to_owned(), answer }
}

fn unreadable(command: &str, error: &AnswerError) -> BalancerError {
    BalancerError::Unreadable { command: command.to_owned(), reason: error.to_string() }
}

impl Balancer for Haproxy {
    fn now(&mut self) -> Result<(BalancerIdentity, BackendCounters), BalancerError> {
        let info = self.info()?;
        let of_backend = self.of_backend()?;
        let identity = BalancerIdentity {
            pid: info.pid,
            started_s: info.started_s,
            algorithm: of_backend.algorithm,
            version: format!("{} {}", info.name, info.version),
            master: self.socket.listener(),
        };
        let servers = of_backend.servers.into_iter().map(|server| server.counters).collect();
        Ok((identity, BackendCounters { servers, dropped_log_lines: info.dropped_log_lines }))
    }

    fn read(&mut self) -> Result<Vec<ServerReading>, BalancerError> {
        let command = format!("show servers state {}", self.backend);
        let answer = self.socket.ask(&command)?;
        let read = answers::servers(&answer, self.backend.as_str());
        read.map_err(|error| unreadable(&command, &error))
    }

    fn set(&mut self, server: &Name, weight: u32) -> Result<(), BalancerError> {
        let command = format!("set server {} weight {}", self.path(server), weight.min(HIGHEST_WEIGHT));
        match self.change(&command) {
            Err(BalancerError::Refused { answer, .. }) if is_missing(&answer) => {
                return Err(self.no_server(server));
            }
            other => other?,
        }
        let stored = self.weight(server)?;
        if stored == weight {
            return Ok(());
        }
        Err(BalancerError::NotTaken { server: self.path(server), requested: weight, stored })
    }

    fn remaining(&mut self, server: &Name) -> Result<Remaining, BalancerError> {
        let of_backend = self.of_backend()?;
        let counters = of_backend.servers.into_iter().map(|server| server.counters);
        let found = counters.into_iter().find(|counters| counters.name == server.as_str());
        let counters = found.ok_or_else(|| self.no_server(server))?;
        Ok(Remaining { sessions: counters.in_progress, queued: counters.queued })
    }

    fn add(&mut self, server: &NewServer) -> Result<(), BalancerError> {
        let path = self.path(&server.name);
        let mut command = format!("add server {path} {} weight 0", server.address);
        if let Some(check) = server.check {
            let _ = write!(command, " check addr {} port {} {CHECK}", check.ip(), check.port());
        }
        if server.sends_proxy_header {
            command.push_str(" send-proxy-v2");
            if server.check.is_some() {
                command.push_str(" check-send-proxy");
            }
        }
        if let Some(most) = server.most_connections {
            let _ = write!(command, " maxconn {most}");
        }
        self.change_with_words(&command, "New server registered")?;
        if server.check.is_some() {
            self.change(&format!("enable health {path}"))?;
        }
        // Last: a server that is not enabled gets nothing, whatever goes wrong before this line.
        self.change(&format!("enable server {path}"))?;
        let stored = self.weight(&server.name)?;
        if stored == 0 { Ok(()) } else { Err(BalancerError::NotTaken { server: path, requested: 0, stored }) }
    }

    fn withdraw(&mut self, server: &Name) -> Result<(), BalancerError> {
        match self.change(&format!("set server {} state maint", self.path(server))) {
            Err(BalancerError::Refused { answer, .. }) if is_missing(&answer) => Err(self.no_server(server)),
            other => other,
        }
    }

    fn remove(&mut self, server: &Name) -> Result<(), BalancerError> {
        match self.change_with_words(&format!("del server {}", self.path(server)), "Server deleted") {
            Err(BalancerError::Refused { answer, .. }) if is_missing(&answer) => Err(self.no_server(server)),
            other => other,
        }
    }
}
