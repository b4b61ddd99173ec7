//! Observes a server and its machine during the steps: telemetry, memory, whether the server lives, and the end of its log.

use std::time::Duration;

use machine::{Machine, RecordedServer, Recorder, SystemUnderTest};

use crate::error::ConcurrencyError;

/// The name of the server's columns in telemetry.
pub(crate) const SERVER: &str = "server";

/// How often telemetry is read.
const PERIOD: Duration = Duration::from_secs(1);

/// A machine with transfers in progress, and the server on it.
pub(crate) struct ObservedServer<'a> {
    pub machine: &'a dyn Machine,
    /// None of a URL.
    pub sut: Option<&'a dyn SystemUnderTest>,
    /// The number by which the machine knows the server.
    pub trial: u32,
    /// CPUs of the server; none of a URL.
    pub server_cpus: Option<usize>,
    /// Whether the client has the same CPUs.
    pub shares_cpus: bool,
}

impl ObservedServer<'_> {
    /// Records the machine and the server until it is stopped.
    pub fn record(&self) -> Result<Box<dyn Recorder>, ConcurrencyError> {
        let server = RecordedServer { name: SERVER.to_owned(), trial: self.trial };
        let servers: Vec<RecordedServer> = self.sut.iter().map(|_| server.clone()).collect();
        Ok(self.machine.record(&servers, PERIOD)?)
    }

    /// The share of the memory that programs can still get, 0 to 1.
    pub fn available_share(&self) -> f64 {
        self.machine.available_memory_share().ok().flatten().unwrap_or(1.0)
    }

    /// Memory of the machine, bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.machine.facts().map_or(0, |facts| facts.memory.total_bytes)
    }

    /// The last line of each log of the server, where it has written one.
    pub fn last_words(&self) -> Vec<String> {
        const MOST: usize = 200;
        let logs = self.sut.iter().flat_map(|sut| sut.logs());
        let last = logs.filter_map(|(name, log)| {
            let line = log.text.lines().rev().find(|line| !line.trim().is_empty())?.to_owned();
            Some(format!("{name}: {}", line.chars().take(MOST).collect::<String>()))
        });
        last.collect()
    }

    /// Why the server does not run any more, if so.
    pub fn ended(&self) -> Option<String> {
        self.sut.and_then(|sut| sut.check_alive().err()).map(|error| error.to_string())
    }
}
