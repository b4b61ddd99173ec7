//! Entries that run one after the other. Each names the one before it; an entry without an answer ends the rest, unless their submitter has
//! said that they go on.

use crate::change::Change;
use crate::entry::{Entry, EntryState};
use crate::rows::{QueueError, QueueResult, Rows, known};
use crate::steps::change;

/// What the entry before one means for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Predecessor {
    /// It has ended, or there is none.
    Over,
    /// It has not ended.
    Open,
    /// Its run is lost: a person decides.
    Lost,
}

impl Predecessor {
    /// What this one means for an entry.
    pub(crate) fn of(before: &Entry, entry: &Entry) -> Self {
        match before.state {
            EntryState::Lost if !entry.goes_on => Self::Lost,
            state if state.is_ended() => Self::Over,
            _ => Self::Open,
        }
    }
}

/// Whether the entry before one lets it begin.
pub(crate) fn is_its_turn<R: Rows + ?Sized>(rows: &mut R, entry: &Entry) -> QueueResult<bool, R> {
    let Some(before) = entry.after else { return Ok(true) };
    let before = known(rows, before)?;
    Ok(Predecessor::of(&before, entry) == Predecessor::Over)
}

/// An entry has ended: without an answer, those behind it are not run.
pub(crate) fn end_sequence<R: Rows + ?Sized>(
    rows: &mut R,
    ended: &Entry,
    unix_ms: u64,
) -> QueueResult<(), R> {
    let (mut id, mut state, mut next) = (ended.id, ended.state, ended.next);
    while matches!(state, EntryState::Failed | EntryState::Cancelled)
        && let Some(behind) = next
    {
        let entry = known(rows, behind)?;
        if entry.goes_on || !matches!(entry.state, EntryState::Waiting | EntryState::Paused) {
            break;
        }
        let reason = Some(format!("entry {id} before it in its sequence is {}", state.name()));
        let stopped =
            change(rows, Entry { reason, ended_unix_ms: Some(unix_ms), ..entry }, Change::Cancel, "stop")?;
        (id, state, next) = (stopped.id, stopped.state, stopped.next);
    }
    Ok(())
}

/// Puts an entry behind another one.
pub(crate) fn append<R: Rows + ?Sized>(rows: &mut R, before: Entry, next: &Entry) -> QueueResult<(), R> {
    let before = Entry { next: Some(next.id), ..before };
    rows.put_entry(&before).map_err(QueueError::Store)
}
