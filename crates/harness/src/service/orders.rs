//! What people ask of the queue.

use queue::api::{Move, SequenceSubmission, Submission};
use queue::{
    Entry, EntryId, HostRow, NewEntry, Place, clean_host, host_identity, kill, pause, place, release, resume,
    submit,
};

use super::Harness;
use super::error::ServiceError;
use crate::people::{Person, Role, Who};
use crate::plan_text::PlanText;
use crate::secrets::unix_ms;
use crate::store::Transaction;

/// The highest priority, and the lowest one below zero.
const MOST_PRIORITY: i32 = 1000;

/// The most plans of a sequence.
const MOST_IN_SEQUENCE: usize = 100;

/// An order of a person to an entry.
#[derive(Clone, Debug)]
pub enum Order {
    /// Take it out of the order.
    Pause(String),
    /// Put it back.
    Release,
    /// Give it another place.
    Move(Move),
    /// Stop it.
    Kill,
    /// Let a lost run go on.
    Resume,
}

impl Order {
    fn name(&self) -> &'static str {
        match self {
            Self::Pause(_) => "pause",
            Self::Release => "release",
            Self::Move(_) => "move",
            Self::Kill => "kill",
            Self::Resume => "resume",
        }
    }
}

/// A text that each database takes.
pub(super) fn printable(text: &str) -> Result<&str, ServiceError> {
    if text.contains('\0') {
        return Err(ServiceError::Bad("a text has no character 0".to_owned()));
    }
    Ok(text)
}

fn check_priority(priority: i32, by: &Person) -> Result<(), ServiceError> {
    if priority > 0 && by.role < Role::Operator {
        return Err(ServiceError::Forbidden(
            "a priority above 0 needs the role operator: it goes before the entries of others".to_owned(),
        ));
    }
    if priority.abs() > MOST_PRIORITY {
        return Err(ServiceError::Bad(format!("priority {priority} is beyond ±{MOST_PRIORITY}")));
    }
    Ok(())
}

/// What somebody wants to have run with a plan.
fn new_entry(plan: &str, by: &Person) -> Result<NewEntry, ServiceError> {
    let PlanText { title, question, hosts, .. } = PlanText::read(plan)?;
    Ok(NewEntry { title, question, hosts, submitter: by.name.clone(), ..NewEntry::default() })
}

/// Adds an entry with its plan; whether it is new.
fn add(rows: &mut dyn Transaction, new: &NewEntry, plan: &str) -> Result<(Entry, bool), ServiceError> {
    let (entry, is_new) = submit(rows, new, unix_ms())?;
    if is_new {
        rows.put_plan(entry.id, plan)?;
        rows.audit(unix_ms(), &new.submitter, &format!("submit entry {}: {}", entry.id, new.title))?;
    }
    Ok((entry, is_new))
}

impl Harness {
    /// Adds an entry; returns it, and whether it is new.
    pub async fn submit(&self, submission: Submission, by: Person) -> Result<(Entry, bool), ServiceError> {
        let Submission { plan, priority, paused, parent, key } = submission;
        check_priority(priority, &by)?;
        if key.as_ref().is_some_and(|key| key.len() > 200 || key.chars().any(char::is_control)) {
            return Err(ServiceError::Bad("a key has up to 200 printable characters".to_owned()));
        }
        let new = NewEntry { priority, parent, key, is_paused: paused, ..new_entry(&plan, &by)? };
        let (entry, is_new) = self.store.transact(move |rows| add(rows, &new, &plan)).await?;
        self.store.make_durable().await?;
        self.tell(entry.id);
        Ok((entry, is_new))
    }

    /// Adds entries that run one after the other: all of them, or none.
    pub async fn submit_sequence(
        &self,
        submission: SequenceSubmission,
        by: Person,
    ) -> Result<Vec<Entry>, ServiceError> {
        let SequenceSubmission { plans, priority, paused, goes_on } = submission;
        check_priority(priority, &by)?;
        if !(1..=MOST_IN_SEQUENCE).contains(&plans.len()) {
            let count = plans.len();
            return Err(ServiceError::Bad(format!(
                "a sequence has 1 to {MOST_IN_SEQUENCE} plans, not {count}"
            )));
        }
        let mut new = Vec::new();
        for plan in plans {
            let entry = NewEntry { priority, is_paused: paused, goes_on, ..new_entry(&plan, &by)? };
            new.push((entry, plan));
        }
        let added = self.store.transact(move |rows| {
            let mut ids = Vec::new();
            for (entry, plan) in new {
                let entry = NewEntry { after: ids.last().copied(), ..entry };
                ids.push(add(rows, &entry, &plan)?.0.id);
            }
            let mut entries = Vec::new();
            for id in ids {
                // Each but the last one has the number of the next one meanwhile.
                entries.push(rows.entry(id)?.ok_or(queue::Refusal::NoEntry(id))?);
            }
            Ok::<_, ServiceError>(entries)
        });
        let added = added.await?;
        self.store.make_durable().await?;
        self.tell(0);
        Ok(added)
    }

    /// Does what a person orders.
    pub async fn order(&self, id: EntryId, order: Order, by: Person) -> Result<Entry, ServiceError> {
        let Person { name: by, role, .. } = by;
        let entry = self
            .store
            .transact(move |rows| {
                let name = order.name();
                let submitter = rows.entry(id)?.ok_or(queue::Refusal::NoEntry(id))?.submitter;
                if role < Role::Operator && submitter != by {
                    return Err(ServiceError::Forbidden(format!(
                        "entry {id} is of {submitter}: to {name} entries of others needs the role operator"
                    )));
                }
                let entry = match order {
                    Order::Pause(reason) => {
                        let reason = printable(reason.trim())?;
                        pause(rows, id, if reason.is_empty() { None } else { Some(reason) })?
                    }
                    Order::Release => release(rows, id)?,
                    Order::Move(Move { before: Some(other), .. }) => place(rows, id, Place::Before(other))?,
                    Order::Move(Move { last: true, .. }) => place(rows, id, Place::Last)?,
                    Order::Move(_) => place(rows, id, Place::First)?,
                    Order::Kill => kill(rows, id, &by, unix_ms())?,
                    Order::Resume => resume(rows, id)?,
                };
                rows.audit(unix_ms(), &by, &format!("{name} entry {id}"))?;
                Ok::<_, ServiceError>(entry)
            })
            .await?;
        self.tell_of(&entry);
        Ok(entry)
    }

    /// An entry with its plan.
    pub async fn entry(&self, id: EntryId) -> Result<(Entry, String), ServiceError> {
        self.store
            .transact(move |rows| {
                let entry = rows.entry(id)?.ok_or(queue::Refusal::NoEntry(id))?;
                let plan = rows.plan(id)?.unwrap_or_default();
                Ok((entry, plan))
            })
            .await
    }

    /// Frees a host from quarantine. A controller may say so of the host on which it runs.
    pub async fn clean_host(&self, name: String, by: Who, reason: String) -> Result<HostRow, ServiceError> {
        printable(&reason)?;
        let host = self
            .store
            .transact(move |rows| {
                let by = match by {
                    Who::Person(person) => person.name,
                    Who::Controller(owner) => {
                        let mut is_own = false;
                        for controller in rows.controllers()? {
                            let first = rows.controller_owner(&controller.id)?;
                            is_own |=
                                controller.host == host_identity(&name) && first.as_deref() == Some(&owner);
                        }
                        if !is_own {
                            return Err(ServiceError::Forbidden(format!(
                                "{name} is not the host of this controller"
                            )));
                        }
                        "a controller".to_owned()
                    }
                };
                let host = clean_host(rows, &name, &by, &reason)?;
                rows.audit(unix_ms(), &by, &format!("host {name} is clean: {reason}"))?;
                Ok::<_, ServiceError>(host)
            })
            .await?;
        self.tell(0);
        Ok(host)
    }
}
