//! Undoes what a journal says: first the servers that were added get weight 0 and go out of service, then the others get their weights
//! back. Sessions are never cut. A run does this at its end, the lease after the run's death, and `showdown shift --abort` after both.

use std::thread;
use std::time::{Duration, Instant};

use crate::balancer::Haproxy;
use crate::balancer::interface::{Balancer, BalancerError};
use crate::journal::{JournalError, JournalLine, JournalState, ShiftJournal};
use crate::name::Name;

/// How long HAProxy may take to let go of connections that it has kept open to a server without a session.
pub const REMOVE_LIMIT: Duration = Duration::from_secs(10);

/// How often it is asked to remove a server meanwhile.
pub const REMOVE_INTERVAL: Duration = Duration::from_millis(100);

/// What was undone, one line each.
#[derive(Debug, Default)]
pub struct Recovered {
    /// What was done.
    pub done: Vec<String>,
    /// What is left, with its reason and remedy.
    pub left: Vec<String>,
}

impl Recovered {
    /// Whether nothing is left to be done.
    pub fn is_complete(&self) -> bool {
        self.left.is_empty()
    }
}

/// Gives a server weight 0, reads it back, and takes it out of service: from then on no weight sends it anything. A server that is gone is
/// fine.
pub fn take_out(balancer: &mut dyn Balancer, server: &Name) -> Result<(), BalancerError> {
    let lowered = match balancer.set(server, 0) {
        Err(BalancerError::NoServer { .. }) => return Ok(()),
        other => other,
    };
    // Also if the weight was not taken: maintenance needs none.
    match balancer.withdraw(server) {
        Err(BalancerError::NoServer { .. }) => Ok(()),
        other => other.and(lowered),
    }
}

/// Undoes what a journal says at a balancer. Returns what happened to each server, and the lines for the journal.
fn undo(
    state: &JournalState,
    balancer: &mut dyn Balancer,
    patience: Duration,
) -> (Recovered, Vec<JournalLine>) {
    let (mut recovered, mut journalled) = (Recovered::default(), Vec::new());
    for added in &state.added {
        let name = &added.server.name;
        match take_out(balancer, name) {
            Ok(()) => {
                recovered.done.push(format!("{name} has weight 0 and is out of service"));
                journalled.push(JournalLine::Withdrawn(name.clone()));
            }
            Err(error) => recovered.left.push(error.to_string()),
        }
    }
    let Some(opened) = &state.opened else { return (recovered, journalled) };
    let now = match balancer.read() {
        Ok(now) => now,
        Err(error) => {
            recovered.left.push(error.to_string());
            return (recovered, journalled);
        }
    };
    for (server, set) in &state.changed {
        let Some(before) = opened.weights.get(server.as_str()) else { continue };
        // A weight that somebody else has set since then stays.
        let is_own = now.iter().any(|other| other.name == server.as_str() && other.weight == *set);
        if !is_own || set == before {
            continue;
        }
        match balancer.set(server, *before) {
            Ok(()) => recovered.done.push(format!("{server} has its weight {before} again")),
            Err(error) => recovered.left.push(error.to_string()),
        }
    }
    let start = Instant::now();
    for added in &state.added {
        let name = &added.server.name;
        let mut removed = balancer.remove(name);
        while matches!(removed, Err(BalancerError::Refused { .. })) && start.elapsed() < patience {
            thread::sleep(REMOVE_INTERVAL);
            removed = balancer.remove(name);
        }
        match removed {
            Ok(()) | Err(BalancerError::NoServer { .. }) => {
                recovered.done.push(format!("{name} was removed"));
                journalled.push(JournalLine::Removed(name.clone()));
            }
            Err(BalancerError::Refused { answer, .. }) => recovered.done.push(format!(
                "{name} stays in the balancer until its sessions end ({answer}): remove it later with `del server {}/{name}`, or by a reload",
                opened.backend
            )),
            Err(error) => recovered.left.push(error.to_string()),
        }
    }
    (recovered, journalled)
}

/// Undoes what the journal of a directory says, if anything, and writes down that it is done. `patience` is how long the balancer may take
/// to close the connections that it has kept open to a server without a session: before, the server cannot be removed.
pub fn recover(journal: &mut ShiftJournal, patience: Duration) -> Result<Recovered, JournalError> {
    let state = journal.state().clone();
    let Some(opened) = &state.opened else { return Ok(Recovered::default()) };
    let mut balancer = Haproxy::new(&opened.socket, &opened.backend);
    // Another process has the weights of its configuration, and none of the servers that were added.
    let is_same = match balancer.identity() {
        Ok(now) => now.pid == opened.identity.pid && now.started_s == opened.identity.started_s,
        Err(BalancerError::Unreachable { .. }) => false,
        Err(_) => true,
    };
    let (recovered, lines) = if is_same {
        undo(&state, &mut balancer, patience)
    } else {
        let done = "the balancer was reloaded, restarted or ended since then: it has the weights of its configuration".to_owned();
        (Recovered { done: vec![done], left: Vec::new() }, Vec::new())
    };
    for line in lines {
        journal.write(line)?;
    }
    if recovered.is_complete() {
        journal.write(JournalLine::Ended)?;
    }
    Ok(recovered)
}

/// Undoes what a journal says that another process has locked: a run that does not answer. Its balancer is asked directly.
pub fn recover_unlocked(state: &JournalState) -> Recovered {
    let Some(opened) = &state.opened else { return Recovered::default() };
    undo(state, &mut Haproxy::new(&opened.socket, &opened.backend), REMOVE_LIMIT).0
}
