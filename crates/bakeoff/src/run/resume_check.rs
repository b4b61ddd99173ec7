//! Whether a resumed run is still of the same host, workload and servers.

use archive::RunId;
use archive::model::{FactChange, Resumption};

use crate::run::changes;
use crate::run::interrupted::ResumeError;

/// Compares the facts of a resumed run with those of its beginning.
pub struct FactCheck {
    /// The run.
    pub id: RunId,
    /// Whether the user accepts changes.
    pub accept_changes: bool,
    /// Whether the run is a sweep, whose variants have several points.
    pub is_sweep: bool,
}

impl FactCheck {
    /// An error names the serious changes, where they are not accepted.
    pub fn accept(&self, changes: &[FactChange], accepted: &[Resumption]) -> Result<(), ResumeError> {
        let serious = changes::serious(changes, accepted);
        if serious.is_empty() || self.accept_changes {
            return Ok(());
        }
        Err(ResumeError::Changed { id: self.id.clone(), changes: changes::in_words(&serious) })
    }
}
