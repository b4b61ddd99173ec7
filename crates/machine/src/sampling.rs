//! What a study asks of a machine beside a run: to sample a server's CPU time or its threads, and to take CPU time from it.
//! Each goes on until it is stopped, and then has a result of plain data.

use crate::error::MachineError;
use crate::local::LocalError;

/// Goes on until it is stopped or dropped.
pub trait Sampling<T> {
    /// Ends it and returns its result.
    fn stop(self: Box<Self>) -> Result<T, MachineError>;
}

/// A sampling of this machine: what ends it.
pub(crate) struct LocalSampling<F>(pub F);

impl<T, F: FnOnce() -> Result<T, LocalError>> Sampling<T> for LocalSampling<F> {
    fn stop(self: Box<Self>) -> Result<T, MachineError> {
        Ok((self.0)()?)
    }
}
