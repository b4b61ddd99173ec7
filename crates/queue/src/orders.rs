//! The verbs of people.

use crate::change::Change;
use crate::entry::{Entry, EntryId, EntryState};
use crate::host_row::{HostRow, HostState, host_identity};
use crate::rows::{QueueError, QueueResult, Refusal, Rows, Sequence, known};
use crate::sequences::{append, end_sequence};
use crate::steps::change;

/// What somebody wants to have run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewEntry {
    /// What it is in a line.
    pub title: String,
    /// The digest of its plan without the seed.
    pub question: String,
    /// Who wants it.
    pub submitter: String,
    /// A higher one goes first.
    pub priority: i32,
    /// The hosts that it needs beside the machine of its controller.
    pub hosts: Vec<String>,
    /// The entry that it repeats.
    pub parent: Option<EntryId>,
    /// The same key has one effect.
    pub key: Option<String>,
    /// Whether it is out of the order at first.
    pub is_paused: bool,
    /// The last entry of a sequence, after which it runs.
    pub after: Option<EntryId>,
    /// Whether it runs although the entry before it has no answer.
    pub goes_on: bool,
}

/// Where an entry is moved to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Before all others.
    First,
    /// Behind all others of its priority.
    Last,
    /// Before this one, with its priority.
    Before(EntryId),
}

/// The distance between two places in the order, so that another one fits between.
const GAP: i64 = 1 << 20;

/// Adds an entry; returns it, and whether it is new. A repeated submission with the same key has no effect.
pub fn submit<R: Rows + ?Sized>(rows: &mut R, new: &NewEntry, unix_ms: u64) -> QueueResult<(Entry, bool), R> {
    if let Some(key) = &new.key
        && let Some(earlier) = rows.entry_of_key(key).map_err(QueueError::Store)?
    {
        if earlier.question == new.question && earlier.title == new.title {
            return Ok((earlier, false));
        }
        return Err(QueueError::Refused(Refusal::OtherSubmission(key.clone())));
    }
    if let Some(parent) = new.parent {
        known(rows, parent)?;
    }
    let before = match new.after {
        Some(before) => Some(known(rows, before)?),
        None => None,
    };
    let id = rows.next(Sequence::Entry).map_err(QueueError::Store)?;
    let entry = Entry {
        id,
        after: new.after,
        next: None,
        goes_on: new.goes_on,
        state: if new.is_paused { EntryState::Paused } else { EntryState::Waiting },
        title: new.title.clone(),
        question: new.question.clone(),
        submitter: new.submitter.clone(),
        priority: new.priority,
        position: next_position(rows)?,
        hosts: new.hosts.clone(),
        parent: new.parent,
        key: new.key.clone(),
        attempt: 0,
        token: 0,
        controller: None,
        counter: 0,
        is_killed: false,
        run: None,
        resumes: false,
        reason: None,
        refused_by: Vec::new(),
        submitted_unix_ms: unix_ms,
        began_unix_ms: None,
        ended_unix_ms: None,
    };
    rows.put_entry(&entry).map_err(QueueError::Store)?;
    if let Some(before) = before {
        append(rows, before, &entry)?;
    }
    Ok((entry, true))
}

fn next_position<R: Rows + ?Sized>(rows: &mut R) -> QueueResult<i64, R> {
    let number = rows.next(Sequence::Position).map_err(QueueError::Store)?;
    Ok(i64::try_from(number).unwrap_or(i64::MAX / GAP).saturating_mul(GAP))
}

/// Takes a waiting entry out of the order.
pub fn pause<R: Rows + ?Sized>(rows: &mut R, id: EntryId, reason: Option<&str>) -> QueueResult<Entry, R> {
    let entry = known(rows, id)?;
    if entry.state == EntryState::Paused {
        return Ok(entry);
    }
    change(rows, Entry { reason: reason.map(str::to_owned), ..entry }, Change::Pause, "pause")
}

/// Puts an entry back into the order, also one that controllers have refused: their rules may be others now.
pub fn release<R: Rows + ?Sized>(rows: &mut R, id: EntryId) -> QueueResult<Entry, R> {
    let entry = known(rows, id)?;
    let entry = Entry { reason: None, refused_by: Vec::new(), ..entry };
    if entry.state == EntryState::Waiting {
        rows.put_entry(&entry).map_err(QueueError::Store)?;
        return Ok(entry);
    }
    change(rows, entry, Change::Release, "release")
}

/// Moves a waiting or paused entry.
pub fn place<R: Rows + ?Sized>(rows: &mut R, id: EntryId, to: Place) -> QueueResult<Entry, R> {
    let mut entry = known(rows, id)?;
    if !matches!(entry.state, EntryState::Waiting | EntryState::Paused) {
        return Err(QueueError::Refused(Refusal::State { entry: id, state: entry.state, verb: "move" }));
    }
    let mut order = rows.entries(&[EntryState::Waiting, EntryState::Paused]).map_err(QueueError::Store)?;
    order.retain(|other| other.id != id);
    let index = match to {
        Place::First => 0,
        Place::Last => {
            entry.position = next_position(rows)?;
            rows.put_entry(&entry).map_err(QueueError::Store)?;
            return Ok(entry);
        }
        Place::Before(other) => match order.iter().position(|entry| entry.id == other) {
            Some(index) => index,
            None => return Err(QueueError::Refused(Refusal::NoEntry(other))),
        },
    };
    let Some(next) = order.get(index) else { return Ok(entry) };
    entry.priority = next.priority;
    let before = order[..index].iter().rev().find(|other| other.priority == next.priority);
    let low = before.map_or(next.position.saturating_sub(2 * GAP), |before| before.position);
    if next.position - low >= 2 {
        entry.position = low + (next.position - low) / 2;
        rows.put_entry(&entry).map_err(QueueError::Store)?;
        return Ok(entry);
    }
    // No place is left between the two: all of this priority get new ones.
    let (priority, next) = (next.priority, next.id);
    for mut other in order.into_iter().filter(|other| other.priority == priority) {
        if other.id == next {
            entry.position = next_position(rows)?;
            rows.put_entry(&entry).map_err(QueueError::Store)?;
        }
        other.position = next_position(rows)?;
        rows.put_entry(&other).map_err(QueueError::Store)?;
    }
    Ok(entry)
}

/// Stops an entry: at once where no controller has it, otherwise by its controller.
pub fn kill<R: Rows + ?Sized>(rows: &mut R, id: EntryId, by: &str, unix_ms: u64) -> QueueResult<Entry, R> {
    let entry = known(rows, id)?;
    let reason = Some(format!("stopped by {by}"));
    match entry.state {
        EntryState::Claimed | EntryState::Running => {
            let killed = Entry { is_killed: true, reason, ..entry };
            rows.put_entry(&killed).map_err(QueueError::Store)?;
            Ok(killed)
        }
        EntryState::Cancelled => Ok(entry),
        _ => {
            let killed = Entry { reason, ended_unix_ms: Some(unix_ms), ..entry };
            let killed = change(rows, killed, Change::Cancel, "kill")?;
            end_sequence(rows, &killed, unix_ms)?;
            Ok(killed)
        }
    }
}

/// Lets a lost run go on, with the blocks that it has.
pub fn resume<R: Rows + ?Sized>(rows: &mut R, id: EntryId) -> QueueResult<Entry, R> {
    let entry = known(rows, id)?;
    if entry.state == EntryState::Lost && entry.run.is_none() {
        return Err(QueueError::Refused(Refusal::NothingToResume(id)));
    }
    let entry = Entry { resumes: true, attempt: 0, reason: None, is_killed: false, ..entry };
    change(rows, entry, Change::Resume, "resume")
}

/// Frees a host from quarantine: somebody says why it is clean.
pub fn clean_host<R: Rows + ?Sized>(
    rows: &mut R,
    name: &str,
    by: &str,
    reason: &str,
) -> QueueResult<HostRow, R> {
    let host = rows.host(&host_identity(name)).map_err(QueueError::Store)?;
    let host = host.ok_or_else(|| QueueError::Refused(Refusal::NoHost(name.to_owned())))?;
    if !matches!(host.state, HostState::Quarantined { .. }) {
        return Err(QueueError::Refused(Refusal::NotQuarantined(name.to_owned())));
    }
    if reason.trim().is_empty() {
        return Err(QueueError::Refused(Refusal::NoReason(name.to_owned())));
    }
    let cleaned = Some(format!("{by}: {}", reason.trim()));
    let host = HostRow { state: HostState::Free, cleaned, ..host };
    rows.put_host(&host).map_err(QueueError::Store)?;
    Ok(host)
}
