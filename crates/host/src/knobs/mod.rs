//! Settings of the kernel, changed for a while and put back whatever happens.
//!
//! [`Knobs`] writes the old value to a journal, and the journal to disk, before it writes the new value.
//! The old values are put back by [`Knobs::restore`], and when the [`Knobs`] are dropped. If we are killed,
//! a process that waits for our end does it at once (the restorer, see [`crate::keeper_main`]); if that is
//! killed too, the next start does ([`crate::Host::recover_knobs`]). Putting back is idempotent: it may be
//! interrupted and done again.
//!
//! One showdown at a time may change settings: two would each take the other's value for the old one. The
//! journal is therefore locked (flock(2)) by whoever uses it. The kernel drops that lock when its holder
//! dies, so a journal that is not locked but has entries is one whose owner was killed. Who holds the lock
//! is written in the journal, for the message to those who have to wait.
//!
//! Settings belong to the machine, so root's journal has one place on it, [`default_journal_dir`], which a
//! reboot empties as it does the settings. Entries also carry the boot ID, for journals kept elsewhere.

mod error;
mod journal;
mod knob;
mod restorer;

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use serde::Serialize;

pub use error::Error;
pub use knob::{InvalidKnob, Knob};

use crate::root::Root;
use journal::{Entry, Journal};
use restorer::Restorer;

const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// How long the restorer waits for the journal, and how often it looks: a process that was killed goes on
/// to hold its locks until the kernel has closed its files.
const LAST_BREATH: Duration = Duration::from_millis(10);
const LAST_BREATHS: u32 = 500;

/// A setting that was changed, or put back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The setting.
    pub knob: Knob,
    /// What it was.
    pub from: String,
    /// What it is now.
    pub to: String,
}

/// Where journals of settings belong: one place on the machine for root, whose settings they are; the
/// user's state directory for others.
pub fn default_journal_dir() -> PathBuf {
    if rustix::process::geteuid().is_root() {
        return "/run/showdown".into();
    }
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".local/state"));
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).or_else(home);
    state.unwrap_or_else(std::env::temp_dir).join("showdown")
}

/// The right to change settings. They are put back when this is dropped.
#[derive(Debug)]
pub struct Knobs {
    root: Root,
    boot_id: Option<String>,
    keeper: PathBuf,
    journal_dir: PathBuf,
    journal: Journal,
    /// Waits for our end from the first change on. Comes after the journal, which it needs when this is dropped.
    restorer: Option<Restorer>,
}

impl Knobs {
    /// Takes the journal in this directory, and puts back what one who was killed has left in it.
    pub(crate) fn open(root: &Root, keeper: &Path, journal_dir: &Path) -> Result<Self, Error> {
        let journal = Journal::take(journal_dir)?;
        let boot_id = root.read(BOOT_ID);
        let (keeper, journal_dir) = (keeper.to_owned(), journal_dir.to_owned());
        let mut knobs = Self { root: root.clone(), boot_id, keeper, journal_dir, journal, restorer: None };
        knobs.restore()?;
        Ok(knobs)
    }

    /// What a knob is set to now.
    pub fn get(&self, knob: &Knob) -> Result<String, Error> {
        read(&self.root, knob)
    }

    /// Sets a knob. It is an error if the kernel does not take the value as it is; then the old one stays.
    pub fn set(&mut self, knob: &Knob, value: &str) -> Result<Change, Error> {
        let from = read(&self.root, knob)?;
        let to = value.split_whitespace().collect::<Vec<_>>().join(" ");
        let change = Change { knob: knob.clone(), from, to };
        if change.from == change.to {
            return Ok(change);
        }
        if self.restorer.is_none() {
            let started = Restorer::start(&self.keeper, &self.root, &self.journal_dir);
            self.restorer =
                Some(started.map_err(|source| Error::Keeper { program: self.keeper.clone(), source })?);
        }
        let old = change.from.clone();
        self.journal.append(Entry { knob: knob.clone(), old, boot_id: self.boot_id.clone() })?;
        write(&self.root, knob, &change.to)?;
        let got = read(&self.root, knob)?;
        if got != change.to {
            write(&self.root, knob, &change.from)?;
            return Err(Error::NotTaken { knob: knob.clone(), asked: change.to, got });
        }
        Ok(change)
    }

    /// Puts back all that was changed, the last first; says what. What cannot be put back stays in the journal.
    pub fn restore(&mut self) -> Result<Vec<Change>, Error> {
        put_back(&self.root, &mut self.journal)
    }
}

impl Drop for Knobs {
    fn drop(&mut self) {
        // What cannot be put back now stays in the journal for the next start.
        let _ = self.restore();
    }
}

/// Puts back what one who was killed has left; nothing if there is nothing, or if its owner lives.
pub(crate) fn recover(root: &Root, journal_dir: &Path) -> Result<Vec<Change>, Error> {
    if !Journal::exists(journal_dir) {
        return Ok(Vec::new());
    }
    match Journal::take(journal_dir) {
        Ok(mut journal) => put_back(root, &mut journal),
        Err(Error::Busy { .. }) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// The restorer's work: its owner is dying and may hold the journal for a moment yet. One who takes it
/// before us has put the settings back.
pub(crate) fn recover_from_the_dead(root: &Root, journal_dir: &Path) -> Result<(), Error> {
    for _ in 0..LAST_BREATHS {
        match Journal::take(journal_dir) {
            Ok(mut journal) => return put_back(root, &mut journal).map(drop),
            Err(Error::Busy { .. }) => thread::sleep(LAST_BREATH),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn put_back(root: &Root, journal: &mut Journal) -> Result<Vec<Change>, Error> {
    let boot_id = root.read(BOOT_ID);
    let mut changes = Vec::new();
    let mut first_error = None;
    for entry in journal.entries().iter().rev().filter(|entry| entry.boot_id == boot_id) {
        match put_one_back(root, entry) {
            Ok(change) => changes.extend(change),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    match first_error {
        Some(error) => Err(error),
        None => journal.clear().map(|()| changes),
    }
}

fn put_one_back(root: &Root, entry: &Entry) -> Result<Option<Change>, Error> {
    let from = match read(root, &entry.knob) {
        // It went with its device or module, and comes back as new.
        Err(Error::Unreadable { source, .. }) if source.kind() == io::ErrorKind::NotFound => return Ok(None),
        from => from?,
    };
    if from == entry.old {
        return Ok(None);
    }
    write(root, &entry.knob, &entry.old)?;
    Ok(Some(Change { knob: entry.knob.clone(), from, to: entry.old.clone() }))
}

/// The value in a form that can be written again: the chosen one of several, single blanks in a list.
fn read(root: &Root, knob: &Knob) -> Result<String, Error> {
    let text = fs::read_to_string(root.path(knob.path())).map_err(|e| Error::access(knob, e))?;
    let value = if knob.has_choices() { crate::root::marked(&text) } else { &text };
    Ok(value.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn write(root: &Root, knob: &Knob, value: &str) -> Result<(), Error> {
    let write = |path: &Path| -> io::Result<()> {
        // The kernel wants a value in one write.
        OpenOptions::new().write(true).truncate(true).open(path)?.write_all(format!("{value}\n").as_bytes())
    };
    write(&root.path(knob.path())).map_err(|error| Error::write(knob, value, error))
}
