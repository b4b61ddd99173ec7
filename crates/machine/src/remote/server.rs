//! A server on another machine.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use archive::model::VariantFacts;
use host::process::{CpuUsed, LogText};
use load::spec::LoadSpec;
use workload::OperationCount;

use super::asked::{Asked, LONG, SHORT};
use crate::error::MachineError;
use crate::local::LocalError;
use crate::protocol::servers::{
    CheckServer, PrepareServer, ReadConfiguration, ReadCount, ReadCpuUsed, ReadLoad, ReadLogs,
    ReadRunningCpu, ReadServerFacts, ServerLoad, StopServer,
};
use crate::system_under_test::{CpuMeter, CpuReading, SystemUnderTest};

/// A server on another machine. Dropping it stops it.
pub(super) struct RemoteServer {
    asked: Arc<Asked>,
    trial: u32,
    /// For the files that its load reads.
    directory: PathBuf,
    is_stopped: bool,
}

impl RemoteServer {
    pub fn new(asked: Arc<Asked>, trial: u32, directory: PathBuf) -> Self {
        Self { asked, trial, directory, is_stopped: false }
    }

    /// Writes a file that only this user can read.
    fn write(&self, name: &str, text: &str) -> std::io::Result<PathBuf> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
        let path = self.directory.join(name);
        let mut file = fs::OpenOptions::new();
        let mut file = file.write(true).create(true).truncate(true).mode(0o600).open(&path)?;
        file.write_all(text.as_bytes())?;
        Ok(path)
    }
}

impl SystemUnderTest for RemoteServer {
    fn prepare(&mut self) -> Result<(), MachineError> {
        self.asked.ask(PrepareServer { trial: self.trial }, LONG)
    }

    fn load_spec(&self) -> Result<LoadSpec, MachineError> {
        let ServerLoad { mut spec, files } = self.asked.ask(ReadLoad { trial: self.trial }, SHORT)?;
        spec.replace_files(|path: &Path| {
            let (at, text) = files
                .iter()
                .enumerate()
                .find_map(|(at, (known, text))| (known == path).then_some((at, text)))
                .ok_or_else(|| MachineError::Protocol {
                    host: self.asked.host.clone(),
                    why: "a file of the load is missing".to_owned(),
                })?;
            let written = self.write(&format!("file-{at}"), text);
            Ok::<_, MachineError>(
                written.map_err(|source| LocalError::System { what: "write a file for the load", source })?,
            )
        })?;
        Ok(spec)
    }

    fn count(&mut self) -> Result<Option<OperationCount>, MachineError> {
        self.asked.ask(ReadCount { trial: self.trial }, SHORT)
    }

    fn facts(&self) -> Result<VariantFacts, MachineError> {
        self.asked.ask(ReadServerFacts { trial: self.trial }, SHORT)
    }

    fn configuration(&self) -> Vec<(String, String)> {
        self.asked.ask(ReadConfiguration { trial: self.trial }, SHORT).unwrap_or_default()
    }

    fn cpu_meter(&self) -> Box<dyn CpuMeter> {
        Box::new(RemoteMeter { asked: Arc::clone(&self.asked), trial: self.trial })
    }

    fn check_alive(&self) -> Result<(), MachineError> {
        self.asked.ask(CheckServer { trial: self.trial }, SHORT)
    }

    fn logs(&self) -> Vec<(String, LogText)> {
        let logs = self.asked.ask(ReadLogs { trial: self.trial }, SHORT).unwrap_or_default();
        logs.into_iter().map(Into::into).collect()
    }

    fn stop(&mut self) {
        // The agent of a lost host stops it.
        let _ = self.asked.ask(StopServer { trial: self.trial }, LONG);
        let _ = fs::remove_dir_all(&self.directory);
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
        self.asked.ask(ReadCpuUsed { trial: self.trial }, SHORT)
    }

    fn of_running(&self) -> Result<CpuReading, MachineError> {
        self.asked.ask(ReadRunningCpu { trial: self.trial }, SHORT)
    }
}
