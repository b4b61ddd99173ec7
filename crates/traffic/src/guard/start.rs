//! Whether a run may begin on a backend: everything that the balancer says of it before the first action.

use thiserror::Error;

use crate::observation::{BalancerIdentity, ServerState, Window};
use crate::weights::Participants;

/// Why a run does not begin. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum StartError {
    /// The balancer's socket gave no answer.
    #[error("the balancer does not answer: check that it runs, and [balancer] socket in the plan")]
    NoAnswer,
    /// Only with this algorithm are servers of equal weight interchangeable.
    #[error("the backend's algorithm is {0}, which hides or favours a slow server: set `balance roundrobin`")]
    Algorithm(String),
    /// A server of the plan is not in the backend.
    #[error("{0} is not in the backend: correct its name in the plan")]
    Missing(String),
    /// An old server is not up.
    #[error("{server} is {state}: repair it first")]
    NotUp {
        /// The server.
        server: String,
        /// The state in words.
        state: &'static str,
    },
    /// The old servers' parts cannot stay as they are.
    #[error("the old servers have different weights ({0}): give them the same weight first")]
    UnequalOld(String),
    /// The candidate or the control has traffic already.
    #[error("{server} has weight {weight} before the run: set it to 0 in the configuration file")]
    HasTraffic {
        /// The server.
        server: String,
        /// Its weight.
        weight: u32,
    },
    /// A server takes traffic and is not in the plan.
    #[error("{0} takes traffic and is not in the plan: add it to [old] servers")]
    Unknown(String),
}

/// The state of a server in words.
pub(super) fn in_words(state: ServerState) -> &'static str {
    match state {
        ServerState::Up => "up",
        ServerState::Down => "down",
        ServerState::Draining => "draining",
        ServerState::Maintenance => "in maintenance",
        ServerState::Absent => "not in the backend",
    }
}

/// Checks the first window; returns who answers.
pub(super) fn check(participants: &Participants, first: &Window) -> Result<BalancerIdentity, StartError> {
    let identity = first.identity.clone().ok_or(StartError::NoAnswer)?;
    if identity.algorithm != "roundrobin" {
        return Err(StartError::Algorithm(identity.algorithm));
    }
    let mut old_weights = Vec::new();
    for name in participants.all() {
        let server = first.server(name).ok_or_else(|| StartError::Missing(name.clone()))?;
        let (Some(state), Some(weight)) = (server.state, server.weight) else {
            return Err(StartError::Missing(name.clone()));
        };
        let is_old = participants.old.contains(name);
        if is_old && state != ServerState::Up {
            return Err(StartError::NotUp { server: name.clone(), state: in_words(state) });
        }
        if is_old {
            old_weights.push(weight);
        } else if weight > 0 {
            return Err(StartError::HasTraffic { server: name.clone(), weight });
        }
    }
    if old_weights.windows(2).any(|pair| pair[0] != pair[1]) {
        let weights: Vec<String> = old_weights.iter().map(u32::to_string).collect();
        return Err(StartError::UnequalOld(weights.join(", ")));
    }
    for other in &first.servers {
        let takes_part = participants.all().any(|known| *known == other.server);
        if other.weight.unwrap_or(0) > 0 && !takes_part {
            return Err(StartError::Unknown(other.server.clone()));
        }
    }
    Ok(identity)
}
