//! Why a file of targets cannot be used.

use std::io;

use notation::source_text::FileError;

/// Why there are no targets.
#[derive(Debug, thiserror::Error)]
pub enum TargetsError {
    /// The file cannot be read.
    #[error("cannot read {path}: {source}: name a file of targets, see docs/COST.md")]
    Read {
        /// The file.
        path: String,
        /// The system's error.
        source: io::Error,
    },
    /// The file is wrong.
    #[error(transparent)]
    File(#[from] FileError),
}
