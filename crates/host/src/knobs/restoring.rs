//! Restores the settings of a journal: in an order that suits settings that change each other, and with a look at the
//! result.

use std::io;

use super::journal::{Journal, JournalEntry};
use super::knob::matches;
use super::value::{KnobChange, Restoration, read, write};
use super::{Error, Knob, Unrestored, table};
use crate::facts::boot_id;
use crate::root::Root;

/// A setting and the value that it had before the first change.
struct Wanted {
    knob: Knob,
    old: String,
}

/// Restores the settings of all entries from this one on. A setting that cannot be restored stays in the journal; the
/// others are removed from it.
pub(super) fn restore(root: &Root, journal: &mut Journal, from: usize) -> Result<Restoration, Error> {
    let boot_id = boot_id(root);
    let entries = journal.entries().get(from..).unwrap_or_default();
    let (current, outdated): (Vec<_>, Vec<_>) = entries.iter().partition(|entry| entry.boot_id == boot_id);
    let wanted = in_order(&current);
    let mut done: Vec<Knob> = outdated.into_iter().map(|entry| entry.knob.clone()).collect();
    let mut restoration = Restoration::default();
    let written: Vec<_> = wanted.iter().map(|wanted| restore_one(root, wanted)).collect();
    // Only now: a setting that was restored later may have changed one that was restored before.
    for (wanted, written) in wanted.iter().zip(written) {
        match check(root, wanted, written) {
            Ok(change) => {
                restoration.changes.extend(change);
                done.push(wanted.knob.clone());
            }
            Err(reason) => {
                done.retain(|knob| *knob != wanted.knob);
                let (knob, value) = (wanted.knob.clone(), wanted.old.clone());
                restoration.failures.push(Unrestored { knob, value, reason });
            }
        }
    }
    if !done.is_empty() {
        journal.restored(&done)?;
    }
    Ok(restoration)
}

/// The settings with the value of their first entry, the last change first. Settings that a change of another one
/// resets come after it.
fn in_order(entries: &[&JournalEntry]) -> Vec<Wanted> {
    let mut wanted: Vec<Wanted> = Vec::new();
    for entry in entries.iter().rev() {
        match wanted.iter_mut().find(|wanted| wanted.knob == entry.knob) {
            Some(wanted) => wanted.old.clone_from(&entry.old),
            None => wanted.push(Wanted { knob: entry.knob.clone(), old: entry.old.clone() }),
        }
    }
    let patterns: Vec<String> = wanted.iter().flat_map(|wanted| table::followers(&wanted.knob)).collect();
    let comes_later = |wanted: &Wanted| {
        let path = wanted.knob.path();
        let is_leader = !table::followers(&wanted.knob).is_empty();
        let is_follower = patterns.iter().any(|pattern| matches(pattern, &path).is_some());
        let is_unused = wanted.old == "0" && table::counterpart(&wanted.knob).is_some();
        (is_follower && !is_leader) || is_unused
    };
    wanted.sort_by_key(comes_later);
    wanted
}

fn restore_one(root: &Root, wanted: &Wanted) -> Result<Option<KnobChange>, Error> {
    let from = read(root, &wanted.knob)?;
    if from == wanted.old {
        return Ok(None);
    }
    // No run sets such a value, so none has it to restore.
    if let Some(reason) = table::why_one_way(&wanted.knob, &wanted.old) {
        return Err(Error::OneWay { knob: wanted.knob.clone(), value: wanted.old.clone(), reason });
    }
    write(root, &wanted.knob, &wanted.old)?;
    Ok(Some(KnobChange { knob: wanted.knob.clone(), from, to: wanted.old.clone() }))
}

/// Reads the value back. The error is the reason why it is not the old one.
fn check(
    root: &Root,
    wanted: &Wanted,
    written: Result<Option<KnobChange>, Error>,
) -> Result<Option<KnobChange>, String> {
    match (read(root, &wanted.knob), written) {
        (Ok(now), Ok(change)) if now == wanted.old => Ok(change),
        (Ok(now), Err(_)) if now == wanted.old => Ok(None),
        // Its device or module was removed; a new one starts with the default.
        (Err(Error::Unreadable { source, .. }), _) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        (_, Err(error)) | (Err(error), _) => Err(error.cause()),
        (Ok(now), Ok(_)) => Err(format!("the kernel keeps {now}")),
    }
}
