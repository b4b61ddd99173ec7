//! What the variants of runs cost on the machines of a file of targets.

mod comparison;
mod over_load;
mod report;
pub(crate) mod target;
mod variant;
pub(crate) mod watts;

pub use comparison::{ComparedFigure, CostComparison, VariantOfRun};
pub use over_load::CheaperOverLoad;
pub use report::{CostError, CostReport, cost};
pub use target::Missing;
pub use variant::{Power, VariantCost};
