//! [`RemoteMachine`]: a machine behind a connection. Its agent has a [`LocalMachine`](crate::LocalMachine), and this asks it.

use std::fmt::Write;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use host::knobs::KnobValues;
use host::lock_owner::LockOwner;
use host::scratch::ScratchDirectory;
use host::{CpuSet, HostFacts};
use workload::{ServerVariant, Workload};

use super::agent_client::{AgentClient, LONGEST_ANSWER, LONGEST_SERVER_STEP};
use super::recorder::RemoteRecorder;
use super::server::RemoteServer;
use super::start::OrderedServer;
use crate::connection::Connection;
use crate::errors::local::LocalError;
use crate::errors::machine::MachineError;
use crate::hosts::agent_access::AgentAccess;
use crate::hosts::host_entry::HostEntry;
use crate::hosts::host_entry::host_problems;
use crate::interface::machine::{LeftSettings, Machine, RecordedServer, Recorder, Room, ServerOrder};
use crate::interface::probing::Probing;
use crate::interface::system_under_test::SystemUnderTest;
use crate::mutex::locked;
use crate::program::hex_sha256;
use crate::protocol::servers::{
    BeginRecording, CloseKernelSettings, EnsureServers, MeasureSteal, OpenKernelSettings,
    ReadAvailableMemory, ReadFacts, ReadRoom, RemoveData, Reserve, Reserved, SetKernelSettings, StartServer,
    TakeWorkload, TryKernelSettings, VariantRequest,
};
use crate::transport::OpenProgress;

/// A machine behind a connection, reserved for one run. Dropping it ends its agent, and all that this has started.
pub struct RemoteMachine {
    agent: Arc<AgentClient>,
    owner: LockOwner,
    address: IpAddr,
    cpus: CpuSet,
    /// Folder and key of the workload that the agent has.
    workload: Mutex<Option<(workload::Folder, String)>>,
    /// Whether a variant has a kernel setting.
    has_settings: AtomicBool,
    /// Certificates and passwords of the servers.
    scratch: ScratchDirectory,
}

impl RemoteMachine {
    /// Starts the agent of a host, and reserves the machine for the run that these options are of.
    pub fn open(
        entry: &HostEntry,
        reach: &AgentAccess,
        interrupted: &Arc<AtomicBool>,
        observe: &dyn Fn(OpenProgress),
    ) -> Result<Self, MachineError> {
        let transport = reach.transport(entry);
        let connection = Arc::new(Connection::open(&entry.name, &transport, interrupted, observe)?);
        let agent = AgentClient { host: entry.name.clone(), connection };
        let reserve = Reserve { owner: reach.owner, address: entry.address };
        let Reserved { allowed_cpus, address } = agent.call(reserve, LONGEST_ANSWER)?;
        if let Some(problem) = host_problems(entry, &address, &allowed_cpus).into_iter().next() {
            return Err(problem);
        }
        let cpus = entry.cpus.clone().unwrap_or(allowed_cpus);
        let scratch = ScratchDirectory::create()
            .map_err(|source| LocalError::System { what: "create a temporary directory", source })?;
        Ok(Self {
            agent: Arc::new(agent),
            owner: reach.owner,
            address: entry.address,
            cpus,
            workload: Mutex::default(),
            has_settings: AtomicBool::new(false),
            scratch,
        })
    }

    /// What reaches its agent.
    pub(crate) fn connection(&self) -> &Arc<Connection> {
        &self.agent.connection
    }

    /// The run that it is reserved for.
    pub(crate) fn owner(&self) -> LockOwner {
        self.owner
    }

    /// The CPUs of its servers.
    pub fn cpus(&self) -> &CpuSet {
        &self.cpus
    }

    /// Where its servers listen.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// The key of this workload, whose files are sent the first time.
    fn key_of(&self, workload: &Workload) -> Result<String, MachineError> {
        if workload.load.is_runner() {
            return Err(self.only_here("a workload that makes its load by itself"));
        }
        let mut sent = locked(&self.workload);
        if let Some((_, key)) = sent.as_ref().filter(|(folder, _)| *folder == workload.folder) {
            return Ok(key.clone());
        }
        let packed = workload.packed().map_err(LocalError::from)?;
        let files: String = packed.digests().iter().fold(String::new(), |mut text, (name, of_file)| {
            let _ = writeln!(text, "{name} {of_file}");
            text
        });
        let key = hex_sha256(files.as_bytes());
        self.agent
            .call(TakeWorkload { key: key.clone(), workload: Box::new(packed) }, LONGEST_SERVER_STEP)?;
        *sent = Some((workload.folder.clone(), key.clone()));
        Ok(key)
    }

    fn only_here(&self, what: &'static str) -> MachineError {
        MachineError::OnlyHere { host: self.agent.host.clone(), what }
    }

    fn directory(&self, trial: u32) -> PathBuf {
        self.scratch.path().join(trial.to_string())
    }
}

impl Machine for RemoteMachine {
    fn facts(&self) -> Result<HostFacts, MachineError> {
        self.agent.call(ReadFacts {}, LONGEST_ANSWER)
    }

    fn open_kernel_settings(&self, variants: &[KnobValues]) -> Result<LeftSettings, MachineError> {
        let has_settings = variants.iter().any(|settings| !settings.is_empty());
        self.has_settings.store(has_settings, Ordering::Relaxed);
        self.agent.call(OpenKernelSettings { variants: variants.to_vec() }, LONGEST_ANSWER)
    }

    fn try_kernel_settings(&self, variants: &[KnobValues]) -> Result<(), MachineError> {
        self.agent.call(TryKernelSettings { variants: variants.to_vec() }, LONGEST_ANSWER)
    }

    fn set_kernel_settings(&self, settings: &KnobValues) -> Result<(), MachineError> {
        // Before every slice: a host without settings is not asked.
        if !self.has_settings.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.agent.call(SetKernelSettings { settings: settings.clone() }, LONGEST_ANSWER)
    }

    fn close_kernel_settings(&self) -> Vec<String> {
        let has_settings = self.has_settings.load(Ordering::Relaxed);
        let host = &self.agent.host;
        match self.agent.call(CloseKernelSettings {}, LONGEST_ANSWER) {
            Ok(problems) => problems.into_iter().map(|problem| format!("host {host}: {problem}")).collect(),
            Err(error) if has_settings => {
                vec![format!("{error}; the host restores its kernel settings by itself: check them there")]
            }
            Err(_) => Vec::new(),
        }
    }

    fn ensure_servers(&self, workload: &Workload, variants: &[ServerVariant]) -> Result<(), MachineError> {
        let workload = self.key_of(workload)?;
        let variants = variants.iter().map(VariantRequest::of).collect();
        self.agent.call(EnsureServers { workload, variants }, LONGEST_SERVER_STEP)
    }

    fn start(
        &self,
        workload: &Workload,
        order: &ServerOrder,
    ) -> Result<Box<dyn SystemUnderTest>, MachineError> {
        self.agent.call(StartServer::of(self.key_of(workload)?, order), LONGEST_SERVER_STEP)?;
        let ordered = OrderedServer {
            workload: workload.clone(),
            order: order.clone(),
            directory: self.directory(order.trial),
        };
        Ok(Box::new(RemoteServer::new(Arc::clone(&self.agent), ordered)))
    }

    fn record(
        &self,
        servers: &[RecordedServer],
        period: Duration,
    ) -> Result<Box<dyn Recorder>, MachineError> {
        let ordered = (Instant::now(), period);
        let began = self.agent.call(BeginRecording { servers: servers.to_vec(), period }, LONGEST_ANSWER)?;
        // Clocks drift: the offset is that of now.
        let offset = self.agent.connection.clock_offset()?;
        Ok(Box::new(RemoteRecorder::new(Arc::clone(&self.agent), began, offset, ordered)))
    }

    fn stolen_under_load(&self, cpus: &CpuSet, length: Duration) -> Result<Option<f64>, MachineError> {
        self.agent.call(MeasureSteal { cpus: cpus.clone(), length }, LONGEST_ANSWER + length)
    }

    fn available_memory_share(&self) -> Result<Option<f64>, MachineError> {
        self.agent.call(ReadAvailableMemory {}, LONGEST_ANSWER)
    }

    fn room(&self) -> Option<Room> {
        let room = self.agent.call(ReadRoom {}, LONGEST_ANSWER).ok().flatten()?;
        Some(Room { directory: format!("{} on host {}", room.directory, self.agent.host), ..room })
    }

    fn probing(&self) -> Option<&dyn Probing> {
        None
    }

    fn remove_data(&self, trial: u32) {
        // A host that is lost removes it by itself.
        let _ = self.agent.call(RemoveData { trial }, LONGEST_ANSWER);
        let _ = std::fs::remove_dir_all(self.directory(trial));
    }
}
