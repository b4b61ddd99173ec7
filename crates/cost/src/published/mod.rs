//! Published evaluations, shipped as data, and what can be computed from them.
//!
//! The data file has what the authors printed, with the client and the caveats of each figure. This module computes power, SWaP, work
//! for each joule and cost anew with the formulas of `stats`, and compares them with what was printed.

mod checks;
mod data;
mod efficiency;
mod page;
mod report;

pub use checks::{Check, Outcome};
pub use data::{Evaluation, ListedResult, Published, PublishedResult, PublishedSystem};
pub use efficiency::Efficiency;
pub use page::page;
pub use report::{PublishedReport, report};
