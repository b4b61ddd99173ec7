//! A server on another machine.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use archive::model::VariantFacts;
use host::process::{CpuUsed, LogText};
use load::spec::LoadSpec;
use workload::OperationCount;

use super::asked::{Asked, LONG, SHORT};
use super::limits::MOST_CPU_TIME;
use super::start::OrderedServer;
use crate::error::MachineError;
use crate::protocol::servers::{
    CheckServer, PrepareServer, ReadConfiguration, ReadCount, ReadCpuUsed, ReadLogs, ReadRunningCpu,
    ReadServerFacts, ReadStart, StopServer,
};
use crate::system_under_test::{CpuMeter, CpuReading, SystemUnderTest};

/// A server on another machine. Dropping it stops it.
pub(super) struct RemoteServer {
    asked: Arc<Asked>,
    trial: u32,
    ordered: OrderedServer,
    is_stopped: bool,
}

impl RemoteServer {
    pub fn new(asked: Arc<Asked>, ordered: OrderedServer) -> Self {
        Self { asked, trial: ordered.order.trial, ordered, is_stopped: false }
    }
}

impl SystemUnderTest for RemoteServer {
    fn prepare(&mut self) -> Result<(), MachineError> {
        self.asked.ask(PrepareServer { trial: self.trial }, LONG)
    }

    fn load_spec(&self) -> Result<LoadSpec, MachineError> {
        let start = self.asked.ask(ReadStart { trial: self.trial }, SHORT)?;
        self.ordered.load_spec(&self.asked.host, &start)
    }

    fn count(&mut self) -> Result<Option<OperationCount>, MachineError> {
        self.asked.ask(ReadCount { trial: self.trial }, SHORT)
    }

    fn facts(&self) -> Result<VariantFacts, MachineError> {
        let facts = self.asked.ask(ReadServerFacts { trial: self.trial }, SHORT)?;
        // The trial adds the files that it writes.
        Ok(VariantFacts { name: self.ordered.order.name.clone(), config: Vec::new(), ..facts })
    }

    fn configuration(&self) -> Vec<(String, String)> {
        let files = self.asked.ask(ReadConfiguration { trial: self.trial }, SHORT).unwrap_or_default();
        self.ordered.of_known_names(files, |known| &known.configuration)
    }

    fn cpu_meter(&self) -> Box<dyn CpuMeter> {
        Box::new(RemoteMeter { asked: Arc::clone(&self.asked), trial: self.trial })
    }

    fn check_alive(&self) -> Result<(), MachineError> {
        self.asked.ask(CheckServer { trial: self.trial }, SHORT)
    }

    fn logs(&self) -> Vec<(String, LogText)> {
        let logs = self.asked.ask(ReadLogs { trial: self.trial }, SHORT).unwrap_or_default();
        self.ordered.of_known_names(logs.into_iter().map(Into::into).collect(), |known| &known.logs)
    }

    fn stop(&mut self) {
        // The agent of a lost host stops it.
        let _ = self.asked.ask(StopServer { trial: self.trial }, LONG);
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
    asked: Arc<Asked>,
    trial: u32,
}

impl CpuMeter for RemoteMeter {
    fn used(&self) -> Result<CpuUsed, MachineError> {
        let used = self.asked.ask(ReadCpuUsed { trial: self.trial }, SHORT)?;
        self.check([used.time, used.user, used.system]).map(|()| used)
    }

    fn of_running(&self) -> Result<CpuReading, MachineError> {
        let reading = self.asked.ask(ReadRunningCpu { trial: self.trial }, SHORT)?;
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
        Err(MachineError::Protocol { host: self.asked.host.clone(), why })
    }
}
