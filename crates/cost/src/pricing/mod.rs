//! What the variants of runs cost on the machines of a file of targets.

mod comparison;
mod report;
pub(crate) mod target;
mod variant;

pub use comparison::{ComparedFigure, CostComparison, VariantOfRun};
pub use report::{CostError, CostReport, cost};
pub use target::Missing;
pub use variant::{Power, VariantCost};
