//! Saved views: searches of the archive with names. Each account has its own; the person who has started the server has those of the
//! installation.

use super::Harness;
use super::error::ServiceError;
use crate::people::Person;
use crate::search::{ArchiveSearch, SavedView, checked_view_name};
use crate::secrets::unix_ms;
use crate::store::Transaction;

/// The most views of an account.
const MOST_VIEWS: usize = 100;

/// What changes of a view; what is missing stays.
#[derive(Clone, Debug, Default)]
pub struct ViewChange {
    /// Its name.
    pub name: Option<String>,
    /// What it shows.
    pub search: Option<ArchiveSearch>,
}

/// Whose views somebody has: no account has an empty name.
fn owner_of(person: &Person) -> String {
    if person.has_account { person.name.clone() } else { String::new() }
}

/// The view with this number, and the others of its owner.
fn found(
    rows: &mut dyn Transaction,
    owner: &str,
    id: u64,
) -> Result<(SavedView, Vec<SavedView>), ServiceError> {
    let mut views = rows.views(owner)?;
    let Some(place) = views.iter().position(|view| view.id == id) else {
        return Err(ServiceError::NotFound(format!(
            "you have no saved view {id}: see the archive for yours"
        )));
    };
    Ok((views.remove(place), views))
}

fn is_free(name: &str, others: &[SavedView]) -> Result<(), ServiceError> {
    if others.iter().any(|view| view.name == name) {
        return Err(ServiceError::Bad(format!("you have a view {name:?} already: choose another name")));
    }
    Ok(())
}

impl Harness {
    /// The views of a person, by name.
    pub async fn views(&self, person: &Person) -> Result<Vec<SavedView>, ServiceError> {
        let owner = owner_of(person);
        self.store().transact(move |rows| Ok(rows.views(&owner)?)).await
    }

    /// One of them.
    pub async fn view(&self, id: u64, person: &Person) -> Result<SavedView, ServiceError> {
        let owner = owner_of(person);
        self.store().transact(move |rows| Ok::<_, ServiceError>(found(rows, &owner, id)?.0)).await
    }

    /// Gives a search a name.
    pub async fn save_view(
        &self,
        name: &str,
        search: ArchiveSearch,
        person: Person,
    ) -> Result<SavedView, ServiceError> {
        let (owner, name) = (owner_of(&person), checked_view_name(name)?.to_owned());
        search.check()?;
        self.store()
            .transact(move |rows| {
                let others = rows.views(&owner)?;
                is_free(&name, &others)?;
                if others.len() >= MOST_VIEWS {
                    return Err(ServiceError::Bad(format!("you have {MOST_VIEWS} views: delete one first")));
                }
                let now = unix_ms();
                let id = rows.add_view(&owner, &name, &search, now)?;
                rows.audit(now, &person.name, &format!("save view {id} of the archive: {name}"))?;
                Ok(SavedView { id, name, search, unix_ms: now })
            })
            .await
    }

    /// Gives a view another name or another search.
    pub async fn change_view(
        &self,
        id: u64,
        change: ViewChange,
        person: Person,
    ) -> Result<SavedView, ServiceError> {
        let owner = owner_of(&person);
        let name = match change.name {
            Some(name) => Some(checked_view_name(&name)?.to_owned()),
            None => None,
        };
        if let Some(search) = &change.search {
            search.check()?;
        }
        self.store()
            .transact(move |rows| {
                let (view, others) = found(rows, &owner, id)?;
                let mut changed = view.clone();
                changed.name = name.unwrap_or(changed.name);
                changed.search = change.search.unwrap_or(changed.search);
                is_free(&changed.name, &others)?;
                rows.put_view(&owner, &changed)?;
                let what = if changed.name == view.name {
                    format!("change view {id} of the archive: {}", view.name)
                } else {
                    format!("rename view {id} of the archive: {} in place of {}", changed.name, view.name)
                };
                rows.audit(unix_ms(), &person.name, &what)?;
                Ok(changed)
            })
            .await
    }

    /// Removes a view. The runs stay.
    pub async fn delete_view(&self, id: u64, person: Person) -> Result<(), ServiceError> {
        let owner = owner_of(&person);
        self.store()
            .transact(move |rows| {
                let (view, _) = found(rows, &owner, id)?;
                rows.remove_view(&owner, id)?;
                let what = format!("delete view {id} of the archive: {}", view.name);
                Ok::<_, ServiceError>(rows.audit(unix_ms(), &person.name, &what)?)
            })
            .await
    }
}
