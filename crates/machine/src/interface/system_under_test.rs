//! The interface between a trial and a running server: what a trial needs of one. Where it runs is left to
//! [`Machine`](crate::Machine).

use std::time::Duration;

use archive::model::VariantFacts;
use host::process::{CpuUsed, LogText};
use load::clock::Nanos;
use load::spec::LoadSpec;
use serde::{Deserialize, Serialize};
use workload::{ObservedValue, OperationCount, Verification};

use crate::errors::machine::MachineError;

/// A running server. Dropping it stops it.
pub trait SystemUnderTest: Send {
    /// Loads the data and checks one reply of every operation.
    fn prepare(&mut self) -> Result<(), MachineError>;

    /// What the engine sends; the trial sets connections, threads, shape and length.
    fn load_spec(&self) -> Result<LoadSpec, MachineError>;

    /// Operations that the server has counted since its start; none where it keeps no count.
    fn count(&mut self) -> Result<Option<OperationCount>, MachineError>;

    /// What the workload's `verify` says of its work, when its load has ended; none where the workload has no such command.
    fn verify(&mut self) -> Result<Option<Verification>, MachineError> {
        Ok(None)
    }

    /// Its facts for the fairness audit; the trial adds the configuration files.
    fn facts(&self) -> Result<VariantFacts, MachineError>;

    /// Name and text of each configuration file as the server reads it, secrets masked.
    fn configuration(&self) -> Vec<(String, String)>;

    /// Reads its CPU time while others use the server.
    fn cpu_meter(&self) -> Box<dyn CpuMeter>;

    /// Reads what the server says of itself, while others use it; none where its workload observes nothing, or where the machine
    /// cannot be asked for it.
    fn observer(&self) -> Result<Option<Box<dyn ServerObserver>>, MachineError> {
        Ok(None)
    }

    /// Checks that the process that was started still runs.
    fn check_alive(&self) -> Result<(), MachineError>;

    /// Name and text of each instance's log.
    fn logs(&self) -> Vec<(String, LogText)>;

    /// Stops it and waits for its end.
    fn stop(&mut self);
}

/// Reads the CPU time of a server, all instances together.
pub trait CpuMeter {
    /// CPU time since the server's start, with the processes that have ended.
    fn used(&self) -> Result<ServerCpuUsed, MachineError>;

    /// CPU time of the processes that run now. One that ends takes its time with it.
    fn of_running(&self) -> Result<CpuReading, MachineError>;
}

/// Reads what a server says of itself, all instances together.
pub trait ServerObserver: Send {
    /// The values now. One that the server does not list is left out.
    fn read(&self) -> Result<Vec<ObservedValue>, MachineError>;
}

/// CPU time of a server since its start, and of each of its parts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerCpuUsed {
    /// All parts together.
    pub whole: CpuUsed,
    /// Each part, in the order of `workload::ServerDefinition::parts`; empty for a server without companions.
    pub parts: Vec<Duration>,
}

/// CPU time at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuReading {
    /// When it was read, by the clock of the server's machine. Only readings of one machine have a difference.
    pub at: Nanos,
    /// CPU time of the running processes since their start.
    pub time: Duration,
}
