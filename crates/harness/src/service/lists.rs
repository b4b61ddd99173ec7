//! The queue as lists: a page of what is not at its end, with the reason why each entry waits, and a page of what is.
//!
//! The reason comes from a simulation of the entries before it. An entry beyond the first page has the number of entries before it instead.

use std::collections::BTreeMap;

use queue::api::QueueList;
use queue::{Entry, EntryId, EntryState, Outlook, outlook};

use super::error::ServiceError;
use super::{ACTIVE, Harness};
use crate::secrets::unix_ms;
use crate::store::Transaction;

/// Entries of one page of what is at its end.
pub const ENDED_PAGE: u32 = 50;

/// Entries of one page of what waits or is paused.
pub const OPEN_PAGE: u32 = 100;

/// Former runs of a question, whose median is the estimate.
const FORMER_RUNS: u32 = 9;

/// Which part of the queue is listed.
#[derive(Clone, Copy, Debug, Default)]
pub struct ListPart {
    /// Of the entries that wait or are paused: those after this one; the first ones where it is none.
    pub after: Option<EntryId>,
    /// Whether entries at their end are listed, too.
    pub has_ended: bool,
    /// Of the entries at their end: those with a lower number.
    pub ended_before: Option<EntryId>,
}

/// What a list is made of.
struct Read {
    active: Vec<Entry>,
    /// Entries before these in their sequences that are at their end, such as lost ones.
    predecessors: Vec<Entry>,
    /// The page, in the order of the queue.
    open: Vec<Entry>,
    /// How many entries wait before the page.
    before: u64,
    more: u64,
}

impl Harness {
    /// A page of the queue.
    pub async fn list(&self, part: ListPart) -> Result<QueueList, ServiceError> {
        let (read, ended, hosts, controllers, durations_s) = self
            .store
            .transact(move |rows| {
                let read = read(rows, part.after)?;
                let ended =
                    if part.has_ended { rows.ended(part.ended_before, ENDED_PAGE)? } else { Vec::new() };
                let durations_s = estimates(rows, read.active.iter().chain(&read.open))?;
                Ok::<_, ServiceError>((read, ended, rows.hosts()?, rows.controllers()?, durations_s))
            })
            .await?;
        let Read { active, predecessors, open, before, more } = read;
        let mut entries = active;
        let runs = !entries.is_empty();
        entries.extend(open);
        let waits = before > 0 || entries.iter().any(|entry| entry.state == EntryState::Waiting);
        let alarm = if waits && !runs { self.alarm_of_still(&controllers) } else { None };
        let outlooks = if part.after.is_none() {
            let entries = [entries.as_slice(), &predecessors].concat();
            outlook(&entries, &hosts, &controllers, &|id| self.is_heard(id), &durations_s, unix_ms())
        } else {
            later(&entries, before, &durations_s)
        };
        entries.extend(ended);
        Ok(QueueList { entries, more, outlooks, alarm })
    }

    /// Why an entry waits; none where it does not.
    pub async fn outlook(&self, entry: &Entry) -> Result<Option<Outlook>, ServiceError> {
        if entry.state != EntryState::Waiting {
            return Ok(None);
        }
        let first = self.list(ListPart::default()).await?.outlooks;
        if let Some(found) = first.into_iter().find(|outlook| outlook.entry == entry.id) {
            return Ok(Some(found));
        }
        let entry = entry.clone();
        let found = self.store.transact(move |rows| {
            let before = rows.count_before(EntryState::Waiting, Some(&entry))?;
            let durations_s = estimates(rows, [&entry].into_iter())?;
            Ok::<_, ServiceError>(later(&[entry], before, &durations_s).pop())
        });
        found.await
    }
}

fn read(rows: &mut dyn Transaction, after: Option<EntryId>) -> Result<Read, ServiceError> {
    let active = rows.entries(&ACTIVE)?;
    let after = match after {
        Some(after) => Some(rows.entry(after)?.ok_or(queue::Refusal::NoEntry(after))?),
        None => None,
    };
    let mut open = Vec::new();
    let mut count = 0;
    for state in [EntryState::Waiting, EntryState::Paused] {
        open.extend(rows.in_order_after(state, after.as_ref(), OPEN_PAGE)?);
        count += rows.count_before(state, None)?;
    }
    open.sort_by_key(Entry::place_in_order);
    open.truncate(OPEN_PAGE as usize);
    let mut predecessors = Vec::new();
    for id in open.iter().filter_map(|entry| entry.after) {
        predecessors.extend(rows.entry(id)?.filter(|entry| entry.state.is_ended()));
    }
    let (mut before, mut all_before) = (0, 0);
    if let Some(first) = open.first() {
        before = rows.count_before(EntryState::Waiting, Some(first))?;
        all_before = before + rows.count_before(EntryState::Paused, Some(first))?;
    }
    let more = count.saturating_sub(all_before + open.len() as u64);
    Ok(Read { active, predecessors, open, before, more })
}

/// The outlooks of entries before which so many others wait.
fn later(entries: &[Entry], mut before: u64, durations_s: &BTreeMap<String, f64>) -> Vec<Outlook> {
    let mut outlooks = Vec::new();
    for entry in entries.iter().filter(|entry| entry.state == EntryState::Waiting) {
        let takes_s = durations_s.get(&entry.question).copied();
        let reason = format!("{before} entries are before it");
        outlooks.push(Outlook { entry: entry.id, reason, starts_in_s: None, takes_s });
        before += 1;
    }
    outlooks
}

/// The median of former runs of each question, seconds.
fn estimates<'e>(
    rows: &mut dyn Transaction,
    entries: impl Iterator<Item = &'e Entry>,
) -> Result<BTreeMap<String, f64>, ServiceError> {
    let mut questions: Vec<&str> = entries.map(|entry| entry.question.as_str()).collect();
    questions.sort_unstable();
    questions.dedup();
    let mut durations: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for former in rows.former_runs(&questions, FORMER_RUNS)? {
        if let Some(duration_s) = former.duration_s() {
            durations.entry(former.question).or_default().push(duration_s);
        }
    }
    let mut medians = BTreeMap::new();
    for (question, mut durations) in durations {
        durations.sort_by(f64::total_cmp);
        medians.insert(question, durations[durations.len() / 2]);
    }
    Ok(medians)
}
