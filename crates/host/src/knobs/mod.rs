//! Temporary changes of kernel settings, which are always restored.
//!
//! [`Knobs`] writes the old value to a journal, and the journal to disk, before it writes the new value.
//! [`Knobs::restore`] restores the old values, and so does dropping the [`Knobs`]. If this process is killed, a
//! process that waits for its end restores them at once (the restorer, see [`crate::supervisor_main`]). If that is
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

mod at_once;
mod error;
mod journal;
mod knob;
mod quieting;
mod restorer;
mod restoring;
mod table;
mod usual;
mod value;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub use at_once::takes_effect_at_once;
pub use error::{Error, Unrestored};
pub use knob::{InvalidKnob, Knob};
pub use quieting::{Quieting, QuietingSetting, ShallowIdle};
pub(crate) use restorer::run_restorer;
pub use usual::usual_purpose;
pub use value::{KnobChange, Restoration};

use crate::facts::boot_id;
use crate::files::scratch;
use crate::root::Root;
use journal::{Journal, JournalEntry};
use restorer::Restorer;
use value::{read, write};

/// Values of kernel settings.
pub type KnobValues = BTreeMap<Knob, String>;

/// The directory of the journal: the same one on the machine for root, who may change settings; the state directory
/// for other users, or a private one below the temporary directory if there is none.
pub fn default_journal_dir() -> Result<PathBuf, Error> {
    if rustix::process::geteuid().is_root() {
        return Ok("/run/showdown".into());
    }
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    match set("XDG_STATE_HOME").or_else(|| Some(set("HOME")?.join(".local/state"))) {
        Some(state) => Ok(state.join("showdown")),
        None => scratch::private_fallback().map_err(Error::NoDirectory),
    }
}

/// Whether a run has ever had its journal in this directory.
pub fn has_journal(directory: &Path) -> bool {
    Journal::exists(directory)
}

/// Changes settings. Dropping this restores them.
#[derive(Debug)]
pub struct Knobs {
    root: Root,
    boot_id: Option<String>,
    supervisor: PathBuf,
    journal_dir: PathBuf,
    journal: Journal,
    /// The first entries of the journal: settings of a killed process that could not be restored.
    left_behind: Vec<Unrestored>,
    /// The number of their entries.
    foreign_entries: usize,
    /// Started at the first change. Declared after the journal, which must be closed first on drop.
    restorer: Option<Restorer>,
}

impl Knobs {
    /// Locks the journal in this directory and restores the settings that a killed process left in it. Those that
    /// cannot be restored are in [`Knobs::left_behind`].
    pub(crate) fn open(
        root: &Root,
        supervisor: &Path,
        journal_dir: &Path,
    ) -> Result<(Self, Vec<KnobChange>), Error> {
        let mut journal = Journal::lock(journal_dir)?;
        let restoration = restoring::restore(root, &mut journal, 0)?;
        let (supervisor, journal_dir) = (supervisor.to_owned(), journal_dir.to_owned());
        let knobs = Self {
            root: root.clone(),
            boot_id: boot_id(root),
            supervisor,
            journal_dir,
            foreign_entries: journal.entries().len(),
            journal,
            left_behind: restoration.failures,
            restorer: None,
        };
        Ok((knobs, restoration.changes))
    }

    /// The settings of a killed process that could not be restored.
    pub fn left_behind(&self) -> &[Unrestored] {
        &self.left_behind
    }

    /// Reads the current value of a knob.
    pub fn get(&self, knob: &Knob) -> Result<String, Error> {
        read(&self.root, knob)
    }

    /// Sets these knobs. Those that reset others are set first. An error leaves some of them set.
    pub fn set_all(&mut self, values: &KnobValues) -> Result<(), Error> {
        let mut ordered: Vec<_> = values.iter().collect();
        ordered.sort_by_key(|(knob, _)| table::followers(knob).is_empty());
        let changes: Vec<_> =
            ordered.into_iter().map(|(knob, value)| self.set(knob, value)).collect::<Result<_, _>>()?;
        for KnobChange { knob, to, .. } in changes {
            let stored = self.get(&knob)?;
            if stored != to {
                return Err(Error::Displaced { knob, requested: to, stored });
            }
        }
        Ok(())
    }

    /// Sets a knob. If the kernel stores another value than this, that is an error and the old value is restored.
    pub fn set(&mut self, knob: &Knob, value: &str) -> Result<KnobChange, Error> {
        let to = value.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some(reason) = table::why_one_way(knob, &to) {
            return Err(Error::OneWay { knob: knob.clone(), value: to, reason });
        }
        let reset = self.reset_by(knob);
        let is_touched = |left: &&Unrestored| {
            reset.iter().map(|(other, _)| other).chain([knob]).any(|other| other.path() == left.knob.path())
        };
        if let Some(unrestored) = self.left_behind.iter().find(is_touched) {
            return Err(Error::NotRestored(unrestored.clone()));
        }
        let from = read(&self.root, knob)?;
        let change = KnobChange { knob: knob.clone(), from, to };
        if table::is_same(knob, &change.from, &change.to) {
            return Ok(KnobChange { to: change.from.clone(), ..change });
        }
        if self.restorer.is_none() {
            let started = Restorer::start(&self.supervisor, &self.root, &self.journal_dir);
            self.restorer =
                Some(started.map_err(|source| Error::Restorer { program: self.supervisor.clone(), source })?);
        }
        for (knob, old) in reset {
            self.journal.append(JournalEntry { knob, old, boot_id: self.boot_id.clone() })?;
        }
        let old = change.from.clone();
        self.journal.append(JournalEntry { knob: knob.clone(), old, boot_id: self.boot_id.clone() })?;
        write(&self.root, knob, &change.to)?;
        let stored = read(&self.root, knob)?;
        if !table::is_same(knob, &stored, &change.to) {
            write(&self.root, knob, &change.from)?;
            return Err(Error::NotTaken { knob: knob.clone(), requested: change.to, stored });
        }
        Ok(KnobChange { to: stored, ..change })
    }

    /// The settings that a change of this one resets, with their current values.
    fn reset_by(&self, knob: &Knob) -> Vec<(Knob, String)> {
        let followers = table::followers(knob);
        let followers = followers.iter().flat_map(|pattern| self.root.matching(pattern));
        let followers = followers.filter_map(|path| Knob::of_path(&path)).filter(|other| other != knob);
        let all = table::counterpart(knob).into_iter().chain(followers);
        // A setting that is not readable, or is not there, cannot be restored.
        all.filter_map(|other| read(&self.root, &other).ok().map(|value| (other, value))).collect()
    }

    /// Restores all changed settings, the last change first. Settings that cannot be restored stay in the journal.
    pub fn restore(&mut self) -> Result<Restoration, Error> {
        restoring::restore(&self.root, &mut self.journal, self.foreign_entries)
    }
}

impl Drop for Knobs {
    fn drop(&mut self) {
        // Settings that cannot be restored now stay in the journal for the next start. Who wants to know calls
        // `restore` before.
        let _ = self.restore();
    }
}

/// The value of a setting now.
pub(crate) fn current(root: &Root, knob: &Knob) -> Result<String, Error> {
    read(root, knob)
}

/// Restores the settings that a killed process left. Does nothing if there is no journal or its owner is alive.
pub(crate) fn recover(root: &Root, journal_dir: &Path) -> Result<Restoration, Error> {
    if !Journal::exists(journal_dir) {
        return Ok(Restoration::default());
    }
    match Journal::lock(journal_dir) {
        Ok(mut journal) => restoring::restore(root, &mut journal, 0),
        Err(Error::Busy { .. }) => Ok(Restoration::default()),
        Err(error) => Err(error),
    }
}
