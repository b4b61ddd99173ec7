//! A server on another machine.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use archive::model::VariantFacts;
use host::process::LogText;
use load::spec::LoadSpec;
use workload::{OperationCount, Verification};

use super::agent_client::{AgentClient, LONGEST_ANSWER, LONGEST_SERVER_STEP};
use super::limits::MOST_CPU_TIME;
use super::start::OrderedServer;
use crate::errors::machine::MachineError;
use crate::interface::system_under_test::{CpuMeter, CpuReading, ServerCpuUsed, SystemUnderTest};
use crate::protocol::servers::{
    CheckServer, PrepareServer, ReadConfiguration, ReadCount, ReadCpuUsed, ReadLogs, ReadRunningCpu,
    ReadServerFacts, ReadStart, StopServer, VerifyServer,
};

/// A server on another machine. Dropping it stops it.
pub(super) struct RemoteServer {
    agent: Arc<AgentClient>,
    trial: u32,
    ordered: OrderedServer,
    is_stopped: bool,
}

impl RemoteServer {
    pub fn new(agent: Arc<AgentClient>, ordered: OrderedServer) -> Self {
        Self { agent, trial: ordered.order.trial, ordered, is_stopped: false }
    }
}

impl SystemUnderTest for RemoteServer {
    fn prepare(&mut self) -> Result<(), MachineError> {
        self.agent.call(PrepareServer { trial: self.trial }, LONGEST_SERVER_STEP)
    }

    fn load_spec(&self) -> Result<LoadSpec, MachineError> {
        let start = self.agent.call(ReadStart { trial: self.trial }, LONGEST_ANSWER)?;
        self.ordered.load_spec(&self.agent.host, &start)
    }

    fn verify(&mut self) -> Result<Option<Verification>, MachineError> {
        self.agent.call(VerifyServer { trial: self.trial }, LONGEST_SERVER_STEP)
    }

    fn count(&mut self) -> Result<Option<OperationCount>, MachineError> {
        self.agent.call(ReadCount { trial: self.trial }, LONGEST_ANSWER)
    }

    fn facts(&self) -> Result<VariantFacts, MachineError> {
        let facts = self.agent.call(ReadServerFacts { trial: self.trial }, LONGEST_ANSWER)?;
        // The trial adds the files that it writes.
        Ok(VariantFacts { name: self.ordered.order.name.clone(), config: Vec::new(), ..facts })
    }

    fn configuration(&self) -> Vec<(String, String)> {
        let files =
            self.agent.call(ReadConfiguration { trial: self.trial }, LONGEST_ANSWER).unwrap_or_default();
        self.ordered.of_known_names(files, |known| &known.configuration)
    }

    fn cpu_meter(&self) -> Box<dyn CpuMeter> {
        let agent = Arc::clone(&self.agent);
        Box::new(RemoteMeter { agent, trial: self.trial, parts: self.ordered.parts_with_accounts() })
    }

    fn check_alive(&self) -> Result<(), MachineError> {
        self.agent.call(CheckServer { trial: self.trial }, LONGEST_ANSWER)
    }

    fn logs(&self) -> Vec<(String, LogText)> {
        let logs = self.agent.call(ReadLogs { trial: self.trial }, LONGEST_ANSWER).unwrap_or_default();
        self.ordered.of_known_names(logs, |known| &known.logs)
    }

    fn stop(&mut self) {
        // The agent of a lost host stops it.
        let _ = self.agent.call(StopServer { trial: self.trial }, LONGEST_SERVER_STEP);
        let _ = fs::remove_dir_all(&self.ordered.directory);
        self.is_stopped = true;
    }
}

impl Drop for RemoteServer {
    fn drop(&mut self) {
        if !self.is_stopped {
            self.stop();
        }
    }
}

/// Reads the CPU time of a server on another machine: a round trip each.
struct RemoteMeter {
    agent: Arc<AgentClient>,
    trial: u32,
    /// How many parts have an account.
    parts: usize,
}

impl CpuMeter for RemoteMeter {
    fn used(&self) -> Result<ServerCpuUsed, MachineError> {
        let used = self.agent.call(ReadCpuUsed { trial: self.trial }, LONGEST_ANSWER)?;
        if used.parts.len() != self.parts {
            let why =
                format!("the CPU time of {} parts of a server that has {}", used.parts.len(), self.parts);
            return Err(MachineError::Protocol { host: self.agent.host.clone(), why });
        }
        let whole = [used.whole.time, used.whole.user, used.whole.system];
        self.check(whole.into_iter().chain(used.parts.iter().copied())).map(|()| used)
    }

    fn of_running(&self) -> Result<CpuReading, MachineError> {
        let reading = self.agent.call(ReadRunningCpu { trial: self.trial }, LONGEST_ANSWER)?;
        self.check([reading.time]).map(|()| reading)
    }
}

impl RemoteMeter {
    /// Readings are added up.
    fn check(&self, times: impl IntoIterator<Item = Duration>) -> Result<(), MachineError> {
        let most = times.into_iter().max().unwrap_or_default();
        if most <= MOST_CPU_TIME {
            return Ok(());
        }
        let why = format!("a CPU time of {} s", most.as_secs());
        Err(MachineError::Protocol { host: self.agent.host.clone(), why })
    }
}
