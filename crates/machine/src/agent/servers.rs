//! Servers on this host, for a controller: a [`LocalMachine`] with what was started on it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use host::lock_owner::LockOwner;
use host::telemetry::{Recording, TelemetrySample};
use host::{CpuSet, Host};
use load::clock::Nanos;
use load::engine::RunContext;
use workload::{InstanceError, VariantError, Workload};

use crate::errors::local::LocalError;
use crate::errors::machine::MachineError;
use crate::interface::machine::{Machine, Recorder};
use crate::interface::system_under_test::SystemUnderTest;
use crate::local::{LocalMachine, RunningServer};
use crate::mutex::locked;
use crate::protocol::servers::{
    BeginRecording, EndRecording, ReadSamples, RecordingBegan, RecordingHead, StartServer, TakeWorkload,
};
use crate::protocol::{CallError, system_text};

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

/// A server that was started.
pub type Server = Arc<Mutex<RunningServer>>;

impl From<MachineError> for CallError {
    fn from(error: MachineError) -> Self {
        match error {
            MachineError::Interrupted
            | MachineError::Local(LocalError::Server(InstanceError::Interrupted)) => Self::Interrupted,
            other => failed(&other),
        }
    }
}

/// What could not be done, in its words.
pub(super) fn failed(why: &impl ToString) -> CallError {
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
        locked(&self.recorders).clear();
        locked(&self.servers).clear();
        let machine = locked(&self.machine).take();
        if let Some(machine) = machine {
            machine.close_kernel_settings();
        }
    }

    /// Reserves this machine for a run, and returns the CPUs that it may use.
    pub fn reserve(&self, owner: LockOwner) -> Result<CpuSet, CallError> {
        let machine = LocalMachine::reserve_for(owner, &self.context).map_err(|error| failed(&error))?;
        let cpus = Host::local().allowed_cpus();
        let cpus = cpus.map_err(|error| CallError::Telemetry { why: system_text(&error) })?;
        *locked(&self.machine) = Some(Arc::new(machine));
        Ok(cpus)
    }

    /// The machine that is reserved.
    pub fn machine(&self) -> Result<Arc<LocalMachine>, CallError> {
        let machine = locked(&self.machine).clone();
        machine.ok_or_else(|| failed(&"the machine is not reserved: report this as a bug"))
    }

    /// The server of a trial.
    pub fn server(&self, trial: u32) -> Result<Server, CallError> {
        let server = locked(&self.servers).get(&trial).cloned();
        server.ok_or_else(|| failed(&LocalError::NoServer { trial }))
    }

    /// Stops the server of a trial, if it runs.
    pub fn stop(&self, trial: u32) {
        let server = locked(&self.servers).remove(&trial);
        if let Some(server) = server {
            locked(&server).stop();
        }
    }

    /// Keeps the files of a workload.
    pub fn take_workload(&self, call: &TakeWorkload) -> Result<(), CallError> {
        let directory = self.machine()?.workload_directory(&call.key);
        let workload = call.workload.unpack(&directory).map_err(|error| failed(&error))?;
        locked(&self.workloads).insert(call.key.clone(), Arc::new(workload));
        Ok(())
    }

    /// A workload whose files have arrived.
    pub fn workload(&self, key: &str) -> Result<Arc<Workload>, CallError> {
        let found = locked(&self.workloads).get(key).cloned();
        found.ok_or_else(|| failed(&"the workload has not arrived: report this as a bug"))
    }

    /// Starts a server.
    pub fn start(&self, call: &StartServer) -> Result<(), CallError> {
        let machine = self.machine()?;
        let workload = self.workload(&call.workload)?;
        let order = call.order(&workload).map_err(|error: VariantError| failed(&error))?;
        let server = machine.start_server(&workload, &order).map_err(MachineError::from)?;
        locked(&self.servers).insert(order.trial, Arc::new(Mutex::new(server)));
        Ok(())
    }

    /// Begins a recording.
    pub fn begin_recording(&self, call: &BeginRecording) -> Result<RecordingBegan, CallError> {
        let recorder = self.machine()?.record(&call.servers, call.period)?;
        let ago = recorder.began().elapsed();
        let at = Nanos(Nanos::now().0.saturating_sub(ago.as_nanos() as u64));
        let recording = self.next_recording.fetch_add(1, Ordering::Relaxed);
        locked(&self.recorders).insert(recording, recorder);
        Ok(RecordingBegan { recording, at })
    }

    /// Ends a recording.
    pub fn end_recording(&self, call: EndRecording) -> Result<RecordingHead, CallError> {
        let running = locked(&self.recorders).remove(&call.recording);
        let recorded = running.ok_or_else(no_recording)?.stop()?;
        let head = RecordingHead {
            columns: recorded.columns.clone(),
            samples: recorded.samples.len(),
            others: recorded.others.clone(),
            cost: recorded.cost,
        };
        locked(&self.recordings).insert(call.recording, Arc::new(recorded));
        Ok(head)
    }

    /// The next samples of a recording that has ended.
    pub fn samples(&self, call: ReadSamples) -> Result<Vec<TelemetrySample>, CallError> {
        let recording = locked(&self.recordings).get(&call.recording).cloned().ok_or_else(no_recording)?;
        let rest = recording.samples.get(call.from..).unwrap_or_default();
        let count = (MOST_VALUES / recording.columns.len().max(1)).clamp(1, rest.len().max(1));
        let part = &rest[..count.min(rest.len())];
        if part.len() == rest.len() {
            locked(&self.recordings).remove(&call.recording);
        }
        Ok(part.to_vec())
    }
}

fn no_recording() -> CallError {
    failed(&"there is no such recording: report this as a bug")
}
