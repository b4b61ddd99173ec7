//! What ends every run on live traffic, whatever its question: a change by somebody else, missing data, a server that is down, and
//! hard limits in two of three windows. Statistics are left to `rollout` and `ramp`.

mod changes;
mod limits;
mod reason;
mod start;

pub use limits::HardLimits;
pub(crate) use reason::percent;
pub use reason::{Breach, Reason, Stop};
pub use start::StartError;

use crate::observation::Window;
use crate::weights::{Participants, Weights};

use changes::Changes;
use limits::Limits;

/// Watches every window of a run.
#[derive(Debug, Clone)]
pub struct Guard {
    changes: Changes,
    limits: Limits,
}

impl Guard {
    /// Checks the backend before the first action.
    pub fn new(
        participants: Participants,
        first: &Window,
        hard: HardLimits,
    ) -> Result<(Self, Weights), StartError> {
        let identity = start::check(&participants, first)?;
        let guard = Self { changes: Changes::new(identity, first), limits: Limits::new(hard) };
        Ok((guard, Weights::before(participants, first)))
    }

    /// Why the run must end, if it must.
    pub fn check(&mut self, window: &Window, weights: &Weights) -> Option<Reason> {
        let changed = self.changes.check(window, weights);
        let limits = self.limits.check(window, weights.participants());
        if let Some(alarm) = window.alarms.first() {
            // The lease asks the servers itself: where the candidate does not answer it, the candidate is to blame.
            let candidate = format!("{} does not work: ", weights.participants().candidate);
            return Some(match alarm.strip_prefix(&candidate) {
                Some(reason) => Breach::DoesNotWork(reason.to_owned()).into(),
                None => Stop::Alarm(alarm.clone()).into(),
            });
        }
        changed.map(Reason::from).or(limits)
    }

    /// Begins a step: shares are counted anew.
    pub fn begin_step(&mut self) {
        self.changes.begin_step();
    }
}
