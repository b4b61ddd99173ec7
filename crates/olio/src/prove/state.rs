//! Changes: every reply, every table and every stored file are those of the reference, whether the changes come one after the other or
//! from many connections at once.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use sha2::{Digest, Sha256};

use super::changes::{Change, Changes, VISITORS};
use super::client::{Ask, Client, Reply};
use super::normal_form::difference;
use super::subject::{Proof, Request, Site};
use crate::data::hexadecimal;
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
    compare("table", reference.tables.checksums()?, candidate.tables.checksums()?, &mut differences);
    let expected = files(&reference.stack.uploads())?;
    let number = expected.len();
    compare("file", expected, files(&candidate.stack.uploads())?, &mut differences);
    let compared = format!("{} changes one after the other, 8 tables, {number} files", request.changes);
    Ok(Proof { name: "changes", compared, differences })
}

fn changers(site: &Site) -> Result<Vec<Changer>> {
    (1..=VISITORS).map(|person| Changer::log_in(site, person)).collect()
}

pub fn prove_concurrency(reference: &mut Site, candidate: &mut Site, request: &Request) -> Result<Proof> {
    change_at_once(reference, request)?;
    change_at_once(candidate, request)?;
    let mut differences = Vec::new();
    compare("table", reference.tables.sums()?, candidate.tables.sums()?, &mut differences);
    let (expected, found) = (files(&reference.stack.uploads())?, files(&candidate.stack.uploads())?);
    compare("files in", kinds(&expected), kinds(&found), &mut differences);
    let compared = format!("{} changes from {VISITORS} connections, 8 tables", request.changes);
    Ok(Proof { name: "concurrency", compared, differences })
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
                for _ in 0..request.changes / VISITORS {
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

/// What the store has: thumbnails by their sizes, because their bytes depend on the library; everything else by its bytes.
fn files(uploads: &Path) -> Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![uploads.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = fs::read(&path)?;
            let name = path.strip_prefix(uploads)?.to_string_lossy().into_owned();
            let content = if name.contains("Thumbs/") {
                let image = image::load_from_memory(&bytes).with_context(|| format!("{name} is no image"))?;
                format!("{} x {}", image.width(), image.height())
            } else {
                hexadecimal(&Sha256::digest(&bytes)[..8])
            };
            files.insert(name, content);
        }
    }
    Ok(files)
}

/// The number of files of each kind.
fn kinds(files: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
    for name in files.keys() {
        *numbers.entry(name.split('/').nth(1).unwrap_or_default().to_owned()).or_default() += 1;
    }
    numbers.into_iter().map(|(kind, number)| (kind, number.to_string())).collect()
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
