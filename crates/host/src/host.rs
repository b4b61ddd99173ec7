//! [`Host`]: the interface to one machine. The other modules of this crate implement it.

use std::net::{IpAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{io, thread};

use crate::affinity::{self, Core, CpuSet};
use crate::control_groups::cgroup::CgroupLimits;
use crate::doctor::HostEvidence;
use crate::facts::{self, HostFacts, ProcessFacts};
use crate::knobs::{self, Knob, KnobChange, Knobs, Quieting, Restoration, ShallowIdle};
use crate::packages::{self, Dependency, PackageName};
use crate::ports;
use crate::process::{self, ServerCommand};
use crate::root::Root;
use crate::squeeze::{self, Squeeze, SqueezeError, Squeezer};
use crate::supervisor::{self, ServerProcess};
use crate::telemetry::steal::{self, CpusSoFar};
use crate::telemetry::{self, SampledServer, Sampler};

/// A machine.
///
/// It is always the one of this process. Arguments and results are plain data (paths, process IDs and addresses are those
/// of the machine) or handles without public fields.
#[derive(Debug, Clone)]
pub struct Host {
    root: Root,
    supervisor: PathBuf,
}

impl Host {
    /// This machine. The current program also runs as the supervisor of servers: its `main` calls
    /// [`crate::supervisor_main`].
    pub fn local() -> Self {
        Self::local_with_supervisor("/proc/self/exe")
    }

    /// This machine, with another program as the supervisor of servers.
    pub fn local_with_supervisor(program: impl Into<PathBuf>) -> Self {
        Self::below("/", program)
    }

    /// A machine whose `/proc`, `/sys` and `/etc` are below another directory, such as a copy that a test makes.
    /// Processes and ports are always those of this machine.
    pub fn below(root: impl Into<PathBuf>, supervisor: impl Into<PathBuf>) -> Self {
        Self { root: Root::new(root), supervisor: supervisor.into() }
    }

    /// Starts a server.
    pub fn start(&self, command: &ServerCommand) -> Result<ServerProcess, process::Error> {
        supervisor::start(&self.supervisor, command)
    }

    /// Reads the facts of the machine.
    pub fn facts(&self) -> HostFacts {
        HostFacts::read(&self.root)
    }

    /// The ID of the kernel's boot: machines with one ID run on one kernel.
    pub fn boot_id(&self) -> Option<String> {
        facts::boot_id(&self.root)
    }

    /// Reads the facts of a process. Returns none when there is no such process.
    pub fn process_facts(&self, pid: u32) -> Option<ProcessFacts> {
        ProcessFacts::read(&self.root, pid)
    }

    /// Collects the input of [`crate::doctor::examine`]: the facts, and telemetry over this duration.
    pub fn evidence(&self, duration: Duration) -> io::Result<HostEvidence> {
        // Facts first: reading them takes CPU time that the telemetry would show.
        let (facts, allowed_cpus) = (self.facts(), self.allowed_cpus()?);
        let sampler = self.sample(Vec::new(), duration)?;
        thread::sleep(duration);
        Ok(HostEvidence { facts, allowed_cpus, idle: sampler.stop(), quieting: self.quieting() })
    }

    /// What this user could do to make the machine quieter while it measures.
    pub fn quieting(&self) -> Quieting {
        Quieting::of(&self.root)
    }

    /// Keeps all CPUs out of deep idle states until the result is dropped. Needs root.
    pub fn shallow_idle(&self) -> io::Result<ShallowIdle> {
        ShallowIdle::begin(&self.root)
    }

    /// Opens the kernel settings for changes. Old values go to a journal in this directory
    /// ([`knobs::default_journal_dir`]). Changes that a killed process left there are undone first, and returned.
    pub fn knobs(&self, journal_dir: &Path) -> Result<(Knobs, Vec<KnobChange>), knobs::Error> {
        Knobs::open(&self.root, &self.supervisor, journal_dir)
    }

    /// The value of a kernel setting now.
    pub fn kernel_setting(&self, knob: &Knob) -> Result<String, knobs::Error> {
        knobs::current(&self.root, knob)
    }

    /// Undoes the changes of settings that a killed process left. Every run that changes no setting itself starts with this.
    pub fn recover_knobs(&self, journal_dir: &Path) -> Result<Restoration, knobs::Error> {
        knobs::recover(&self.root, journal_dir)
    }

    /// Finds a program, a library or a file. Installs a missing one if this process may, with the output in `log`. Otherwise the
    /// error contains the command to run.
    pub fn ensure(&self, dependency: &Dependency, log: &Path) -> Result<PathBuf, packages::Error> {
        packages::ensure(&self.root, dependency, log)
    }

    /// Whether a program, a library or a file is there.
    pub fn has(&self, dependency: &Dependency) -> bool {
        packages::find(&self.root, dependency).is_some()
    }

    /// Whether a process has a file mapped whose name begins so, such as a library. None where its maps cannot be read, or where it has
    /// ended.
    pub fn has_mapped(&self, pid: u32, file_name: &str) -> Option<bool> {
        facts::has_mapped(&self.root, pid, file_name)
    }

    /// The installed version of a package, with the distribution's revision. Returns none if it is not installed.
    pub fn package_version(&self, package: &PackageName) -> Option<String> {
        packages::installed_version(package)
    }

    /// Starts to sample the machine and these servers once a period.
    pub fn sample(&self, servers: Vec<SampledServer>, period: Duration) -> io::Result<Sampler> {
        telemetry::start(&self.root, servers, period)
    }

    /// Keeps these CPUs busy for `duration` and returns the share of their time that the hypervisor took, 0 to 1.
    /// Returns none where the kernel does not report steal.
    pub fn stolen_under_load(&self, cpus: &CpuSet, duration: Duration) -> io::Result<Option<f64>> {
        steal::under_load(&self.root, cpus, duration)
    }

    /// What the hypervisor has taken from these CPUs since the boot, and what programs have used. None where the kernel does not report it.
    pub fn cpus_so_far(&self, cpus: &CpuSet) -> Option<CpusSoFar> {
        steal::so_far(&self.root, cpus)
    }

    /// Finds `count` free ports on this address, outside the range of ephemeral ports.
    pub fn free_ports(&self, ip: IpAddr, count: usize) -> Result<Vec<u16>, ports::Error> {
        ports::free(ip, count)
    }

    /// Listens on a port of this address that is outside the range of ephemeral ports and free.
    pub fn listen(&self, ip: IpAddr) -> Result<(u16, TcpListener), ports::Error> {
        ports::listen(ip)
    }

    /// The CPUs that are online.
    pub fn online_cpus(&self) -> CpuSet {
        affinity::online(&self.root)
    }

    /// The CPUs that are online and that this process may use (taskset, cpuset).
    pub fn allowed_cpus(&self) -> io::Result<CpuSet> {
        Ok(CpuSet::of_this_thread()?.intersection(&self.online_cpus()))
    }

    /// The cores of these CPUs, as input of [`affinity::split()`].
    pub fn cores(&self, cpus: &CpuSet) -> Vec<Core> {
        affinity::cores(&self.root, cpus)
    }

    /// The share of the memory that programs can still get without swap, 0 to 1: `MemAvailable` of `/proc/meminfo`. None where
    /// the kernel does not report it.
    pub fn available_memory_share(&self) -> Option<f64> {
        facts::available_memory_share(&self.root)
    }

    /// Takes this share of the time of each of these CPUs, 0 to 0.9, until it is dropped.
    pub fn burn(&self, cpus: &CpuSet, share: f64) -> Result<Squeezer, SqueezeError> {
        squeeze::burn(&self.supervisor, cpus, share)
    }

    /// Takes memory or a disk's time in the control groups of the process `beside`, until it is dropped. Files that are read from
    /// are made once in `directory`, which belongs to this user alone.
    pub fn squeeze(&self, squeeze: Squeeze, beside: u32, directory: &Path) -> Result<Squeezer, SqueezeError> {
        squeeze::start(&self.root, &self.supervisor, squeeze, beside, directory)
    }

    /// The limits of this process's control groups.
    pub fn cgroup_limits(&self) -> CgroupLimits {
        CgroupLimits::read(&self.root)
    }
}
