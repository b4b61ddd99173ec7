//! Changes: every reply, every table and every stored file are those of the reference, whether the changes come one after the other or
//! from many connections at once.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow};

use super::changes::{Change, Changes, PASSWORD, VISITORS};
use super::client::{Ask, Client, Reply};
use super::normal_form::difference;
use super::stored_files::{self, kinds, stored};
use super::subject::{Proof, Request, Site};
use crate::data::rows::Scale;

/// A visitor who changes things.
struct Changer {
    client: Client,
    /// Events that the visitor has added.
    own: Vec<String>,
}

impl Changer {
    fn log_in(site: &Site, person: u32) -> Result<Self> {
        let mut client = site.new_client();
        client.log_in(person)?;
        Ok(Self { client, own: Vec::new() })
    }

    /// `None` if there was nothing to delete.
    fn make(&mut self, change: &Change) -> Result<Option<(String, Reply)>> {
        let ask = match change {
            Change::Ask(ask) => ask.clone(),
            Change::DeleteOwn => match self.own.pop() {
                Some(event) => Ask::post(format!("{event}/delete"), vec![("token", "{token}".to_owned())]),
                None => return Ok(None),
            },
        };
        let reply = self.client.send(&ask)?;
        if ask.path == "/events" && reply.status == 303 {
            self.own.push(reply.location.clone());
        }
        Ok(Some((ask.name(), reply)))
    }
}

pub fn prove_sequence(reference: &mut Site, candidate: &mut Site, request: &Request) -> Result<Proof> {
    let mut changes = Changes::new(Scale::of(request.data.users_of_rows()?), request.data.seed, "single");
    let (mut expected, mut found) = (changers(reference)?, changers(candidate)?);
    let mut differences = Vec::new();
    for number in 0..request.changes {
        let change = changes.next();
        let visitor = (number % VISITORS) as usize;
        match (expected[visitor].make(&change)?, found[visitor].make(&change)?) {
            (None, None) => {}
            (Some((name, expected)), Some((_, found))) => {
                if let Some(difference) = difference(&expected, &found) {
                    differences.push(format!("change {number}, {name}: {difference}"));
                }
            }
            _ => differences.push(format!("change {number}: an event was added on one side only")),
        }
    }
    compare_logins(reference, candidate, &mut differences)?;
    compare("table", reference.tables.checksums()?, candidate.tables.checksums()?, &mut differences);
    let expected = stored(&reference.stack.uploads())?;
    let number = expected.len();
    differences.extend(stored_files::differences(&expected, &stored(&candidate.stack.uploads())?)?);
    let compared = format!("{} changes one after the other, 8 tables, {number} files", request.changes);
    Ok(Proof { name: "changes", compared, differences })
}

/// New persons log in with their passwords, and with no other one.
fn compare_logins(reference: &mut Site, candidate: &Site, differences: &mut Vec<String>) -> Result<()> {
    let names: Vec<String> = reference
        .tables
        .all("SELECT username FROM person WHERE username <> CONCAT('person', id) ORDER BY id DESC LIMIT 3")?;
    for name in names {
        for password in [PASSWORD, "another"] {
            let ask = Ask::log_in(&name, password);
            let (expected, found) = (reference.new_client().send(&ask)?, candidate.new_client().send(&ask)?);
            if let Some(difference) = difference(&expected, &found) {
                differences.push(format!("{name} logs in with {password:?}: {difference}"));
            }
        }
    }
    Ok(())
}

fn changers(site: &Site) -> Result<Vec<Changer>> {
    (1..=VISITORS).map(|person| Changer::log_in(site, person)).collect()
}

pub fn prove_concurrency(reference: &mut Site, candidate: &mut Site, request: &Request) -> Result<Proof> {
    change_at_once(reference, request)?;
    change_at_once(candidate, request)?;
    let mut differences = Vec::new();
    compare("table", reference.tables.sums()?, candidate.tables.sums()?, &mut differences);
    let (expected, found) = (stored(&reference.stack.uploads())?, stored(&candidate.stack.uploads())?);
    compare("files in", kinds(&expected), kinds(&found), &mut differences);
    let compared = format!("{} changes from {VISITORS} connections, 8 tables", request.changes);
    Ok(Proof { name: "concurrency", compared, differences })
}

/// The changes of one of the visitors: the first ones make the remainder.
fn share(changes: u32, person: u32) -> u32 {
    changes / VISITORS + u32::from(person <= changes % VISITORS)
}

/// Each visitor makes a share of the changes, all at the same time.
fn change_at_once(site: &Site, request: &Request) -> Result<()> {
    let scale = Scale::of(request.data.users_of_rows()?);
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for person in 1..=VISITORS {
            let mut visitor = Changer::log_in(site, person)?;
            let seed = request.data.seed.wrapping_add(1_000 + u64::from(person));
            let mut changes = Changes::new(scale, seed, &format!("many{person:02}"));
            threads.push(scope.spawn(move || -> Result<()> {
                for _ in 0..share(request.changes, person) {
                    visitor.make(&changes.next())?;
                }
                Ok(())
            }));
        }
        for thread in threads {
            thread.join().map_err(|_| anyhow!("a visitor's thread has panicked"))??;
        }
        Ok(())
    })
}

fn compare<K: Ord + std::fmt::Display>(
    what: &str,
    expected: BTreeMap<K, String>,
    mut found: BTreeMap<K, String>,
    differences: &mut Vec<String>,
) {
    for (key, expected) in expected {
        match found.remove(&key) {
            Some(found) if found == expected => {}
            Some(found) => differences.push(format!("{what} {key}: {found} instead of {expected}")),
            None => differences.push(format!("{what} {key} is missing")),
        }
    }
    for key in found.into_keys() {
        differences.push(format!("{what} {key} is too much"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_visitors_make_all_changes() {
        for changes in [0, 15, 64, 500] {
            assert_eq!((1..=VISITORS).map(|person| share(changes, person)).sum::<u32>(), changes);
        }
    }
}
