//! What people ask of the queue.

use queue::api::{Move, Submission};
use queue::{
    Entry, EntryId, HostRow, NewEntry, Place, clean_host, kill, pause, place, release, resume, submit,
};

use super::Harness;
use super::error::ServiceError;
use crate::people::{Person, Role, Who};
use crate::plan_text::PlanText;
use crate::secrets::unix_ms;

/// The highest priority, and the lowest one below zero.
const MOST_PRIORITY: i32 = 1000;

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

impl Harness {
    /// Adds an entry; returns it, and whether it is new.
    pub async fn submit(&self, submission: Submission, by: Person) -> Result<(Entry, bool), ServiceError> {
        let Person { name: by, role, .. } = by;
        if submission.priority > 0 && role < Role::Operator {
            return Err(ServiceError::Forbidden(
                "a priority above 0 needs the role operator: it goes before the entries of others".to_owned(),
            ));
        }
        let PlanText { title, question, hosts, .. } = PlanText::read(&submission.plan)?;
        let Submission { plan, priority, paused, parent, key } = submission;
        if priority.abs() > MOST_PRIORITY {
            return Err(ServiceError::Bad(format!("priority {priority} is beyond ±{MOST_PRIORITY}")));
        }
        if key.as_ref().is_some_and(|key| key.len() > 200 || key.chars().any(char::is_control)) {
            return Err(ServiceError::Bad("a key has up to 200 printable characters".to_owned()));
        }
        let new =
            NewEntry { title, question, submitter: by, priority, hosts, parent, key, is_paused: paused };
        let (entry, is_new) = self
            .store
            .transact(move |rows| {
                let (entry, is_new) = submit(rows, &new, unix_ms())?;
                if is_new {
                    rows.put_plan(entry.id, &plan)?;
                    rows.audit(
                        unix_ms(),
                        &new.submitter,
                        &format!("submit entry {}: {}", entry.id, new.title),
                    )?;
                }
                Ok::<_, ServiceError>((entry, is_new))
            })
            .await?;
        self.store.make_durable().await?;
        self.tell(entry.id);
        Ok((entry, is_new))
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
        self.tell(id);
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
                            is_own |= controller.host == name && first.as_deref() == Some(&owner);
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
