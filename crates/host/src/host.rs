//! The seam: a machine, and what can be asked of it.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{io, thread};

use crate::affinity::{self, Core, CpuSet};
use crate::cgroup;
use crate::doctor::Evidence;
use crate::facts::{Facts, ProcessFacts};
use crate::knobs::{self, Change, Knobs};
use crate::packages::{self, PackageName, Program};
use crate::ports;
use crate::process::{self, Running, ServerCommand};
use crate::root::Root;
use crate::steal;
use crate::telemetry::{self, Sampler, Watch};

/// A machine, and all that can be asked of one.
///
/// What goes in and comes out is plain data (paths, process numbers and addresses are the machine's own)
/// or a handle without public fields. So a machine behind SSH is another constructor of this type, and
/// nothing outside of this crate changes.
#[derive(Debug, Clone)]
pub struct Host {
    root: Root,
    keeper: PathBuf,
}

impl Host {
    /// This machine, with this program as the keeper of servers: its `main` calls [`crate::keeper_main`].
    pub fn local() -> Self {
        Self::local_with_keeper("/proc/self/exe")
    }

    /// This machine, with another program as the keeper of servers.
    pub fn local_with_keeper(program: impl Into<PathBuf>) -> Self {
        Self::below("/", program)
    }

    /// A machine whose `/proc`, `/sys` and `/etc` are below another directory, such as a copy of them that a
    /// test makes. Processes and ports are always those of this machine.
    pub fn below(root: impl Into<PathBuf>, keeper: impl Into<PathBuf>) -> Self {
        Self { root: Root::new(root), keeper: keeper.into() }
    }

    /// Starts a server.
    pub fn start(&self, command: &ServerCommand) -> Result<Running, process::Error> {
        process::start(&self.keeper, command)
    }

    /// What the machine is.
    pub fn facts(&self) -> Facts {
        Facts::read(&self.root)
    }

    /// What a process is; none when there is no such process.
    pub fn process_facts(&self, pid: u32) -> Option<ProcessFacts> {
        ProcessFacts::read(&self.root, pid)
    }

    /// What [`crate::doctor::examine`] judges: the facts, and this long a look at what goes on meanwhile.
    pub fn evidence(&self, look: Duration) -> io::Result<Evidence> {
        // The facts first: to read them is work that would be seen.
        let (facts, allowed_cpus) = (self.facts(), self.allowed_cpus()?);
        let sampler = self.sample(Vec::new(), look)?;
        thread::sleep(look);
        Ok(Evidence { facts, allowed_cpus, idle: sampler.stop() })
    }

    /// The right to change settings, with their old values in a journal in this directory
    /// ([`knobs::default_journal_dir`]). What one who was killed has left there is put back first.
    pub fn knobs(&self, journal_dir: &Path) -> Result<Knobs, knobs::Error> {
        Knobs::open(&self.root, &self.keeper, journal_dir)
    }

    /// Puts back the settings that one who was killed has changed, and says which. Every run begins with this.
    pub fn recover_knobs(&self, journal_dir: &Path) -> Result<Vec<Change>, knobs::Error> {
        knobs::recover(&self.root, journal_dir)
    }

    /// Where a program is. One that is missing is installed if we may, with what that prints in `log`;
    /// otherwise the error names the command to run.
    pub fn ensure_program(&self, program: &Program, log: &Path) -> Result<PathBuf, packages::Error> {
        packages::ensure(&self.root, program, log)
    }

    /// The installed version of a package, with the distribution's revision; none if it is not installed.
    pub fn package_version(&self, package: &PackageName) -> Option<String> {
        packages::installed_version(package)
    }

    /// Takes samples of what the machine and these servers do, once a period, until it is stopped.
    pub fn sample(&self, watches: Vec<Watch>, period: Duration) -> io::Result<Sampler> {
        telemetry::start(&self.root, watches, period)
    }

    /// The share of these CPUs' time that a hypervisor takes while they are kept busy for so long, 0 to 1; none where the
    /// kernel does not say.
    pub fn stolen_under_load(&self, cpus: &CpuSet, look: Duration) -> io::Result<Option<f64>> {
        steal::under_load(self, cpus, look)
    }

    /// Whether a server could listen on this address and port now; the error names who has it.
    pub fn check_port(&self, address: SocketAddr) -> Result<(), ports::Error> {
        ports::check_free(address)
    }

    /// Free ports on this address, as many as asked for, from outside of the client's range.
    pub fn free_ports(&self, ip: IpAddr, count: usize) -> Result<Vec<u16>, ports::Error> {
        ports::free(ip, count)
    }

    /// The CPUs that are switched on and that we may use (taskset, cpuset).
    pub fn allowed_cpus(&self) -> io::Result<CpuSet> {
        Ok(CpuSet::of_this_thread()?.intersection(&affinity::online(&self.root)))
    }

    /// The cores that these CPUs are threads of: what [`affinity::split()`] shares out.
    pub fn cores(&self, cpus: &CpuSet) -> Vec<Core> {
        affinity::cores(&self.root, cpus)
    }

    /// What the control groups let us have.
    pub fn cgroup_limits(&self) -> cgroup::Limits {
        cgroup::Limits::read(&self.root)
    }
}
