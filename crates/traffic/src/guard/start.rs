//! Whether the servers of a plan may begin: what the backend must look like before the first action. What makes a balancer unfit is left
//! to `balancer::haproxy::refusals`.

use thiserror::Error;

use crate::name::Name;
use crate::observation::{ServerState, Window};
use crate::weights::Participants;

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
    /// The old servers' parts cannot stay as they are.
    #[error("the old servers have different weights ({0}): give them the same weight first")]
    UnequalOld(String),
    /// A server takes traffic and is not in the plan.
    #[error("{0} takes traffic and is not in the plan: add it to [old] servers")]
    Unknown(String),
}

/// Checks a backend before anything is changed: candidate and control are not in it yet.
pub fn check_start(participants: &Participants, window: &Window) -> Result<(), StartError> {
    if window.identity.is_none() {
        return Err(StartError::NoAnswer);
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
        old_weights.push(weight);
    }
    if old_weights.windows(2).any(|pair| pair[0] != pair[1]) {
        let weights: Vec<String> = old_weights.iter().map(u32::to_string).collect();
        return Err(StartError::UnequalOld(weights.join(", ")));
    }
    for other in &window.servers {
        let is_old = participants.old.iter().any(|old| other.server == *old);
        if other.weight.unwrap_or(0) > 0 && !is_old {
            return Err(StartError::Unknown(other.server.clone()));
        }
    }
    Ok(())
}
