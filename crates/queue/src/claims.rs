//! The verbs of controllers. Each but the first two shows the token of its claim, and an old one changes nothing.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::change::Change;
use crate::entry::{Attempt, Entry, EntryState, RefusedBy};
use crate::host_row::{ControllerRow, HostRow, HostState, Lease, host_identity};
use crate::lapses::{entries_of, lost_controller};
use crate::rows::{QueueError, QueueResult, Refusal, Rows, Sequence, known};
use crate::sequences::{end_sequence, is_its_turn};
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
    let host = host_identity(&new.host);
    if let Some(row) = &earlier
        && host_identity(&row.host) != host
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
        host: host.clone(),
        version: new.version.clone(),
        rules: new.rules.clone(),
        busy: None,
        counter,
    })
    .map_err(QueueError::Store)?;
    if rows.host(&host).map_err(QueueError::Store)?.is_none() {
        rows.put_host(&HostRow::free(&host)).map_err(QueueError::Store)?;
    }
    Ok(ended)
}

/// How many entries that wait for hosts one look for work passes: more of them wait for the same hosts, mostly.
const MOST_PASSED: usize = 200;

/// A controller asks for work, and says what else measures on its host. It gets all hosts of an entry or none.
///
/// The entries are looked at in their order. One that waits for hosts has them reserved, and one idle controller with them: entries behind
/// it get neither, so that a large entry does not starve, and other controllers and hosts go on. One that needs a host in quarantine
/// reserves nothing.
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
    if busy.is_some() || !is_free(rows, &controller.host)? {
        return Ok(None);
    }
    let mut reserved = BTreeSet::new();
    let mut others = None;
    let mut passed = 0;
    let mut entry = rows.waiting_after(None).map_err(QueueError::Store)?;
    while let Some(next) = entry
        && passed < MOST_PASSED
    {
        if is_accepted(&next, &call.id) && is_its_turn(rows, &next)? {
            match hosts_of(rows, &controller, &next, &reserved)? {
                Wanted::Free(hosts) => return lease(rows, next, hosts, &controller, unix_ms).map(Some),
                Wanted::Taken { is_first } => {
                    let idle = match &mut others {
                        Some(idle) => idle,
                        None => others.insert(idle_controllers(rows, &controller)?),
                    };
                    // The hosts come before the controller: who waits behind another one for hosts needs no controller yet.
                    if is_first && !take_one(idle, &next) {
                        return Ok(None);
                    }
                    reserved.extend(next.hosts.iter().cloned());
                    if reserved.contains(&controller.host) {
                        return Ok(None);
                    }
                    passed += 1;
                }
                Wanted::Quarantined => {}
            }
        }
        entry = rows.waiting_after(Some(&next)).map_err(QueueError::Store)?;
    }
    Ok(None)
}

fn is_accepted(entry: &Entry, controller: &str) -> bool {
    entry.is_for(controller) && !entry.is_refused_by(controller)
}

fn is_free<R: Rows + ?Sized>(rows: &mut R, host: &str) -> QueueResult<bool, R> {
    let host = rows.host(host).map_err(QueueError::Store)?;
    Ok(host.is_none_or(|host| host.state == HostState::Free))
}

/// The other controllers whose hosts are free. One that is not there any more may be among them: the entry for which it is reserved then
/// gets the first controller that asks once its hosts are free.
fn idle_controllers<R: Rows + ?Sized>(
    rows: &mut R,
    asking: &ControllerRow,
) -> QueueResult<Vec<ControllerRow>, R> {
    let mut idle = Vec::new();
    for other in rows.controllers().map_err(QueueError::Store)? {
        if other.id != asking.id && other.busy.is_none() && is_free(rows, &other.host)? {
            idle.push(other);
        }
    }
    Ok(idle)
}

/// Reserves one of these controllers for an entry; whether there is one.
fn take_one(controllers: &mut Vec<ControllerRow>, entry: &Entry) -> bool {
    let Some(index) = controllers.iter().position(|other| is_accepted(entry, &other.id)) else {
        return false;
    };
    controllers.remove(index);
    true
}

/// The hosts that an entry needs, and whether they can be had.
enum Wanted {
    Free(Vec<HostRow>),
    /// Runs have some; `is_first`: no entry before it waits for any of them.
    Taken {
        is_first: bool,
    },
    Quarantined,
}

fn hosts_of<R: Rows + ?Sized>(
    rows: &mut R,
    controller: &ControllerRow,
    entry: &Entry,
    reserved: &BTreeSet<String>,
) -> QueueResult<Wanted, R> {
    let mut names = vec![controller.host.clone()];
    names.extend(entry.hosts.iter().cloned());
    names.sort();
    names.dedup();
    let is_first = !names.iter().any(|name| reserved.contains(name));
    let mut hosts = Vec::new();
    let mut is_taken = !is_first;
    for name in names {
        let host = rows.host(&name).map_err(QueueError::Store)?.unwrap_or_else(|| HostRow::free(&name));
        match host.state {
            HostState::Free => hosts.push(host),
            HostState::Leased(_) => is_taken = true,
            HostState::Quarantined { .. } => return Ok(Wanted::Quarantined),
        }
    }
    Ok(if is_taken { Wanted::Taken { is_first } } else { Wanted::Free(hosts) })
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
        end_sequence(rows, &entry, unix_ms)?;
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
    // The controller knows that it was asked to stop the run; the queue knows by whom.
    let is_by_order = entry.is_killed && matches!(outcome, Outcome::Stopped { .. });
    let by = if is_by_order { entry.reason.clone() } else { None };
    let mut entry = Entry { reason: by.or_else(|| reason.map(str::to_owned)), ..entry };
    for step in changes {
        entry = change(rows, entry, *step, "finish")?;
    }
    if entry.state.is_ended() {
        entry.ended_unix_ms = Some(unix_ms);
        rows.put_entry(&entry).map_err(QueueError::Store)?;
    }
    free_hosts(rows, attempt)?;
    end_sequence(rows, &entry, unix_ms)?;
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
