//! What happens when a controller is silent. No clock of another machine decides, and no wall clock: a controller raises a counter,
//! and a server watches on its own monotonic clock whether it does.

use std::collections::HashMap;
use std::time::Duration;

use crate::change::Change;
use crate::entry::{Attempt, Entry, EntryState, MOST_ATTEMPTS};
use crate::host_row::HostState;
use crate::rows::{QueueError, QueueResult, Rows, known};
use crate::sequences::end_sequence;
use crate::steps::{change, free_hosts, set_hosts};

/// A server ends a lease whose counter it has seen unchanged for so long.
pub const LEASE: Duration = Duration::from_mins(1);

/// A controller ends its run by itself so long after the beginning of its last good call: before the server gives its hosts away.
pub const TRUST: Duration = Duration::from_secs(45);

/// The counters of a server, with the times at which it saw them change. It knows nothing when it starts, so it ends no lease for
/// the length of one.
#[derive(Debug, Default)]
pub struct LeaseWatch {
    seen: HashMap<Attempt, (u64, Duration)>,
}

impl LeaseWatch {
    /// Looks at the entries that controllers have, at a time of a monotonic clock. Returns those whose lease has lapsed.
    pub fn look(&mut self, active: &[Entry], now: Duration) -> Vec<Attempt> {
        let mut seen = HashMap::new();
        let mut lapsed = Vec::new();
        for entry in active {
            let attempt = Attempt { entry: entry.id, token: entry.token };
            let since = match self.seen.get(&attempt) {
                Some((counter, since)) if *counter == entry.counter => *since,
                _ => now,
            };
            if now.saturating_sub(since) >= LEASE {
                lapsed.push(attempt);
            }
            seen.insert(attempt, (entry.counter, since));
        }
        self.seen = seen;
        lapsed
    }

    /// The store did not answer: what was silent meanwhile may have called in vain.
    pub fn forget(&mut self) {
        self.seen.clear();
    }
}

/// Ends the lease of an attempt, if it is still the last one. What had not begun waits again; what had begun is lost, and its hosts
/// are in quarantine.
pub fn lapse<R: Rows + ?Sized>(
    rows: &mut R,
    attempt: Attempt,
    unix_ms: u64,
) -> QueueResult<Option<Entry>, R> {
    let entry = known(rows, attempt.entry)?;
    if entry.token != attempt.token || !entry.state.is_active() {
        return Ok(None);
    }
    if entry.state != EntryState::Claimed {
        let reason = "its controller was silent after the run had begun";
        let state = HostState::Quarantined {
            entry: entry.id,
            reason: format!("the run of entry {} on it was lost: {reason}", entry.id),
        };
        set_hosts(rows, attempt, &state)?;
        let lost = Entry { reason: Some(reason.to_owned()), ended_unix_ms: Some(unix_ms), ..entry };
        return change(rows, lost, Change::Lose, "lose").map(Some);
    }
    free_hosts(rows, attempt)?;
    if entry.is_killed {
        let reason = "it was stopped before anything had begun".to_owned();
        let stopped = Entry { reason: Some(reason), ended_unix_ms: Some(unix_ms), ..entry };
        let stopped = change(rows, stopped, Change::Cancel, "stop")?;
        end_sequence(rows, &stopped, unix_ms)?;
        return Ok(Some(stopped));
    }
    if entry.attempt >= MOST_ATTEMPTS {
        let reason = format!("{} controllers in turn were silent before anything had begun", entry.attempt);
        let failed = Entry { reason: Some(reason), ended_unix_ms: Some(unix_ms), ..entry };
        let failed = change(rows, failed, Change::GiveUp, "give up")?;
        end_sequence(rows, &failed, unix_ms)?;
        return Ok(Some(failed));
    }
    change(rows, entry, Change::Lapse, "lapse").map(Some)
}

/// What a controller has.
pub(crate) fn entries_of<R: Rows + ?Sized>(rows: &mut R, controller: &str) -> QueueResult<Vec<Entry>, R> {
    let states = [EntryState::Claimed, EntryState::Running, EntryState::Storing];
    let mut entries = rows.entries(&states).map_err(QueueError::Store)?;
    entries.retain(|entry| entry.controller.as_deref() == Some(controller));
    Ok(entries)
}

/// A controller has gone: all that it had lapses.
pub fn lost_controller<R: Rows + ?Sized>(
    rows: &mut R,
    controller: &str,
    unix_ms: u64,
) -> QueueResult<Vec<Entry>, R> {
    let mut ended = Vec::new();
    for entry in entries_of(rows, controller)? {
        ended.extend(lapse(rows, Attempt { entry: entry.id, token: entry.token }, unix_ms)?);
    }
    Ok(ended)
}
