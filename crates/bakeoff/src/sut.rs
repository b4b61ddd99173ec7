//! The seam between a trial and a server: what a trial asks of one that has been started. `workload` has the
//! real ones; a test has one of its own.

use archive::model::VariantFacts;
use host::process::ProcessTree;
use load::engine::RunContext;
use load::spec::LoadSpec;
use workload::OperationCount;

/// What went wrong with a server, in one line with the thing, the reason and the mend.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SutError(pub String);

impl SutError {
    /// Of anything that says what went wrong.
    pub fn of(error: impl std::fmt::Display) -> Self {
        Self(error.to_string())
    }
}

/// A server that runs.
pub trait SystemUnderTest {
    /// LoadPhases the data and checks one reply of every operation.
    fn prepare(&mut self, context: &RunContext) -> Result<(), SutError>;

    /// What the engine is to do; connections, threads, shape and length are the trial's.
    fn load_spec(&self) -> Result<LoadSpec, SutError>;

    /// What the server has counted since its start; none where it keeps no count.
    fn count(&mut self) -> Result<Option<OperationCount>, SutError>;

    /// Its facts for the fairness audit; configuration files are added by the trial.
    fn facts(&self) -> VariantFacts;

    /// The configuration files as it reads them: name and text, secrets masked.
    fn configuration(&self) -> Vec<(String, String)>;

    /// Its processes: a tree for each of its instances.
    fn trees(&self) -> Vec<ProcessTree>;

    /// Why it is not the process that was started; none if it is.
    fn check_alive(&self) -> Option<String>;

    /// What it has written: a name and the text for each of its instances.
    fn logs(&self) -> Vec<(String, Vec<u8>)>;

    /// Stops it and waits for its end.
    fn stop(&mut self);
}
