//! [`LocalMachine`]: this machine as a [`Machine`]. An agent has one for its controller.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use host::knobs::{self, KnobValues};
use host::lock::HostLock;
use host::lock_owner::LockOwner;
use host::process::{CpuUsedMeter, ProcessTree};
use host::scratch::ScratchDirectory;
use host::telemetry::{Recording, SampledServer, Sampler};
use host::{CpuSet, Host, HostFacts};
use load::engine::RunContext;
use profile::{
    Activity, ActivitySampler, CpuSampler, CpuSamplerOptions, ProcessSet, Stacks, ThreadSampler,
    ThreadSamplerOptions, ThreadStates, WaitSampler, WaitSamplerOptions, Waits,
};
use workload::{Instances, ServerVariant, StartLayout, StartOptions, Workload};

use super::kernel_settings::KernelSettings;
use super::running_server::RunningServer;
use super::squeezed::{self, LocalSampling};
use crate::errors::local::LocalError;
use crate::errors::machine::MachineError;
use crate::interface::machine::{
    LeftSettings, Machine, RecordedServer, Recorder, Room, ServerOrder, part_columns,
};
use crate::interface::probing::{Probing, Sampling, ServerSqueeze};
use crate::interface::system_under_test::SystemUnderTest;
use crate::mutex::locked;

/// The processes of a part of a server, with its name.
type PartTrees = (String, Vec<ProcessTree>);

/// This machine, reserved for one run.
pub struct LocalMachine {
    host: Host,
    context: RunContext,
    cache: PathBuf,
    /// None before they are opened, and after they are closed.
    kernel_settings: Mutex<Option<KernelSettings>>,
    /// The processes of each trial's server: of each part, by its name, one tree for each of its instances.
    servers: Mutex<BTreeMap<u32, Vec<PartTrees>>>,
    scratch: ScratchDirectory,
    owner: LockOwner,
    _lock: HostLock,
}

impl LocalMachine {
    /// Reserves this machine for a new run: no other one measures here until it is dropped. Data is loaded and replies are
    /// checked with the context's load processes, until it is interrupted.
    pub fn reserve(context: &RunContext) -> Result<Self, LocalError> {
        Self::reserve_for(LockOwner::of_random(rand::random()), context)
    }

    /// The same for a run that has other processes, which may be on this machine, too.
    pub(crate) fn reserve_for(owner: LockOwner, context: &RunContext) -> Result<Self, LocalError> {
        let system = |what| move |source| LocalError::System { what, source };
        let lock = HostLock::take(owner)?;
        let scratch = ScratchDirectory::create().map_err(system("create a temporary directory"))?;
        let cache =
            workload::data::default_cache().map_err(system("find a directory for the workload's files"))?;
        Ok(Self {
            host: Host::local(),
            context: context.clone(),
            cache,
            kernel_settings: Mutex::default(),
            servers: Mutex::default(),
            scratch,
            owner,
            _lock: lock,
        })
    }

    /// The run that it is reserved for: agents share this right.
    pub fn lock_owner(&self) -> LockOwner {
        self.owner
    }

    /// Where the files of a workload go that came from another machine.
    pub(crate) fn workload_directory(&self, key: &str) -> PathBuf {
        self.scratch.path().join("workloads").join(key)
    }

    fn parts(&self, trial: u32) -> Result<Vec<PartTrees>, LocalError> {
        locked(&self.servers).get(&trial).cloned().ok_or(LocalError::NoServer { trial })
    }

    /// The processes of all parts, those of the server itself first.
    fn trees(&self, trial: u32) -> Result<Vec<ProcessTree>, LocalError> {
        let mut parts = self.parts(trial)?;
        parts.reverse();
        Ok(parts.into_iter().flat_map(|(_, trees)| trees).collect())
    }

    fn directory(&self, trial: u32) -> PathBuf {
        self.scratch.path().join(trial.to_string())
    }

    /// Applies the variant's kernel settings; returns the values of all settings that some variant has.
    fn apply(&self, variant: &ServerVariant) -> Result<Vec<(String, String)>, LocalError> {
        let mut settings = locked(&self.kernel_settings);
        let Some(settings) = settings.as_mut() else { return Ok(Vec::new()) };
        settings.apply(&variant.kernel)?;
        Ok(settings.values()?)
    }

    /// Starts a server of this machine, see [`Machine::start`].
    pub(crate) fn start_server(
        &self,
        workload: &Workload,
        order: &ServerOrder,
    ) -> Result<RunningServer, LocalError> {
        let kernel_settings = self.apply(&order.variant)?;
        let layout = StartLayout::of_start(order.seed, order.trial);
        let options = StartOptions {
            host: self.host.clone(),
            directory: layout.directory_in(&self.directory(order.trial)),
            layout,
            cache: self.cache.clone(),
            cpus: order.cpus.clone(),
            has_own_cpus: false,
            address: order.address,
            connections: order.connections,
            seed: order.seed,
            interrupted: Arc::clone(&self.context.interrupted),
        };
        let instances = Instances::start(workload, &order.variant, &options)?;
        let parts = instances.parts();
        let mut meters = Vec::new();
        for (_, trees) in &parts {
            meters.push(trees.iter().cloned().map(CpuUsedMeter::new).collect());
        }
        locked(&self.servers).insert(order.trial, parts);
        Ok(RunningServer {
            instances,
            meters: meters.into(),
            cpus: order.cpus.clone(),
            kernel_settings,
            host: self.host.clone(),
            context: self.context.clone(),
            name: order.name.clone(),
            on_op: order.on_op.clone(),
        })
    }
}

impl Machine for LocalMachine {
    fn facts(&self) -> Result<HostFacts, MachineError> {
        Ok(self.host.facts())
    }

    fn open_kernel_settings(&self, variants: &[KnobValues]) -> Result<LeftSettings, MachineError> {
        let opened = KernelSettings::open(&self.host, knobs::default_journal_dir(), variants);
        let (settings, left) = opened.map_err(LocalError::from)?;
        *locked(&self.kernel_settings) = Some(settings);
        Ok(left)
    }

    fn try_kernel_settings(&self, variants: &[KnobValues]) -> Result<(), MachineError> {
        match locked(&self.kernel_settings).as_mut() {
            Some(settings) => Ok(settings.try_all(variants).map_err(LocalError::from)?),
            None => Ok(()),
        }
    }

    fn set_kernel_settings(&self, settings: &KnobValues) -> Result<(), MachineError> {
        match locked(&self.kernel_settings).as_mut() {
            Some(kernel) => Ok(kernel.apply(settings).map_err(LocalError::from)?),
            None => Ok(()),
        }
    }

    fn close_kernel_settings(&self) -> Vec<String> {
        locked(&self.kernel_settings).take().map_or_else(Vec::new, KernelSettings::finish)
    }

    fn ensure_servers(&self, workload: &Workload, variants: &[ServerVariant]) -> Result<(), MachineError> {
        let checked = variants.iter().try_for_each(|variant| workload.check_rights(&variant.server));
        checked.map_err(LocalError::from)?;
        let log = self.scratch.path().join("packages.log");
        let ensured = workload.ensure_dependencies(variants, &self.host, &log);
        Ok(ensured.map_err(LocalError::from)?)
    }

    fn start(
        &self,
        workload: &Workload,
        order: &ServerOrder,
    ) -> Result<Box<dyn SystemUnderTest>, MachineError> {
        Ok(Box::new(self.start_server(workload, order)?))
    }

    fn record(
        &self,
        servers: &[RecordedServer],
        period: Duration,
    ) -> Result<Box<dyn Recorder>, MachineError> {
        let mut sampled = Vec::new();
        for RecordedServer { name, trial } in servers {
            sampled.push(SampledServer { name: name.clone(), trees: self.trees(*trial)? });
            let parts = self.parts(*trial)?;
            if parts.len() < 2 {
                continue;
            }
            for (part, trees) in parts {
                sampled.push(SampledServer { name: part_columns(name, &part), trees });
            }
        }
        Ok(Box::new(self.host.sample(sampled, period).map_err(LocalError::Telemetry)?))
    }

    fn stolen_under_load(&self, cpus: &CpuSet, length: Duration) -> Result<Option<f64>, MachineError> {
        let stolen = self.host.stolen_under_load(cpus, length);
        Ok(stolen.map_err(|source| LocalError::System { what: "measure steal", source })?)
    }

    fn available_memory_share(&self) -> Result<Option<f64>, MachineError> {
        Ok(self.host.available_memory_share())
    }

    fn room(&self) -> Option<Room> {
        let directory = self.scratch.path();
        let disk = rustix::fs::statvfs(directory).ok()?;
        let left_bytes = disk.f_bavail.saturating_mul(disk.f_frsize);
        Some(Room { directory: directory.display().to_string(), left_bytes })
    }

    fn probing(&self) -> Option<&dyn Probing> {
        Some(self)
    }

    fn remove_data(&self, trial: u32) {
        locked(&self.servers).remove(&trial);
        let _ = fs::remove_dir_all(self.directory(trial));
    }
}

impl Probing for LocalMachine {
    fn sample_cpu(
        &self,
        trial: u32,
        options: &CpuSamplerOptions,
    ) -> Result<Box<dyn Sampling<Stacks>>, MachineError> {
        let processes = ProcessSet::Servers(self.trees(trial)?);
        let sampler = CpuSampler::start(processes, options).map_err(LocalError::from)?;
        Ok(Box::new(LocalSampling(|| Ok(sampler.stop()?))))
    }

    fn sample_threads(
        &self,
        trial: u32,
        options: &ThreadSamplerOptions,
    ) -> Result<Box<dyn Sampling<ThreadStates>>, MachineError> {
        let processes = ProcessSet::Servers(self.trees(trial)?);
        let sampler = ThreadSampler::start(processes, options).map_err(LocalError::from)?;
        Ok(Box::new(LocalSampling(|| Ok(sampler.stop()?))))
    }

    fn sample_waits(
        &self,
        trial: u32,
        options: &WaitSamplerOptions,
    ) -> Result<Box<dyn Sampling<Waits>>, MachineError> {
        let processes = ProcessSet::Servers(self.trees(trial)?);
        let sampler = WaitSampler::start(processes, options).map_err(LocalError::from)?;
        Ok(Box::new(LocalSampling(|| Ok(sampler.stop()?))))
    }

    fn sample_activity(
        &self,
        trial: u32,
        options: &WaitSamplerOptions,
        ports: &[u16],
    ) -> Result<Box<dyn Sampling<Activity>>, MachineError> {
        let processes = ProcessSet::Servers(self.trees(trial)?);
        let sampler = ActivitySampler::start(processes, options, ports).map_err(LocalError::from)?;
        Ok(Box::new(LocalSampling(|| Ok(sampler.stop()?))))
    }

    fn burn(&self, cpus: &CpuSet, share: f64) -> Result<Box<dyn Sampling<f64>>, MachineError> {
        Ok(squeezed::burn(&self.host, cpus, share)?)
    }

    fn squeeze(&self, trial: u32, squeeze: ServerSqueeze) -> Result<Box<dyn Sampling<f64>>, MachineError> {
        let trees = self.trees(trial)?;
        Ok(squeezed::begin(&self.host, &trees, squeeze, self.scratch.path())?)
    }
}

impl Recorder for Sampler {
    fn began(&self) -> Instant {
        self.started()
    }

    fn stop(self: Box<Self>) -> Result<Recording, MachineError> {
        Ok(Self::stop(*self))
    }
}
