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
    /// Servers that stay in the balancer, out of service, because sessions go on there. Nothing has to be undone for that.
    pub stays: Vec<String>,
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
    for (server, changed) in &state.changed {
        let Some(before) = opened.weights.get(server.as_str()) else { continue };
        // A weight that somebody else has set since then stays. The last weight of the journal may not have been set: then an earlier one
        // is there.
        let is_own = now.iter().any(|other| {
            other.name == server.as_str() && changed.is_own(other.weight) && other.weight != *before
        });
        if !is_own {
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
            Err(BalancerError::Refused { answer, .. }) => recovered.stays.push(format!(
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
        // Whoever may not write to its socket, or finds it busy, does not know whether it runs.
        Err(error) if error.has_ended() => false,
        Err(_) => true,
    };
    let (recovered, lines) = if is_same {
        undo(&state, &mut balancer, patience)
    } else {
        let done = "the balancer was reloaded, restarted or ended since then: it has the weights of its configuration".to_owned();
        (Recovered { done: vec![done], ..Recovered::default() }, Vec::new())
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

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::os::unix::net::UnixListener;
    use std::path::Path;

    use super::*;
    use crate::journal::Opened;
    use crate::observation::BalancerIdentity;

    fn name(text: &str) -> Name {
        text.parse().unwrap()
    }

    /// The journal of a run whose two old servers had weight 1.
    fn journal(directory: &Path) -> ShiftJournal {
        let (algorithm, version) = ("roundrobin".to_owned(), "HAProxy 2.6".to_owned());
        let identity = BalancerIdentity { pid: 7, started_s: 1, algorithm, version, master: None };
        let weights = [("old1".to_owned(), 1), ("old2".to_owned(), 1)].into();
        let socket = directory.join("admin.sock");
        let mut journal = ShiftJournal::lock(directory).unwrap();
        journal.begin(Opened { socket, backend: name("b"), identity, weights, at_s: 5 }).unwrap();
        journal
    }

    fn setting(server: &str, weight: u32) -> JournalLine {
        JournalLine::Setting { server: name(server), weight, at_s: 6 }
    }

    #[test]
    fn a_balancer_that_cannot_be_asked_is_not_one_that_has_ended() {
        let dir = tempfile::tempdir().unwrap();
        let mut journal = journal(dir.path());
        let socket = dir.path().join("admin.sock");
        // Neither a missing right nor this is the end of a balancer.
        std::os::unix::fs::symlink(&socket, &socket).unwrap();
        let recovered = recover(&mut journal, Duration::ZERO).unwrap();
        assert!(!recovered.is_complete() && recovered.done.is_empty(), "{recovered:?}");
        assert!(recovered.left[0].contains("check that it runs and that you may write"), "{recovered:?}");
        assert!(journal.state().opened.is_some(), "somebody else may undo it");
        std::fs::remove_file(&socket).unwrap();
        assert!(recover(&mut journal, Duration::ZERO).unwrap().is_complete());
        assert!(journal.state().opened.is_none(), "its socket is gone, and so is the balancer");
    }

    /// A balancer whose servers have these weights, for one process; returns the commands that set a weight.
    fn balancer(listener: &UnixListener, weights: [(&str, u32); 2], connections: usize) -> Vec<String> {
        let mut set = Vec::new();
        let mut weights = weights.map(|(server, weight)| (server.to_owned(), weight));
        for _ in 0..connections {
            let (mut stream, _) = listener.accept().unwrap();
            let mut command = String::new();
            BufReader::new(&stream).read_line(&mut command).unwrap();
            let words: Vec<&str> = command.split_whitespace().collect();
            let answer = match words.as_slice() {
                ["set", "server", path, "weight", weight] => {
                    let server = path.trim_start_matches("b/");
                    let found = weights.iter_mut().find(|(name, _)| name == server).unwrap();
                    found.1 = weight.parse().unwrap();
                    set.push(command.trim().to_owned());
                    "\n".to_owned()
                }
                ["get", "weight", path] => {
                    let server = path.trim_start_matches("b/");
                    let found = weights.iter().find(|(name, _)| name == server).unwrap();
                    format!("{} (initial 1)\n", found.1)
                }
                _ => {
                    let columns = "be_name srv_name srv_addr srv_port srv_uweight srv_iweight srv_op_state srv_admin_state srv_agent_state";
                    let mut text = format!("1\n# {columns}\n");
                    for (server, weight) in &weights {
                        let row = format!("b {server} 127.0.0.1 80 {weight} 1 2 0 0\n");
                        text.push_str(&row);
                    }
                    text
                }
            };
            stream.write_all(answer.as_bytes()).unwrap();
        }
        set
    }

    #[test]
    fn a_weight_that_a_kill_has_kept_from_being_set_back_is_set_back() {
        let dir = tempfile::tempdir().unwrap();
        let mut journal = journal(dir.path());
        for line in [setting("old1", 64), setting("old2", 64), setting("old1", 1), setting("old2", 1)] {
            journal.write(line).unwrap();
        }
        // The last one was not set any more.
        let listener = UnixListener::bind(dir.path().join("admin.sock")).unwrap();
        let balancer = thread::spawn(move || balancer(&listener, [("old1", 1), ("old2", 64)], 3));
        let recovered = recover_unlocked(journal.state());
        assert_eq!(recovered.done, ["old2 has its weight 1 again"], "{recovered:?}");
        assert_eq!(balancer.join().unwrap(), ["set server b/old2 weight 1"]);
    }
}
