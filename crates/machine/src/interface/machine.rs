//! [`Machine`]: what a run needs of a machine with servers, whether that is this one or one behind a connection. What starts
//! there is a [`SystemUnderTest`].
//!
//! Everything that crosses this interface is plain data: no process, file or descriptor of the machine leaves it. What only the
//! machine of this process can do is [`Probing`].

use std::net::IpAddr;
use std::time::{Duration, Instant};

use host::knobs::{KnobChange, KnobValues};
use host::telemetry::Recording;
use host::{CpuSet, HostFacts};
use serde::{Deserialize, Serialize};
use workload::{ServerVariant, Workload};

use crate::errors::machine::MachineError;
use crate::interface::probing::Probing;
use crate::interface::system_under_test::SystemUnderTest;

/// A machine that runs servers under test. Dropping it stops and restores what is left of them.
pub trait Machine: Send + Sync {
    /// Its facts.
    fn facts(&self) -> Result<HostFacts, MachineError>;

    /// Restores the kernel settings that a killed run left, and takes the right to change these.
    ///
    /// A setting that a killed run left and that cannot be restored is an error only if it is among `variants`, the settings of each variant.
    fn open_kernel_settings(&self, variants: &[KnobValues]) -> Result<LeftSettings, MachineError>;

    /// Tries the kernel settings of each variant and restores them, so that a run with an impossible one ends before its
    /// first trial.
    fn try_kernel_settings(&self, variants: &[KnobValues]) -> Result<(), MachineError>;

    /// Restores the kernel settings of the variant before and applies these, while servers run. Nothing happens where they are the
    /// same.
    fn set_kernel_settings(&self, settings: &KnobValues) -> Result<(), MachineError>;

    /// Restores all kernel settings at the end of a run. Returns what could not be restored, one sentence each.
    fn close_kernel_settings(&self) -> Vec<String>;

    /// Checks that the servers of these variants may run here, and installs what is missing of what they need.
    fn ensure_servers(&self, workload: &Workload, variants: &[ServerVariant]) -> Result<(), MachineError>;

    /// Restores the kernel settings of the variant before, applies those of this one, and starts its server.
    fn start(
        &self,
        workload: &Workload,
        order: &ServerOrder,
    ) -> Result<Box<dyn SystemUnderTest>, MachineError>;

    /// Records the activity of the machine and of these servers, once a period.
    fn record(&self, servers: &[RecordedServer], period: Duration)
    -> Result<Box<dyn Recorder>, MachineError>;

    /// Keeps these CPUs busy for `length` and returns the share of their time that the hypervisor took, 0 to 1. None where
    /// the kernel does not report it.
    fn stolen_under_load(&self, cpus: &CpuSet, length: Duration) -> Result<Option<f64>, MachineError>;

    /// The share of the memory that programs can still get without swap, 0 to 1. None where the kernel does not report it.
    fn available_memory_share(&self) -> Result<Option<f64>, MachineError>;

    /// The room for the servers' files; none where it is not known.
    fn room(&self) -> Option<Room>;

    /// What only the machine of this process can do; none where this is another one.
    fn probing(&self) -> Option<&dyn Probing>;

    /// Removes the files of a trial's server, which has ended.
    fn remove_data(&self, trial: u32);
}

/// What a server is started with. Its variant is text where the order goes to another machine, which checks it with the workload's files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerOrder<V = ServerVariant> {
    /// Number of the trial, by which the machine knows the server. Its files are removed by it.
    pub trial: u32,
    /// The variant's name in the plan, for its facts.
    pub name: String,
    /// The server with its knobs and kernel settings.
    pub variant: V,
    /// Its CPUs.
    pub cpus: CpuSet,
    /// Where it listens.
    pub address: IpAddr,
    /// All connections for which it needs descriptors: with users, one for each. Numbers of the load may follow from it.
    pub connections: u32,
    /// The seed of keys, values and rows.
    pub seed: u64,
    /// The one operation that it is loaded with; none for the mix of the workload.
    pub on_op: Option<String>,
}

impl<V> ServerOrder<V> {
    /// The same order of another form of the variant.
    pub fn with_variant<W>(&self, variant: W) -> ServerOrder<W> {
        ServerOrder {
            trial: self.trial,
            name: self.name.clone(),
            variant,
            cpus: self.cpus.clone(),
            address: self.address,
            connections: self.connections,
            seed: self.seed,
            on_op: self.on_op.clone(),
        }
    }
}

/// A server whose processes are recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedServer {
    /// The prefix of its columns.
    pub name: String,
    /// The trial that it was started for.
    pub trial: u32,
}

/// The prefix of the columns of a part of a recorded server.
pub fn part_columns(server: &str, part: &str) -> String {
    format!("{server}.part.{part}")
}

/// Records telemetry until it is stopped or dropped.
pub trait Recorder: Send {
    /// When the recording's time is 0, on the clock of this process.
    fn began(&self) -> Instant;

    /// Takes a last sample and returns the recording.
    fn stop(self: Box<Self>) -> Result<Recording, MachineError>;
}

/// What became of the kernel settings that a killed run left.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftSettings {
    /// Those that have their old value again.
    pub restored: Vec<KnobChange>,
    /// One sentence for each that has not: the setting, the value that it should have, why it does not, and the remedy.
    pub problems: Vec<String>,
}

/// Room on the file system with the servers' files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Room {
    /// The directory of the files.
    pub directory: String,
    /// What is left for them.
    pub left_bytes: u64,
}
