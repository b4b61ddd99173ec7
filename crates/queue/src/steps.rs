//! What several verbs do: an entry goes to its next state, and the hosts of an attempt get another one.

use crate::change::{Change, next_state};
use crate::entry::{Attempt, Entry};
use crate::host_row::{HostRow, HostState};
use crate::rows::{QueueError, QueueResult, Refusal, Rows};

/// Writes an entry in its next state.
pub(crate) fn change<R: Rows + ?Sized>(
    rows: &mut R,
    entry: Entry,
    change: Change,
    verb: &'static str,
) -> QueueResult<Entry, R> {
    let Some(state) = next_state(entry.state, change) else {
        let Entry { id, state, .. } = entry;
        return Err(QueueError::Refused(Refusal::State { entry: id, state, verb }));
    };
    let entry = Entry { state, ..entry };
    rows.put_entry(&entry).map_err(QueueError::Store)?;
    Ok(entry)
}

/// Frees the hosts of an attempt that still have its token.
pub(crate) fn free_hosts<R: Rows + ?Sized>(rows: &mut R, attempt: Attempt) -> QueueResult<(), R> {
    set_hosts(rows, attempt, &HostState::Free)
}

/// Gives the hosts of an attempt another state; hosts that a later claim has stay.
pub(crate) fn set_hosts<R: Rows + ?Sized>(
    rows: &mut R,
    attempt: Attempt,
    state: &HostState,
) -> QueueResult<(), R> {
    for host in rows.hosts().map_err(QueueError::Store)? {
        if matches!(&host.state, HostState::Leased(lease) if lease.token == attempt.token) {
            rows.put_host(&HostRow { state: state.clone(), ..host }).map_err(QueueError::Store)?;
        }
    }
    Ok(())
}
