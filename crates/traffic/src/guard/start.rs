//! Whether the servers of a plan may begin: what the backend must look like before the first action. What makes a balancer unfit is left
//! to `balancer::haproxy::refusals`.

use thiserror::Error;

use crate::balancer::log::line::FORMAT;
use crate::name::Name;
use crate::observation::{Alarm, ServerState, ServerWindow, Window};
use crate::weights::Participants;

/// After so many requests without a line, the log does not arrive.
const MOST_WITHOUT_LOG: u64 = 20;

/// Why a run does not begin. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum StartError {
    /// The balancer's socket gave no answer.
    #[error("the balancer does not answer: check that it runs, and [balancer] socket in the plan")]
    NoAnswer,
    /// An old server of the plan is not in the backend.
    #[error("{0} is not in the backend: correct its name in the plan")]
    Missing(Name),
    /// An old server is not up.
    #[error("{server} is {state}: repair it first")]
    NotUp {
        /// The server.
        server: Name,
        /// Its state.
        state: ServerState,
    },
    /// An old server takes no traffic, and a share of it would be given to it.
    #[error(
        "{0} has weight 0, so somebody has taken it out of the traffic: give it its weight back, or leave it out of [old] servers"
    )]
    TakenOut(Name),
    /// An old server is a backup: with the first weight, the candidate would get all traffic.
    #[error(
        "{0} is a backup server, and gets nothing as soon as the candidate has a weight: leave it out of [old] servers, or remove `backup` from its line of the configuration"
    )]
    Backup(Name),
    /// Something is wrong already.
    #[error("{0}")]
    Alarm(Alarm),
    /// The old servers' parts cannot stay as they are.
    #[error("the old servers have different weights ({0}): give them the same weight first")]
    UnequalOld(String),
    /// A server takes traffic and is not in the plan.
    #[error("{0} takes traffic and is not in the plan: add it to [old] servers")]
    Unknown(String),
}

/// Checks a backend before anything is changed: candidate and control are not in it yet. The windows are those of the seconds before.
pub fn check_start(participants: &Participants, windows: &[Window]) -> Result<(), StartError> {
    let Some(window) = windows.last().filter(|window| window.identity.is_some()) else {
        return Err(StartError::NoAnswer);
    };
    if let Some(alarm) = windows.iter().flat_map(|window| &window.alarms).next() {
        return Err(StartError::Alarm(alarm.clone()));
    }
    let mut old_weights = Vec::new();
    for name in &participants.old {
        let server = window.server(name.as_str()).ok_or_else(|| StartError::Missing(name.clone()))?;
        let (Some(state), Some(weight)) = (server.state, server.weight) else {
            return Err(StartError::Missing(name.clone()));
        };
        if state != ServerState::Up {
            return Err(StartError::NotUp { server: name.clone(), state });
        }
        if weight == 0 {
            return Err(StartError::TakenOut(name.clone()));
        }
        if server.is_backup {
            return Err(StartError::Backup(name.clone()));
        }
        old_weights.push(weight);
    }
    if old_weights.windows(2).any(|pair| pair[0] != pair[1]) {
        let weights: Vec<String> = old_weights.iter().map(u32::to_string).collect();
        return Err(StartError::UnequalOld(weights.join(", ")));
    }
    for other in &window.servers {
        let is_old = participants.old.iter().any(|old| other.server == *old);
        if other.takes_traffic() && !is_old {
            return Err(StartError::Unknown(other.server.clone()));
        }
    }
    Ok(())
}

/// Checks that the balancer logs requests to this run. Sessions of mail have their lines at their ends, so this is not for them.
pub fn check_log(windows: &[Window]) -> Result<(), StartError> {
    let servers: Vec<&ServerWindow> = windows.iter().flat_map(|window| &window.servers).collect();
    let requests: u64 = servers.iter().map(|server| server.requests).sum();
    let has_lines = servers.iter().any(|server| server.log_lines > 0);
    match servers.iter().find(|server| server.requests > 0) {
        Some(first) if !has_lines && requests >= MOST_WITHOUT_LOG => {
            let server = first.server.clone();
            Err(StartError::Alarm(Alarm::NoLog { server, requests, format: FORMAT }))
        }
        _ => Ok(()),
    }
}
