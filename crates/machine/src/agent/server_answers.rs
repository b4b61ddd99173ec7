//! What an agent does for each request about its servers, their kernel settings and their recordings.

use std::net::SocketAddr;
use std::path::Path;

use archive::model::VariantFacts;
use host::HostFacts;
use host::process::LogText;
use host::telemetry::TelemetrySample;
use load::drivers::password::PasswordSource;
use workload::{ConfigurationError, OperationCount, StartedServer, Verification};

use super::servers::failed;
use super::work::Agent;
use crate::interface::machine::{LeftSettings, Machine, Room};
use crate::interface::system_under_test::{CpuReading, ServerCpuUsed, SystemUnderTest};
use crate::mutex::locked;
use crate::protocol::servers::{
    BeginRecording, CheckServer, CloseKernelSettings, EndRecording, EnsureServers, MeasureSteal,
    OpenKernelSettings, PrepareServer, ReadAvailableMemory, ReadConfiguration, ReadCount, ReadCpuUsed,
    ReadFacts, ReadLogs, ReadRoom, ReadRunningCpu, ReadSamples, ReadServerFacts, ReadStart, RecordingBegan,
    RecordingHead, RemoveData, ServerStart, SetKernelSettings, StartPassword, StartServer, StopServer,
    TakeWorkload, TryKernelSettings, VerifyServer,
};
use crate::protocol::{Answers, CallError};

impl Answers<ReadFacts> for Agent {
    fn answer(&self, _: ReadFacts) -> Result<HostFacts, CallError> {
        Ok(self.servers.machine()?.facts()?)
    }
}

impl Answers<OpenKernelSettings> for Agent {
    fn answer(&self, call: OpenKernelSettings) -> Result<LeftSettings, CallError> {
        Ok(self.servers.machine()?.open_kernel_settings(&call.variants)?)
    }
}

impl Answers<TryKernelSettings> for Agent {
    fn answer(&self, call: TryKernelSettings) -> Result<(), CallError> {
        Ok(self.servers.machine()?.try_kernel_settings(&call.variants)?)
    }
}

impl Answers<SetKernelSettings> for Agent {
    fn answer(&self, call: SetKernelSettings) -> Result<(), CallError> {
        Ok(self.servers.machine()?.set_kernel_settings(&call.settings)?)
    }
}

impl Answers<CloseKernelSettings> for Agent {
    fn answer(&self, _: CloseKernelSettings) -> Result<Vec<String>, CallError> {
        Ok(self.servers.machine()?.close_kernel_settings())
    }
}

impl Answers<TakeWorkload> for Agent {
    fn answer(&self, call: TakeWorkload) -> Result<(), CallError> {
        self.servers.take_workload(&call)
    }
}

impl Answers<EnsureServers> for Agent {
    fn answer(&self, call: EnsureServers) -> Result<(), CallError> {
        let machine = self.servers.machine()?;
        let workload = self.servers.workload(&call.workload)?;
        let variants = call.variants.iter().map(|request| request.variant(&workload));
        let variants = variants.collect::<Result<Vec<_>, _>>().map_err(|error| failed(&error))?;
        Ok(machine.ensure_servers(&workload, &variants)?)
    }
}

impl Answers<StartServer> for Agent {
    fn answer(&self, call: StartServer) -> Result<(), CallError> {
        self.servers.start(&call)
    }
}

impl Answers<StopServer> for Agent {
    fn answer(&self, call: StopServer) -> Result<(), CallError> {
        self.servers.stop(call.trial);
        Ok(())
    }
}

impl Answers<RemoveData> for Agent {
    fn answer(&self, call: RemoveData) -> Result<(), CallError> {
        self.servers.machine()?.remove_data(call.trial);
        Ok(())
    }
}

impl Answers<BeginRecording> for Agent {
    fn answer(&self, call: BeginRecording) -> Result<RecordingBegan, CallError> {
        self.servers.begin_recording(&call)
    }
}

impl Answers<EndRecording> for Agent {
    fn answer(&self, call: EndRecording) -> Result<RecordingHead, CallError> {
        self.servers.end_recording(call)
    }
}

impl Answers<ReadSamples> for Agent {
    fn answer(&self, call: ReadSamples) -> Result<Vec<TelemetrySample>, CallError> {
        self.servers.samples(call)
    }
}

impl Answers<MeasureSteal> for Agent {
    fn answer(&self, call: MeasureSteal) -> Result<Option<f64>, CallError> {
        Ok(self.servers.machine()?.stolen_under_load(&call.cpus, call.length)?)
    }
}

impl Answers<ReadAvailableMemory> for Agent {
    fn answer(&self, _: ReadAvailableMemory) -> Result<Option<f64>, CallError> {
        Ok(self.servers.machine()?.available_memory_share()?)
    }
}

impl Answers<ReadRoom> for Agent {
    fn answer(&self, _: ReadRoom) -> Result<Option<Room>, CallError> {
        Ok(self.servers.machine()?.room())
    }
}

impl Answers<PrepareServer> for Agent {
    fn answer(&self, call: PrepareServer) -> Result<(), CallError> {
        Ok(locked(self.servers.server(call.trial)?.as_ref()).prepare()?)
    }
}

impl Answers<ReadStart> for Agent {
    fn answer(&self, call: ReadStart) -> Result<ServerStart, CallError> {
        let started = locked(self.servers.server(call.trial)?.as_ref()).instances.started();
        start_of(&started)
    }
}

impl Answers<ReadCount> for Agent {
    fn answer(&self, call: ReadCount) -> Result<Option<OperationCount>, CallError> {
        Ok(locked(self.servers.server(call.trial)?.as_ref()).count()?)
    }
}

impl Answers<VerifyServer> for Agent {
    fn answer(&self, call: VerifyServer) -> Result<Option<Verification>, CallError> {
        Ok(locked(self.servers.server(call.trial)?.as_ref()).verify()?)
    }
}

impl Answers<ReadServerFacts> for Agent {
    fn answer(&self, call: ReadServerFacts) -> Result<VariantFacts, CallError> {
        Ok(locked(self.servers.server(call.trial)?.as_ref()).facts()?)
    }
}

impl Answers<ReadConfiguration> for Agent {
    fn answer(&self, call: ReadConfiguration) -> Result<Vec<(String, String)>, CallError> {
        Ok(locked(self.servers.server(call.trial)?.as_ref()).configuration())
    }
}

impl Answers<ReadCpuUsed> for Agent {
    fn answer(&self, call: ReadCpuUsed) -> Result<ServerCpuUsed, CallError> {
        Ok(locked(self.servers.server(call.trial)?.as_ref()).cpu_meter().used()?)
    }
}

impl Answers<ReadRunningCpu> for Agent {
    fn answer(&self, call: ReadRunningCpu) -> Result<CpuReading, CallError> {
        Ok(locked(self.servers.server(call.trial)?.as_ref()).cpu_meter().of_running()?)
    }
}

impl Answers<CheckServer> for Agent {
    fn answer(&self, call: CheckServer) -> Result<(), CallError> {
        Ok(locked(self.servers.server(call.trial)?.as_ref()).check_alive()?)
    }
}

impl Answers<ReadLogs> for Agent {
    fn answer(&self, call: ReadLogs) -> Result<Vec<(String, LogText)>, CallError> {
        Ok(locked(self.servers.server(call.trial)?.as_ref()).logs())
    }
}

/// A start as it is sent: the text of its files, and of its addresses the ports.
fn start_of(started: &StartedServer) -> Result<ServerStart, CallError> {
    let read = |path: &Path| {
        let text = std::fs::read_to_string(path);
        text.map_err(|error| failed(&format!("cannot read {}: {error}", path.display())))
    };
    if !started.sockets.is_empty() {
        return Err(failed(&ConfigurationError::RemoteSocket));
    }
    let password = started.password.as_ref().and_then(PasswordSource::file);
    Ok(ServerStart {
        ports: started.addresses.iter().map(SocketAddr::port).collect(),
        certificate: started.certificate.as_deref().map(read).transpose()?,
        password: password.map(read).transpose()?.map(StartPassword),
    })
}
