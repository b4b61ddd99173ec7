//! What ends every run on live traffic, whatever its question: an alarm of the part that observes, missing data, a server that is down,
//! and hard limits in two of three windows. Statistics are left to `rollout` and `ramp`.

mod limits;
mod reason;
mod shares;
mod start;

pub use limits::HardLimits;
pub(crate) use reason::percent;
pub use reason::{Breach, Reason, Stop};
pub use start::{StartError, check_log, check_start};

use crate::observation::{Alarm, ServerState, Window};
use crate::weights::{Participants, Weights};

use limits::Limits;
use shares::Shares;

/// Watches every window of a run.
#[derive(Debug, Clone)]
pub struct Guard {
    shares: Shares,
    limits: Limits,
}

impl Guard {
    /// Begins with nothing seen.
    pub fn new(hard: HardLimits) -> Self {
        Self { shares: Shares::default(), limits: Limits::new(hard) }
    }

    /// Why the run must end, if it must.
    pub fn check(&mut self, window: &Window, weights: &Weights) -> Option<Reason> {
        let participants = weights.participants();
        let shares = self.shares.check(window, weights);
        let limits = self.limits.check(window, participants);
        if let Some(alarm) = window.alarms.first() {
            return Some(of_alarms(alarm, window, participants));
        }
        old_not_up(window, participants)
            .or_else(|| came_back(window, participants))
            .or(shares)
            .map(Reason::from)
            .or(limits)
    }

    /// Begins a step: shares are counted anew.
    pub fn begin_step(&mut self) {
        self.shares.begin_step();
    }
}

/// What the alarms of a window mean. Where candidate and control do not work, the candidate is not to blame.
fn of_alarms(first: &Alarm, window: &Window, participants: &Participants) -> Reason {
    for alarm in &window.alarms {
        if let Alarm::DoesNotWork { server, reason } = alarm
            && *server != participants.candidate
        {
            let breach = Breach::DoesNotWork { server: server.clone(), reason: reason.clone() };
            return Stop::ControlFailed(Box::new(breach)).into();
        }
    }
    match first {
        Alarm::DoesNotWork { server, reason } => {
            Breach::DoesNotWork { server: server.clone(), reason: reason.clone() }.into()
        }
        other => Stop::Alarm(other.clone()).into(),
    }
}

/// A server that is not in the plan and takes traffic: a health check that succeeds again changes nothing that `balancer::watch` sees.
fn came_back(window: &Window, participants: &Participants) -> Option<Stop> {
    for server in &window.servers {
        if server.takes_traffic() && participants.all().all(|name| server.server != *name) {
            return Some(Stop::CameBack { server: server.server.clone() });
        }
    }
    None
}

/// An old server that is not up: its part of the traffic is elsewhere.
fn old_not_up(window: &Window, participants: &Participants) -> Option<Stop> {
    for name in &participants.old {
        if let Some(state) = window.server(name.as_str()).and_then(|server| server.state)
            && state != ServerState::Up
        {
            return Some(Stop::OldNotUp { server: name.clone(), state });
        }
    }
    None
}
