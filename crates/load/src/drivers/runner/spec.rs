//! A runner as plain data: where it is reached and what it does.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A runner that has been started, and its mix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunnerSpec {
    /// The named pipe that it reads.
    pub stdin: PathBuf,
    /// The named pipe that it writes.
    pub stdout: PathBuf,
    /// Its operations and their weights. The runner gets the weights and draws the operations itself.
    pub mix: Vec<(String, f64)>,
}
