//! What a controller asks of a host with servers: a request for each method of [`Machine`](crate::Machine),
//! [`SystemUnderTest`](crate::SystemUnderTest), [`CpuMeter`](crate::CpuMeter) and [`Recorder`](crate::Recorder).

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use host::CpuSet;
use host::knobs::KnobValues;
use host::lock_owner::LockOwner;
use host::telemetry::{OtherProgram, TelemetryColumn};
use load::clock::Nanos;
use serde::{Deserialize, Serialize};
use workload::{PackedWorkload, ServerVariant, VariantError, Workload};

use crate::errors::call::CallError;
use crate::interface::machine::{RecordedServer, ServerOrder};

/// Requests without anything to say.
macro_rules! bare {
    ($($(#[$about:meta])* $name:ident,)*) => {
        $(
            $(#[$about])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
            pub struct $name {}
        )*
    };
}

/// Requests about the server of a trial.
macro_rules! of_server {
    ($($(#[$about:meta])* $name:ident,)*) => {
        $(
            $(#[$about])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
            pub struct $name {
                /// The trial.
                pub trial: u32,
            }
        )*
    };
}

bare! {
    /// Interrupts what takes long: it ends with [`CallError::Interrupted`]. Answered at once.
    Interrupt,
    /// Asks for the facts of the machine alone.
    ReadFacts,
    /// Restores all kernel settings at the end of a run.
    CloseKernelSettings,
    /// Asks how much memory is available.
    ReadAvailableMemory,
    /// Asks for the room for the servers' files.
    ReadRoom,
}

of_server! {
    /// Loads the data of a server, and checks its replies.
    PrepareServer,
    /// Asks for what only the start of a server knows.
    ReadStart,
    /// Asks for a server's count of operations.
    ReadCount,
    /// Checks the work of a server with the workload's `verify`.
    VerifyServer,
    /// Asks for the facts of a server.
    ReadServerFacts,
    /// Asks for the configuration files of a server.
    ReadConfiguration,
    /// Asks for the CPU time of a server, with processes that have ended.
    ReadCpuUsed,
    /// Asks for the CPU time of the running processes of a server.
    ReadRunningCpu,
    /// Asks whether a server still runs.
    CheckServer,
    /// Asks for the logs of a server.
    ReadLogs,
    /// Stops a server.
    StopServer,
    /// Removes the files of a server that has ended.
    RemoveData,
}

/// Reserves the machine for a run: no other one measures there until the agent ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reserve {
    /// The run. Its controller, or another of its agents, may be on the same machine.
    pub owner: LockOwner,
    /// Where its servers will listen.
    pub address: IpAddr,
}

/// A machine that is reserved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reserved {
    /// The CPUs that the agent may use.
    pub allowed_cpus: CpuSet,
    /// Whether a server could listen on the address.
    pub address: Result<(), CallError>,
}

/// The kernel settings of each variant of a machine.
pub type VariantSettings = Vec<KnobValues>;

/// See [`Machine::open_kernel_settings`](crate::Machine::open_kernel_settings).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenKernelSettings {
    /// The settings.
    pub variants: VariantSettings,
}

/// See [`Machine::try_kernel_settings`](crate::Machine::try_kernel_settings).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TryKernelSettings {
    /// The settings.
    pub variants: VariantSettings,
}

/// See [`Machine::set_kernel_settings`](crate::Machine::set_kernel_settings).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetKernelSettings {
    /// The settings of the variant.
    pub settings: KnobValues,
}

/// Sends a workload, once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakeWorkload {
    /// The name by which later requests mean it.
    pub key: String,
    /// Its files.
    pub workload: Box<PackedWorkload>,
}

/// See [`Machine::ensure_servers`](crate::Machine::ensure_servers).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnsureServers {
    /// The key of the workload.
    pub workload: String,
    /// The servers with their settings.
    pub variants: Vec<VariantRequest>,
}

/// A variant as text: it is checked over there, where its files are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VariantRequest {
    /// The server.
    pub server: String,
    /// Names and values of its knobs and kernel settings.
    pub settings: Vec<(String, String)>,
}

impl VariantRequest {
    /// The request for a variant.
    pub fn of(variant: &ServerVariant) -> Self {
        let ServerVariant { server, knobs, kernel } = variant;
        let knobs = knobs.iter().map(|(name, value)| (name.clone(), value.to_string()));
        let kernel = kernel.iter().map(|(name, value)| (name.to_string(), value.clone()));
        Self { server: server.clone(), settings: knobs.chain(kernel).collect() }
    }

    /// The variant, checked on this machine.
    pub fn variant(&self, workload: &Workload) -> Result<ServerVariant, VariantError> {
        let settings = self.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        workload.variant(&self.server, settings)
    }
}

/// See [`Machine::start`](crate::Machine::start).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartServer {
    /// The key of the workload.
    pub workload: String,
    /// What is ordered; its variant is checked over there.
    pub order: ServerOrder<VariantRequest>,
}

impl StartServer {
    /// The request for an order.
    pub fn of(workload: String, order: &ServerOrder) -> Self {
        Self { workload, order: order.with_variant(VariantRequest::of(&order.variant)) }
    }

    /// The order, checked on this machine.
    pub fn order(&self, workload: &Workload) -> Result<ServerOrder, VariantError> {
        Ok(self.order.with_variant(self.order.variant.variant(workload)?))
    }
}

/// What only the start of a server knows. The controller builds the load of its own workload and variant: no address, protocol,
/// path or variable crosses the connection in this direction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerStart {
    /// The port of each instance, on the address of the order.
    pub ports: Vec<u16>,
    /// The certificate of this one start, as PEM.
    pub certificate: Option<String>,
    /// The password of this one start.
    pub password: Option<StartPassword>,
}

/// A password that a start made.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StartPassword(pub String);

impl fmt::Debug for StartPassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// See [`Machine::record`](crate::Machine::record).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BeginRecording {
    /// The servers.
    pub servers: Vec<RecordedServer>,
    /// How often.
    pub period: Duration,
}

/// A recording that has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordingBegan {
    /// Its number.
    pub recording: u64,
    /// When its time is 0, by the clock of its machine.
    pub at: Nanos,
}

/// Takes a last sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndRecording {
    /// Its number.
    pub recording: u64,
}

/// A recording without its samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordingHead {
    /// The meanings of the values.
    pub columns: Vec<TelemetryColumn>,
    /// The number of samples.
    pub samples: usize,
    /// The other programs with the most CPU time.
    pub others: Vec<OtherProgram>,
    /// The CPU time of the sampler itself.
    pub cost: Duration,
}

/// Asks for samples of a recording that has ended: at least one, and no more than fit into a message. After the last one, it
/// is forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadSamples {
    /// The recording.
    pub recording: u64,
    /// The first one.
    pub from: usize,
}

/// See [`Machine::stolen_under_load`](crate::Machine::stolen_under_load).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasureSteal {
    /// The CPUs.
    pub cpus: CpuSet,
    /// How long.
    pub length: Duration,
}
