//! The interface between a trial and a running server: what a trial needs of one. `local_lab` implements it for the
//! servers of a workload.

use archive::model::VariantFacts;
use host::process::{LogText, ProcessTree};
use load::engine::RunContext;
use load::spec::LoadSpec;
use workload::{InstanceError, OperationCount, VariantError};

/// What went wrong with a server, in one line: what failed, why, and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum SutError {
    /// The plan names a variant that the workload does not have.
    #[error(transparent)]
    Variant(#[from] VariantError),
    /// A kernel setting could not be read or changed.
    #[error(transparent)]
    KernelSetting(#[from] host::knobs::Error),
    /// The server did not start, answer or stop as it should.
    #[error(transparent)]
    Instance(#[from] InstanceError),
}

/// A running server.
pub trait SystemUnderTest {
    /// Loads the data and checks one reply of every operation.
    fn prepare(&mut self, context: &RunContext) -> Result<(), SutError>;

    /// What the engine sends; the trial sets connections, threads, shape and length.
    fn load_spec(&self) -> Result<LoadSpec, SutError>;

    /// Operations that the server has counted since its start; none where it keeps no count.
    fn count(&mut self) -> Result<Option<OperationCount>, SutError>;

    /// Its facts for the fairness audit; the trial adds the configuration files.
    fn facts(&self) -> VariantFacts;

    /// Name and text of each configuration file as the server reads it, secrets masked.
    fn configuration(&self) -> Vec<(String, String)>;

    /// Its processes: one tree for each of its instances.
    fn trees(&self) -> Vec<ProcessTree>;

    /// Checks that the process that was started still runs.
    fn check_alive(&self) -> Result<(), SutError>;

    /// Name and text of each instance's log.
    fn logs(&self) -> Vec<(String, LogText)>;

    /// Stops it and waits for its end.
    fn stop(&mut self);
}
