//! Servers on this host, for a controller: a [`LocalMachine`] with what was started on it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use host::knobs::KnobValues;
use host::lock_owner::LockOwner;
use host::telemetry::Recording;
use host::{CpuSet, Host};
use load::clock::Nanos;
use load::drivers::password::PasswordSource;
use load::engine::RunContext;
use serde_json::Value;
use workload::{ConfigurationError, InstanceError, ServerVariant, StartedServer, VariantError, Workload};

use super::value::value;
use crate::error::MachineError;
use crate::local::{LocalError, LocalMachine, RunningServer};
use crate::lock::lock;
use crate::machine::{Machine, Recorder};
use crate::protocol::servers::{
    BeginRecording, EndRecording, ReadSamples, RecordingBegan, RecordingHead, ServerLog, ServerStart,
    StartPassword, StartServer, TakeWorkload, VariantSettings,
};
use crate::protocol::{CallError, Request, system_text};
use crate::system_under_test::SystemUnderTest;

/// How many values of samples a message has at most: each takes up to 25 bytes in JSON.
const MOST_VALUES: usize = 1_000_000;

/// The servers of a controller.
pub(super) struct ServerHost {
    context: RunContext,
    machine: Mutex<Option<Arc<LocalMachine>>>,
    workloads: Mutex<BTreeMap<String, Arc<Workload>>>,
    servers: Mutex<BTreeMap<u32, Server>>,
    recorders: Mutex<BTreeMap<u64, Box<dyn Recorder>>>,
    /// Recordings that have ended, and are being read.
    recordings: Mutex<BTreeMap<u64, Arc<Recording>>>,
    next_recording: AtomicU64,
}

type Server = Arc<Mutex<RunningServer>>;

impl From<MachineError> for CallError {
    fn from(error: MachineError) -> Self {
        match error {
            MachineError::Interrupted
            | MachineError::Local(LocalError::Server(InstanceError::Interrupted)) => Self::Interrupted,
            other => failed(&other),
        }
    }
}

fn failed(why: &impl ToString) -> CallError {
    CallError::Failed { why: why.to_string() }
}

impl ServerHost {
    pub fn new(context: RunContext) -> Self {
        Self {
            context,
            machine: Mutex::default(),
            workloads: Mutex::default(),
            servers: Mutex::default(),
            recorders: Mutex::default(),
            recordings: Mutex::default(),
            next_recording: AtomicU64::new(1),
        }
    }

    /// Ends what takes long.
    pub fn interrupt(&self) {
        self.context.interrupted.store(true, Ordering::Relaxed);
    }

    /// Stops all servers, and gives the machine back.
    pub fn end(&self) {
        lock(&self.recorders).clear();
        lock(&self.servers).clear();
        let machine = lock(&self.machine).take();
        if let Some(machine) = machine {
            machine.close_kernel_settings();
        }
    }

    /// Reserves this machine for a run, and returns the CPUs that it may use.
    pub fn reserve(&self, owner: LockOwner) -> Result<CpuSet, CallError> {
        let machine = LocalMachine::reserve_for(owner, &self.context).map_err(|error| failed(&error))?;
        let cpus = Host::local().allowed_cpus();
        let cpus = cpus.map_err(|error| CallError::Telemetry { why: system_text(&error) })?;
        *lock(&self.machine) = Some(Arc::new(machine));
        Ok(cpus)
    }

    /// The answer to a request about servers.
    pub fn answer(&self, request: Request) -> Result<Value, CallError> {
        let machine = lock(&self.machine).clone();
        let machine = machine.ok_or_else(|| failed(&"the machine is not reserved: report this as a bug"))?;
        let machine = machine.as_ref();
        Ok(match request {
            Request::ReadFacts(_) => value(machine.facts()?),
            Request::OpenKernelSettings(call) => {
                value(machine.open_kernel_settings(&variants(call.variants))?)
            }
            Request::TryKernelSettings(call) => value(machine.try_kernel_settings(&variants(call.variants))?),
            Request::SetKernelSettings(call) => value(machine.set_kernel_settings(&variant(call.settings))?),
            Request::CloseKernelSettings(_) => value(machine.close_kernel_settings()),
            Request::TakeWorkload(call) => value(self.take_workload(machine, &call)?),
            Request::EnsureServers(call) => {
                let workload = self.workload(&call.workload)?;
                let variants = call.variants.iter().map(|request| request.variant(&workload));
                let variants = variants.collect::<Result<Vec<_>, _>>().map_err(|error| failed(&error))?;
                value(machine.ensure_servers(&workload, &variants)?)
            }
            Request::StartServer(call) => value(self.start(machine, call)?),
            Request::BeginRecording(call) => value(self.begin_recording(machine, &call)?),
            Request::EndRecording(call) => value(self.end_recording(call)?),
            Request::ReadSamples(call) => self.samples(call)?,
            Request::MeasureSteal(call) => value(machine.stolen_under_load(&call.cpus, call.length)?),
            Request::ReadAvailableMemory(_) => value(machine.available_memory_share()?),
            Request::ReadRoom(_) => value(machine.room()),
            Request::RemoveData(call) => {
                machine.remove_data(call.trial);
                Value::Null
            }
            Request::StopServer(call) => {
                let server = lock(&self.servers).remove(&call.trial);
                if let Some(server) = server {
                    lock(&server).stop();
                }
                Value::Null
            }
            call => self.ask_server(&call)?,
        })
    }

    /// The answer to a request about one server.
    fn ask_server(&self, request: &Request) -> Result<Value, CallError> {
        let of = |trial: u32| {
            let server = lock(&self.servers).get(&trial).cloned();
            server.ok_or_else(|| failed(&LocalError::NoServer { trial }))
        };
        Ok(match request {
            Request::PrepareServer(call) => value(lock(of(call.trial)?.as_ref()).prepare()?),
            Request::ReadStart(call) => {
                let started = lock(of(call.trial)?.as_ref()).instances.started();
                value(start_of(&started)?)
            }
            Request::ReadCount(call) => value(lock(of(call.trial)?.as_ref()).count()?),
            Request::ReadServerFacts(call) => value(lock(of(call.trial)?.as_ref()).facts()?),
            Request::ReadConfiguration(call) => value(lock(of(call.trial)?.as_ref()).configuration()),
            Request::ReadCpuUsed(call) => value(lock(of(call.trial)?.as_ref()).cpu_meter().used()?),
            Request::ReadRunningCpu(call) => value(lock(of(call.trial)?.as_ref()).cpu_meter().of_running()?),
            Request::CheckServer(call) => value(lock(of(call.trial)?.as_ref()).check_alive()?),
            Request::ReadLogs(call) => {
                let logs = lock(of(call.trial)?.as_ref()).logs();
                value(logs.into_iter().map(ServerLog::from).collect::<Vec<_>>())
            }
            _ => return Err(failed(&"this request is not about a server: report this as a bug")),
        })
    }

    fn take_workload(&self, machine: &LocalMachine, call: &TakeWorkload) -> Result<(), CallError> {
        let directory = machine.workload_directory(&call.key);
        let workload = call.workload.unpack(&directory).map_err(|error| failed(&error))?;
        lock(&self.workloads).insert(call.key.clone(), Arc::new(workload));
        Ok(())
    }

    fn workload(&self, key: &str) -> Result<Arc<Workload>, CallError> {
        let found = lock(&self.workloads).get(key).cloned();
        found.ok_or_else(|| failed(&"the workload has not arrived: report this as a bug"))
    }

    fn start(&self, machine: &LocalMachine, call: StartServer) -> Result<(), CallError> {
        let workload = self.workload(&call.workload)?;
        let order = call.order(&workload).map_err(|error: VariantError| failed(&error))?;
        let server = machine.start_server(&workload, &order).map_err(MachineError::from)?;
        lock(&self.servers).insert(order.trial, Arc::new(Mutex::new(server)));
        Ok(())
    }

    fn begin_recording(
        &self,
        machine: &LocalMachine,
        call: &BeginRecording,
    ) -> Result<RecordingBegan, CallError> {
        let recorder = machine.record(&call.servers, call.period)?;
        let ago = recorder.began().elapsed();
        let at = Nanos(Nanos::now().0.saturating_sub(ago.as_nanos() as u64));
        let recording = self.next_recording.fetch_add(1, Ordering::Relaxed);
        lock(&self.recorders).insert(recording, recorder);
        Ok(RecordingBegan { recording, at })
    }

    fn end_recording(&self, call: EndRecording) -> Result<RecordingHead, CallError> {
        let running = lock(&self.recorders).remove(&call.recording);
        let recorded = running.ok_or_else(no_recording)?.stop()?;
        let head = RecordingHead {
            columns: recorded.columns.clone(),
            samples: recorded.samples.len(),
            others: recorded.others.clone(),
            cost: recorded.cost,
        };
        lock(&self.recordings).insert(call.recording, Arc::new(recorded));
        Ok(head)
    }

    fn samples(&self, call: ReadSamples) -> Result<Value, CallError> {
        let recording = lock(&self.recordings).get(&call.recording).cloned().ok_or_else(no_recording)?;
        let rest = recording.samples.get(call.from..).unwrap_or_default();
        let count = (MOST_VALUES / recording.columns.len().max(1)).clamp(1, rest.len().max(1));
        let part = &rest[..count.min(rest.len())];
        if part.len() == rest.len() {
            lock(&self.recordings).remove(&call.recording);
        }
        Ok(value(part))
    }
}

fn no_recording() -> CallError {
    failed(&"there is no such recording: report this as a bug")
}

/// For a kernel setting, nothing else of a variant matters.
fn variant(kernel: KnobValues) -> ServerVariant {
    ServerVariant { server: String::new(), knobs: BTreeMap::new(), kernel }
}

fn variants(settings: VariantSettings) -> Vec<ServerVariant> {
    settings.into_iter().map(variant).collect()
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
