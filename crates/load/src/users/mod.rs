//! Users: in which order each carries out operations, and how long it waits between them. Decision 0035 has the reasons.
//!
//! | file | what it holds |
//! |---|---|
//! | [`delay`] | how long a user waits |
//! | [`plan`] | a population as plain data, and the mix that follows from it; when [users arrive](VisitArrivals) who do not stay |
//! | [`ratio`](RatioRule) | figures that must reach a bound |
//! | [`parse`] | how it is written: `[load.users]`, and the keys of users in `[[load.op]]` |
//! | [`outside`] | operations outside the mix: before it, beside it and after it |
//! | [`outside_spec`] | the same as plain data |
//! | [`file`](Scenario) | a scenario in a file of its own |
//!
//! The engine walks them in `worker/walks.rs`, and carries out what is outside the mix in `session/outside_load.rs`. What was measured
//! of them is in `outcome/user_summary.rs`, and which rules they break in `outcome/validity/users.rs`. What a user keeps between its operations is a matter of the protocol.

pub mod delay;
mod file;
pub mod outside;
pub mod outside_spec;
pub mod parse;
pub mod plan;
mod ratio;

pub use file::{Scenario, ScenarioFileError};
pub use parse::{RawUsers, ScenarioError};
pub use plan::{NextOperation, PassCriteria, UserPlan, VisitArrivals};
pub use ratio::RatioRule;
