//! The verbs of controllers. Each but the first two shows the token of its claim, and an old one changes nothing.

use serde::{Deserialize, Serialize};

use crate::change::Change;
use crate::entry::{Attempt, Entry, EntryState, RefusedBy};
use crate::host_row::{ControllerRow, HostRow, HostState, Lease};
use crate::lapses::{entries_of, lost_controller};
use crate::rows::{QueueError, QueueResult, Refusal, Rows, Sequence, known};
use crate::steps::{change, free_hosts};

/// What a controller says of itself when it starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct NewController {
    /// The id that it has got when it was installed.
    pub id: String,
    /// The id of this start.
    pub boot: String,
    /// Its name, to be shown.
    pub name: String,
    /// The host that it runs on.
    pub host: String,
    /// Its version.
    pub version: String,
    /// The rules of its own file, in a line.
    pub rules: String,
}

/// A start of a controller that asks for something.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ControllerCall {
    /// Its id.
    pub id: String,
    /// The id of this start.
    pub boot: String,
}

/// What a controller gets.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Claim {
    /// The entry, with its token.
    pub entry: Entry,
    /// All hosts that it has now.
    pub hosts: Vec<String>,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// It has an answer, and is to be stored.
    Answered,
    /// It is in the archive.
    Stored,
    /// It has none.
    Failed {
        /// Why, in a line.
        reason: String,
    },
    /// It was stopped.
    Stopped {
        /// By whom, in a line.
        reason: String,
    },
}

/// A controller has started. What an earlier start of it had, has ended with it. A copy of its machine has the same id, and must not
/// end what the machine runs.
pub fn register<R: Rows + ?Sized>(
    rows: &mut R,
    new: &NewController,
    unix_ms: u64,
) -> QueueResult<Vec<Entry>, R> {
    let earlier = rows.controller(&new.id).map_err(QueueError::Store)?;
    if let Some(row) = &earlier
        && row.host != new.host
        && !entries_of(rows, &new.id)?.is_empty()
    {
        return Err(QueueError::Refused(Refusal::other_machine(row)));
    }
    let counter = earlier.as_ref().map_or(0, |row| row.counter) + 1;
    let ended = match &earlier {
        Some(row) if row.boot != new.boot => lost_controller(rows, &new.id, unix_ms)?,
        _ => Vec::new(),
    };
    rows.put_controller(&ControllerRow {
        id: new.id.clone(),
        boot: new.boot.clone(),
        name: new.name.clone(),
        host: new.host.clone(),
        version: new.version.clone(),
        rules: new.rules.clone(),
        busy: None,
        counter,
    })
    .map_err(QueueError::Store)?;
    if rows.host(&new.host).map_err(QueueError::Store)?.is_none() {
        rows.put_host(&HostRow::free(&new.host)).map_err(QueueError::Store)?;
    }
    Ok(ended)
}

/// A controller asks for work, and says what else measures on its host. It gets all hosts of an entry or none.
///
/// The first entry in the order that it may run decides: an entry that waits for hosts keeps this machine from those behind it,
/// so that a large one does not starve. One that needs a host in quarantine keeps nobody waiting.
pub fn claim<R: Rows + ?Sized>(
    rows: &mut R,
    call: &ControllerCall,
    busy: Option<&str>,
    unix_ms: u64,
) -> QueueResult<Option<Claim>, R> {
    let mut controller = registered(rows, call)?;
    controller.counter += 1;
    controller.busy = busy.map(str::to_owned);
    rows.put_controller(&controller).map_err(QueueError::Store)?;
    if busy.is_some() {
        return Ok(None);
    }
    let mut entry = rows.waiting_after(None).map_err(QueueError::Store)?;
    while let Some(next) = entry {
        if next.is_for(&call.id) && !next.is_refused_by(&call.id) {
            match hosts_of(rows, &controller, &next)? {
                Wanted::Free(hosts) => return lease(rows, next, hosts, &controller, unix_ms).map(Some),
                Wanted::Taken => return Ok(None),
                Wanted::Quarantined => {}
            }
        }
        entry = rows.waiting_after(Some(&next)).map_err(QueueError::Store)?;
    }
    Ok(None)
}

/// The hosts that an entry needs, and whether they can be had.
enum Wanted {
    Free(Vec<HostRow>),
    Taken,
    Quarantined,
}

fn hosts_of<R: Rows + ?Sized>(
    rows: &mut R,
    controller: &ControllerRow,
    entry: &Entry,
) -> QueueResult<Wanted, R> {
    let mut names = vec![controller.host.clone()];
    names.extend(entry.hosts.iter().cloned());
    names.sort();
    names.dedup();
    let mut hosts = Vec::new();
    let mut is_taken = false;
    for name in names {
        let host = rows.host(&name).map_err(QueueError::Store)?.unwrap_or_else(|| HostRow::free(&name));
        match host.state {
            HostState::Free => hosts.push(host),
            HostState::Leased(_) => is_taken = true,
            HostState::Quarantined { .. } => return Ok(Wanted::Quarantined),
        }
    }
    Ok(if is_taken { Wanted::Taken } else { Wanted::Free(hosts) })
}

fn lease<R: Rows + ?Sized>(
    rows: &mut R,
    entry: Entry,
    hosts: Vec<HostRow>,
    controller: &ControllerRow,
    unix_ms: u64,
) -> QueueResult<Claim, R> {
    let token = rows.next(Sequence::Token).map_err(QueueError::Store)?;
    let mut names = Vec::new();
    for host in hosts {
        names.push(host.name.clone());
        let lease = Lease { entry: entry.id, token, since_unix_ms: unix_ms };
        let leased = HostRow { state: HostState::Leased(lease), last_token: token, ..host };
        rows.put_host(&leased).map_err(QueueError::Store)?;
    }
    let entry = Entry {
        token,
        attempt: entry.attempt + 1,
        controller: Some(controller.id.clone()),
        counter: 0,
        is_killed: false,
        reason: None,
        ..entry
    };
    let entry = change(rows, entry, Change::Claim, "claim")?;
    Ok(Claim { entry, hosts: names })
}

/// The controller is there. Returns the entry, which says whether it is to be stopped.
pub fn renew<R: Rows + ?Sized>(rows: &mut R, attempt: Attempt) -> QueueResult<Entry, R> {
    let entry = active(rows, attempt)?;
    let entry = Entry { counter: entry.counter + 1, ..entry };
    rows.put_entry(&entry).map_err(QueueError::Store)?;
    Ok(entry)
}

/// The rules of the controller do not accept the entry: it waits for another one, unless a person has stopped it meanwhile.
pub fn refuse<R: Rows + ?Sized>(
    rows: &mut R,
    attempt: Attempt,
    reason: &str,
    unix_ms: u64,
) -> QueueResult<Entry, R> {
    let mut entry = active(rows, attempt)?;
    if entry.is_killed {
        entry.ended_unix_ms = Some(unix_ms);
        let entry = change(rows, entry, Change::Cancel, "stop")?;
        free_hosts(rows, attempt)?;
        return Ok(entry);
    }
    let id = entry.controller.clone().unwrap_or_default();
    let name = rows.controller(&id).map_err(QueueError::Store)?.map_or_else(|| id.clone(), |row| row.name);
    entry.refused_by.push(RefusedBy { controller: id, name, reason: reason.to_owned() });
    // Nothing was tried.
    entry.attempt = entry.attempt.saturating_sub(1);
    let entry = change(rows, entry, Change::Refuse, "refuse")?;
    free_hosts(rows, attempt)?;
    Ok(entry)
}

/// The controller is about to start the run: from here on, the entry is never repeated without a person.
pub fn begin<R: Rows + ?Sized>(rows: &mut R, attempt: Attempt, unix_ms: u64) -> QueueResult<Entry, R> {
    let entry = active(rows, attempt)?;
    if entry.state == EntryState::Running {
        // The answer was lost, and the call was repeated.
        return Ok(entry);
    }
    let entry = Entry { began_unix_ms: Some(unix_ms), ended_unix_ms: None, ..entry };
    change(rows, entry, Change::Begin, "begin")
}

/// The run has its directory.
pub fn note_run<R: Rows + ?Sized>(rows: &mut R, attempt: Attempt, run: &str) -> QueueResult<Entry, R> {
    let entry = active(rows, attempt)?;
    let entry = Entry { run: Some(run.to_owned()), ..entry };
    rows.put_entry(&entry).map_err(QueueError::Store)?;
    Ok(entry)
}

/// The run has ended. Its hosts are free, whatever becomes of its files.
pub fn finish<R: Rows + ?Sized>(
    rows: &mut R,
    attempt: Attempt,
    outcome: &Outcome,
    unix_ms: u64,
) -> QueueResult<Entry, R> {
    let entry = known(rows, attempt.entry)?;
    if entry.token == attempt.token && is_repeated(&entry, outcome) {
        return Ok(entry);
    }
    let entry = active(rows, attempt)?;
    let (changes, reason): (&[Change], Option<&str>) = match (outcome, entry.state) {
        (Outcome::Answered, _) => (&[Change::Answer], None),
        (Outcome::Stored, EntryState::Running) => (&[Change::Answer, Change::Store], None),
        (Outcome::Stored, _) => (&[Change::Store], None),
        (Outcome::Failed { reason }, _) => (&[Change::Fail], Some(reason)),
        (Outcome::Stopped { reason }, _) => (&[Change::Cancel], Some(reason)),
    };
    let mut entry = Entry { reason: reason.map(str::to_owned), ..entry };
    for step in changes {
        entry = change(rows, entry, *step, "finish")?;
    }
    if entry.state.is_ended() {
        entry.ended_unix_ms = Some(unix_ms);
        rows.put_entry(&entry).map_err(QueueError::Store)?;
    }
    free_hosts(rows, attempt)?;
    Ok(entry)
}

/// Whether an entry has ended like this already.
fn is_repeated(entry: &Entry, outcome: &Outcome) -> bool {
    matches!(
        (outcome, entry.state),
        (Outcome::Answered, EntryState::Storing | EntryState::Done)
            | (Outcome::Stored, EntryState::Done)
            | (Outcome::Failed { .. }, EntryState::Failed)
            | (Outcome::Stopped { .. }, EntryState::Cancelled)
    )
}

fn registered<R: Rows + ?Sized>(rows: &mut R, call: &ControllerCall) -> QueueResult<ControllerRow, R> {
    match rows.controller(&call.id).map_err(QueueError::Store)? {
        Some(controller) if controller.boot == call.boot => Ok(controller),
        _ => Err(QueueError::Refused(Refusal::NoController(call.id.clone()))),
    }
}

/// The entry of an attempt whose token is the last one.
fn active<R: Rows + ?Sized>(rows: &mut R, attempt: Attempt) -> QueueResult<Entry, R> {
    let entry = known(rows, attempt.entry)?;
    if entry.token != attempt.token || !entry.state.is_active() {
        return Err(QueueError::Refused(Refusal::OldToken(attempt.entry)));
    }
    Ok(entry)
}
