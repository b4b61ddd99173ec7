//! The journal of a shift: what is about to be changed at a balancer is on disk before it is changed. Whoever comes after a killed run reads
//! from it what has to be undone. [`crate::recovery`] undoes it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use host::journal_file::{JournalFile, JournalFileError, lines};
use host::process::ProcessId;
use serde::{Deserialize, Serialize};

use crate::balancer::NewServer;
use crate::name::Name;
use crate::observation::BalancerIdentity;

/// The journal's file, in the directory of the run.
pub const JOURNAL_NAME: &str = "shift.journal";

/// A shift has a line for each step.
const MOST_BYTES: u64 = 64 << 20;

/// What a run has found at its start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opened {
    /// The balancer's admin socket.
    pub socket: PathBuf,
    /// The backend.
    pub backend: Name,
    /// The process that answered.
    pub identity: BalancerIdentity,
    /// The weights of all servers.
    pub weights: BTreeMap<String, u32>,
    /// When, in seconds since 1970.
    pub at_s: u64,
}

/// A line of the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JournalLine {
    /// A process uses the journal from here on.
    Owner(ProcessId),
    /// A run begins.
    Opened(Opened),
    /// The folder of the run's record.
    Record(PathBuf),
    /// A server is about to be added.
    Adding(NewServer),
    /// A weight is about to be set.
    Setting {
        /// The server.
        server: Name,
        /// The weight.
        weight: u32,
        /// When, in seconds since 1970.
        at_s: u64,
    },
    /// The weight was read back.
    WasSet {
        /// The server.
        server: Name,
        /// The weight.
        weight: u32,
    },
    /// The server was taken out of service, with weight 0.
    Withdrawn(Name),
    /// The server was removed.
    Removed(Name),
    /// Nothing has to be undone.
    Ended,
}

/// A server that the run has added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedServer {
    /// The server.
    pub server: NewServer,
    /// The last weight that was about to be set.
    pub weight: u32,
    /// Whether it is out of service.
    pub is_withdrawn: bool,
}

/// A server that was there before, and that the run has given other weights.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangedServer {
    /// The last weight that was about to be set.
    pub weight: u32,
    /// All weights that were about to be set. A kill leaves the last one or the one before it.
    all: BTreeSet<u32>,
}

impl ChangedServer {
    /// Whether the run may have set this weight.
    pub fn is_own(&self, weight: u32) -> bool {
        self.all.contains(&weight)
    }
}

/// What a journal says: what has to be undone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JournalState {
    /// The process that has written it last.
    pub owner: Option<ProcessId>,
    /// The run. None if nothing was begun, or all was undone.
    pub opened: Option<Opened>,
    /// The folder of the run's record. None before there is one.
    pub record: Option<PathBuf>,
    /// Servers that the run has added and not removed, in the order of their addition.
    pub added: Vec<AddedServer>,
    /// Servers that were there before.
    pub changed: BTreeMap<Name, ChangedServer>,
}

impl JournalState {
    /// What the text of a journal says.
    pub fn of(text: &str) -> Self {
        let mut state = Self::default();
        for line in lines(text) {
            state.add(line);
        }
        state
    }

    fn add(&mut self, line: JournalLine) {
        match line {
            JournalLine::Owner(owner) => self.owner = Some(owner),
            JournalLine::Opened(opened) => {
                *self = Self { owner: self.owner, opened: Some(opened), ..Self::default() };
            }
            JournalLine::Record(directory) => self.record = Some(directory),
            JournalLine::Adding(server) => {
                self.added.push(AddedServer { server, weight: 0, is_withdrawn: false });
            }
            JournalLine::Setting { server, weight, .. } | JournalLine::WasSet { server, weight } => {
                self.set(server, weight);
            }
            JournalLine::Withdrawn(server) => {
                if let Some(added) = self.find(&server) {
                    added.weight = 0;
                    added.is_withdrawn = true;
                }
            }
            JournalLine::Removed(server) => self.added.retain(|added| added.server.name != server),
            JournalLine::Ended => *self = Self { owner: self.owner, ..Self::default() },
        }
    }

    fn set(&mut self, server: Name, weight: u32) {
        if let Some(added) = self.find(&server) {
            added.weight = weight;
            return;
        }
        let changed = self.changed.entry(server).or_default();
        changed.weight = weight;
        changed.all.insert(weight);
    }

    fn find(&mut self, server: &Name) -> Option<&mut AddedServer> {
        self.added.iter_mut().find(|added| added.server.name == *server)
    }
}

/// Why the journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Another process has it.
    #[error("the journal {} is in use by {owner}: wait until it has ended, or stop it with `showdown shift PLAN --abort`", journal.display())]
    Busy {
        /// The journal.
        journal: PathBuf,
        /// The process.
        owner: String,
    },
    /// Another user may have written it, or the disk is full.
    #[error("cannot use the journal {}: {reason}: no weight is raised without it", journal.display())]
    Failed {
        /// The journal.
        journal: PathBuf,
        /// The reason.
        reason: String,
    },
}

/// The journal of a run, which this process has locked.
#[derive(Debug)]
pub struct ShiftJournal {
    file: JournalFile,
    state: JournalState,
}

impl ShiftJournal {
    /// Locks the journal in this directory and reads what has to be undone.
    pub fn lock(directory: &Path) -> Result<Self, JournalError> {
        let journal = directory.join(JOURNAL_NAME);
        match JournalFile::lock(directory, JOURNAL_NAME) {
            Ok((file, text)) => Ok(Self { file, state: JournalState::of(&text) }),
            Err(JournalFileError::Busy(text)) => {
                let owner = JournalState::of(&text).owner;
                let owner =
                    owner.map_or_else(|| "another process".to_owned(), |owner| format!("pid {}", owner.pid));
                Err(JournalError::Busy { journal, owner })
            }
            Err(error) => Err(JournalError::Failed { journal, reason: error.to_string() }),
        }
    }

    /// What has to be undone now.
    pub fn state(&self) -> &JournalState {
        &self.state
    }

    /// Begins a run: what an earlier one has left is undone by then.
    pub fn begin(&mut self, opened: Opened) -> Result<(), JournalError> {
        self.file.clear().map_err(|error| self.failed(&error))?;
        if let Some(owner) = ProcessId::of(std::process::id()) {
            self.write(JournalLine::Owner(owner))?;
        }
        self.write(JournalLine::Opened(opened))
    }

    /// Writes a line to the disk. Only then may be done what it says.
    pub fn write(&mut self, line: JournalLine) -> Result<(), JournalError> {
        self.file.write(&line).map_err(|error| self.failed(&error))?;
        self.state.add(line);
        Ok(())
    }

    fn failed(&self, error: &io::Error) -> JournalError {
        JournalError::Failed { journal: self.file.path().to_owned(), reason: error.to_string() }
    }
}

/// What the journal in this directory says, whoever has it locked. None if there is no journal.
pub fn read(directory: &Path) -> Result<Option<JournalState>, JournalError> {
    let journal = directory.join(JOURNAL_NAME);
    if matches!(journal.symlink_metadata(), Err(error) if error.kind() == io::ErrorKind::NotFound) {
        return Ok(None);
    }
    match read_text(&journal) {
        Ok(text) => Ok(Some(JournalState::of(&text))),
        Err(reason) => Err(JournalError::Failed { journal, reason }),
    }
}

/// The directory of the journal that a process has open. None if it has none, or this user may not see its files.
pub fn directory_of(pid: u32) -> Option<PathBuf> {
    let files = fs::read_dir(Path::new("/proc").join(pid.to_string()).join("fd")).ok()?;
    let mut paths = files.flatten().filter_map(|file| fs::read_link(file.path()).ok());
    let journal = paths.find(|path| path.file_name().is_some_and(|name| name == JOURNAL_NAME))?;
    journal.parent().map(Path::to_owned)
}

fn read_text(journal: &Path) -> Result<String, String> {
    host::ownership::check(journal).map_err(|error| error.to_string())?;
    let mut text = String::new();
    let file = File::open(journal).map_err(|error| error.to_string())?;
    file.take(MOST_BYTES).read_to_string(&mut text).map_err(|error| error.to_string())?;
    Ok(text)
}

/// Seconds since 1970, for people who read the journal. No decision depends on it.
pub fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Name {
        text.parse().unwrap()
    }

    fn opened() -> Opened {
        let identity = BalancerIdentity {
            pid: 7,
            started_s: 1,
            algorithm: "roundrobin".into(),
            version: "HAProxy 2.6".into(),
            master: None,
        };
        let weights = [("old1".to_owned(), 1)].into();
        Opened { socket: "/run/admin".into(), backend: name("b"), identity, weights, at_s: 5 }
    }

    fn new_server(server: &str) -> NewServer {
        let (address, check) = ("127.0.0.1:80".parse().unwrap(), None);
        NewServer { name: name(server), address, check, sends_proxy_header: false, most_connections: None }
    }

    #[test]
    fn what_has_to_be_undone_survives_a_kill_at_any_line() {
        let dir = tempfile::tempdir().unwrap();
        let mut journal = ShiftJournal::lock(dir.path()).unwrap();
        let busy = ShiftJournal::lock(dir.path()).unwrap_err().to_string();
        assert!(busy.contains("is in use by another process"), "{busy}");
        journal.begin(opened()).unwrap();
        let busy = ShiftJournal::lock(dir.path()).unwrap_err().to_string();
        assert!(busy.contains(&format!("pid {}", std::process::id())), "{busy}");
        journal.write(JournalLine::Adding(new_server("new"))).unwrap();
        journal.write(JournalLine::Setting { server: name("old1"), weight: 64, at_s: 6 }).unwrap();
        journal.write(JournalLine::Setting { server: name("new"), weight: 4, at_s: 7 }).unwrap();
        assert_eq!(directory_of(std::process::id()), Some(dir.path().canonicalize().unwrap()));
        let state = read(dir.path()).unwrap().unwrap();
        assert_eq!(&state, journal.state());
        let old = &state.changed[&name("old1")];
        assert_eq!((state.added[0].weight, old.weight, old.is_own(64)), (4, 64, true));
        assert_eq!(state.opened, Some(opened()));
        journal.write(JournalLine::Withdrawn(name("new"))).unwrap();
        assert!(journal.state().added[0].is_withdrawn);
        journal.write(JournalLine::Removed(name("new"))).unwrap();
        journal.write(JournalLine::Ended).unwrap();
        drop(journal);
        let state = ShiftJournal::lock(dir.path()).unwrap().state().clone();
        assert_eq!((state.opened, state.added.len(), state.changed.len()), (None, 0, 0));
    }

    #[test]
    fn names_in_a_journal_are_checked_as_others_are() {
        let hostile = "{\"withdrawn\":\"a;show info\"}\n{\"adding\":{\"name\":\"a b\"}}\nnothing\n";
        assert_eq!(JournalState::of(hostile), JournalState::default());
    }

    #[test]
    fn a_journal_that_is_not_there_says_nothing() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read(dir.path()).unwrap(), None);
    }
}
