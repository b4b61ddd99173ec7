//! A canary: a candidate against a fresh control of equal weight, which rises step by step and goes back at the first breach.
//!
//! [`Canary`] takes windows and returns actions; it has no clock and opens nothing. Lateness is decided by windows, because late
//! operations come in bunches; failures by counts, because a bunch of them is a reason to stop anyway. One process a metric runs over
//! the whole rollout, and the metrics divide α.

mod answer;
mod canary;
mod evidence;
mod metric;
mod outlook;
mod proof;
mod rules;

pub use answer::Answer;
pub(crate) use canary::is_drained;
pub use canary::{Canary, Phase};
pub use evidence::Evidences;
pub use metric::{Bound, Metric, MetricState};
pub use outlook::{Outlook, StepOutlook, TooLong};
pub use proof::{Proof, ProofRecord, StepLacks};
pub use rules::{CanaryRules, Step, WEIGHTS, share_at, usual_steps, weights_left_out};
