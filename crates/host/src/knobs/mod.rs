//! Temporary changes of kernel settings, which are always restored.
//!
//! [`Knobs`] writes the old value to a journal, and the journal to disk, before it writes the new value.
//! [`Knobs::restore`] restores the old values, and so does dropping the [`Knobs`]. If this process is killed, a
//! process that waits for its end restores them at once (the restorer, see [`crate::keeper_main`]). If that is
//! killed too, the next start restores them ([`crate::Host::recover_knobs`]). Restoring is idempotent: it may be
//! interrupted and repeated.
//!
//! Only one showdown at a time may change settings: otherwise each would record the other's value as the old
//! one. So the process that uses the journal locks it (flock(2)). The kernel releases the lock when the process
//! dies, so an unlocked journal with entries belongs to a process that was killed. The journal also contains the
//! process ID of its owner, for the message to other processes.
//!
//! Settings belong to the machine, so root's journal is always in the same directory, [`default_journal_dir`]. A
//! reboot empties that directory and resets the settings. Entries also contain the boot ID, for journals in other
//! directories.

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
use journal::{Journal, JournalEntry};
use restorer::Restorer;

const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// How often, and how many times, the restorer tries to lock the journal: a killed process keeps its locks until the
/// kernel has closed its files.
const LOCK_RETRY: Duration = Duration::from_millis(10);
const LOCK_RETRIES: u32 = 500;

/// A change of a setting, or its restoration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KnobChange {
    /// The setting.
    pub knob: Knob,
    /// The value before.
    pub from: String,
    /// The value after.
    pub to: String,
}

/// The directory of the journal: the same one on the machine for root, who may change settings; the state directory
/// for other users.
pub fn default_journal_dir() -> PathBuf {
    if rustix::process::geteuid().is_root() {
        return "/run/showdown".into();
    }
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".local/state"));
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).or_else(home);
    state.unwrap_or_else(std::env::temp_dir).join("showdown")
}

/// Changes settings. Dropping this restores them.
#[derive(Debug)]
pub struct Knobs {
    root: Root,
    boot_id: Option<String>,
    keeper: PathBuf,
    journal_dir: PathBuf,
    journal: Journal,
    /// Started at the first change. Declared after the journal, which must be closed first on drop.
    restorer: Option<Restorer>,
}

impl Knobs {
    /// Locks the journal in this directory and restores the settings that a killed process left in it.
    pub(crate) fn open(root: &Root, keeper: &Path, journal_dir: &Path) -> Result<Self, Error> {
        let journal = Journal::lock(journal_dir)?;
        let boot_id = root.read(BOOT_ID);
        let (keeper, journal_dir) = (keeper.to_owned(), journal_dir.to_owned());
        let mut knobs = Self { root: root.clone(), boot_id, keeper, journal_dir, journal, restorer: None };
        knobs.restore()?;
        Ok(knobs)
    }

    /// Reads the current value of a knob.
    pub fn get(&self, knob: &Knob) -> Result<String, Error> {
        read(&self.root, knob)
    }

    /// Sets a knob. If the kernel stores another value than this, that is an error and the old value is restored.
    pub fn set(&mut self, knob: &Knob, value: &str) -> Result<KnobChange, Error> {
        let from = read(&self.root, knob)?;
        let to = value.split_whitespace().collect::<Vec<_>>().join(" ");
        let change = KnobChange { knob: knob.clone(), from, to };
        if change.from == change.to {
            return Ok(change);
        }
        if self.restorer.is_none() {
            let started = Restorer::start(&self.keeper, &self.root, &self.journal_dir);
            self.restorer =
                Some(started.map_err(|source| Error::Restorer { program: self.keeper.clone(), source })?);
        }
        let old = change.from.clone();
        self.journal.append(JournalEntry { knob: knob.clone(), old, boot_id: self.boot_id.clone() })?;
        write(&self.root, knob, &change.to)?;
        let stored = read(&self.root, knob)?;
        if stored != change.to {
            write(&self.root, knob, &change.from)?;
            return Err(Error::NotTaken { knob: knob.clone(), requested: change.to, stored });
        }
        Ok(change)
    }

    /// Restores all changed settings, the last change first, and returns the changes. Settings that cannot be
    /// restored stay in the journal.
    pub fn restore(&mut self) -> Result<Vec<KnobChange>, Error> {
        restore_all(&self.root, &mut self.journal)
    }
}

impl Drop for Knobs {
    fn drop(&mut self) {
        // Settings that cannot be restored now stay in the journal for the next start.
        let _ = self.restore();
    }
}

/// Restores the settings that a killed process left. Does nothing if there is no journal or its owner is alive.
pub(crate) fn recover(root: &Root, journal_dir: &Path) -> Result<Vec<KnobChange>, Error> {
    if !Journal::exists(journal_dir) {
        return Ok(Vec::new());
    }
    match Journal::lock(journal_dir) {
        Ok(mut journal) => restore_all(root, &mut journal),
        Err(Error::Busy { .. }) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Restores the settings of an owner that just died and may still have the journal locked. If another process locks
/// the journal first, that process restores the settings.
pub(crate) fn recover_after_kill(root: &Root, journal_dir: &Path) -> Result<(), Error> {
    for _ in 0..LOCK_RETRIES {
        match Journal::lock(journal_dir) {
            Ok(mut journal) => return restore_all(root, &mut journal).map(drop),
            Err(Error::Busy { .. }) => thread::sleep(LOCK_RETRY),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn restore_all(root: &Root, journal: &mut Journal) -> Result<Vec<KnobChange>, Error> {
    let boot_id = root.read(BOOT_ID);
    let mut changes = Vec::new();
    let mut first_error = None;
    for entry in journal.entries().iter().rev().filter(|entry| entry.boot_id == boot_id) {
        match restore_one(root, entry) {
            Ok(change) => changes.extend(change),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    match first_error {
        Some(error) => Err(error),
        None => journal.clear().map(|()| changes),
    }
}

fn restore_one(root: &Root, entry: &JournalEntry) -> Result<Option<KnobChange>, Error> {
    let from = match read(root, &entry.knob) {
        // Its device or module was removed; a new one starts with the default.
        Err(Error::Unreadable { source, .. }) if source.kind() == io::ErrorKind::NotFound => return Ok(None),
        from => from?,
    };
    if from == entry.old {
        return Ok(None);
    }
    write(root, &entry.knob, &entry.old)?;
    Ok(Some(KnobChange { knob: entry.knob.clone(), from, to: entry.old.clone() }))
}

/// Reads the value in a form that can be written back: the selected choice, or a list with single blanks.
fn read(root: &Root, knob: &Knob) -> Result<String, Error> {
    let text = fs::read_to_string(root.path(knob.path())).map_err(|e| Error::access(knob, e))?;
    let value = if knob.has_choices() { crate::root::selected(&text) } else { &text };
    Ok(value.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn write(root: &Root, knob: &Knob, value: &str) -> Result<(), Error> {
    let write = |path: &Path| -> io::Result<()> {
        // The kernel needs the value in one write.
        OpenOptions::new().write(true).truncate(true).open(path)?.write_all(format!("{value}\n").as_bytes())
    };
    write(&root.path(knob.path())).map_err(|error| Error::write(knob, value, error))
}
