//! Two sides or more: ratios and differences with their intervals, what they amount to, when a run may look at them, and several
//! claims at once. What one side's values say alone is left to [`sample`](crate::sample).

pub mod bounded;
pub mod drift;
pub mod expected_width;
pub mod false_discovery;
pub mod holm;
pub mod looks;
pub mod means;
pub mod multiple;
pub mod power;
pub mod ratio;
pub mod sessions;
pub mod verdict;
pub mod welch;
