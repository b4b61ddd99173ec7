//! A file of targets: what the machines of a run cost.

use std::path::PathBuf;

use archive::Run;
use cost::Targets;
use cost::pricing::{CostError, CostReport, cost};
use cost::targets::NoTarget;

/// Targets with the name of their file.
#[derive(Debug)]
pub struct Prices {
    /// The file.
    pub file: PathBuf,
    /// What it says.
    pub targets: Targets,
}

/// Why the costs of runs cannot be computed.
#[derive(Debug, thiserror::Error)]
pub enum PricesError {
    /// The file of targets says too little, or the wrong thing, of a variant.
    #[error("{}: {source}", file.display())]
    Targets {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        source: NoTarget,
    },
    /// A run has no figures that could be priced.
    #[error(transparent)]
    Run(cost::RunError),
}

impl Prices {
    /// What runs cost.
    pub fn costs(&self, runs: &[Run]) -> Result<CostReport, PricesError> {
        cost(runs, &self.targets).map_err(|error| match error {
            CostError::Target(source) => PricesError::Targets { file: self.file.clone(), source },
            CostError::Run(error) => PricesError::Run(error),
        })
    }
}
