//! Why a server of a study cannot be loaded any more: each in one line.

use machine::MachineError;

use crate::trial::TrialError;

/// Why a server of a study cannot be loaded any more.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// Ctrl-C.
    #[error("interrupted")]
    Interrupted,
    /// The server has ended.
    #[error("{name} ended while it was loaded: {source}")]
    Ended {
        /// The variant.
        name: String,
        /// How.
        source: Box<MachineError>,
    },
    /// Its machine or its load failed.
    #[error("{name}: {source}")]
    Failed {
        /// The variant.
        name: String,
        /// Why.
        source: TrialError,
    },
}
