//! Where the state of each balancer's run is, below a directory of runs: its journal, its control socket and its last second. What they say
//! is left to `control`.

use std::fs;
use std::path::{Path, PathBuf};

use super::record::FOLDER;
use crate::control::{self, Status};
use crate::journal::JournalError;
use crate::plan::PlannedBackend;

/// The folder of all states, beside the records.
const STATES: &str = "state";

/// The state of a balancer's run.
#[derive(Debug)]
pub struct BalancerState {
    /// The name of its directory.
    pub name: String,
    /// Its directory.
    pub directory: PathBuf,
    /// What is known of the run; an error if the journal is not readable or not to be trusted.
    pub status: Result<Option<Status>, JournalError>,
}

impl BalancerState {
    /// Whether a run is in progress, or has left something to undo. What is not readable may be.
    pub fn is_open(&self) -> bool {
        match &self.status {
            Ok(status) => status.as_ref().is_some_and(|status| status.since_s.is_some()),
            Err(_) => true,
        }
    }

    /// The folder of its record.
    pub fn record(&self) -> Option<&Path> {
        self.status.as_ref().ok()?.as_ref()?.record.as_deref()
    }
}

/// A text as a part of a file's name.
fn slug(text: &str) -> String {
    let plain = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' });
    plain.collect::<String>().trim_matches('-').to_owned()
}

/// Where the journal of a balancer is: the next run and an abort find there what a killed run has left.
pub fn state_directory(runs: &Path, place: &PlannedBackend) -> PathBuf {
    let name = format!("{} {}", place.socket.display(), place.backend);
    runs.join(FOLDER).join(STATES).join(slug(&name))
}

/// The states of all balancers that have had a run of this directory of runs, in the order of their names.
pub fn states(runs: &Path) -> Vec<BalancerState> {
    let mut found = Vec::new();
    for entry in fs::read_dir(runs.join(FOLDER).join(STATES)).into_iter().flatten().flatten() {
        let (Ok(name), directory) = (entry.file_name().into_string(), entry.path()) else { continue };
        if directory.is_dir() {
            let status = control::status(&directory);
            found.push(BalancerState { name, directory, status });
        }
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    found
}

/// A run that is in progress, or was killed and has left something.
#[derive(Debug)]
pub struct OpenRun {
    /// Its directory.
    pub directory: PathBuf,
    /// How it stands.
    pub status: Status,
}

/// The open runs of this directory of runs. An error is of a state that this user may not read, and only returned if no run is open.
pub fn open_runs(runs: &Path) -> Result<Vec<OpenRun>, JournalError> {
    let (mut open, mut unreadable) = (Vec::new(), None);
    for state in states(runs).into_iter().filter(BalancerState::is_open) {
        match state.status {
            Ok(Some(status)) => open.push(OpenRun { directory: state.directory, status }),
            Ok(None) => {}
            Err(error) => unreadable = Some(error),
        }
    }
    match unreadable {
        Some(error) if open.is_empty() => Err(error),
        _ => Ok(open),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{JournalLine, Opened, ShiftJournal};
    use crate::observation::BalancerIdentity;

    #[test]
    fn each_balancer_has_a_directory_and_it_is_found_again() {
        let runs = tempfile::tempdir().unwrap();
        assert!(states(runs.path()).is_empty());
        let plan = runs.path().join("plan.toml");
        fs::write(&plan, "[balancer]\nsocket = \"/run/haproxy/admin.sock\"\nbackend = \"web\"\n").unwrap();
        let directory = state_directory(runs.path(), &PlannedBackend::read(&plan).unwrap());
        assert!(directory.ends_with("shift/state/run-haproxy-admin-sock-web"), "{}", directory.display());
        fs::create_dir_all(&directory).unwrap();
        let [state] = states(runs.path()).try_into().expect("one state");
        assert_eq!(state.name, "run-haproxy-admin-sock-web");
        assert!(!state.is_open() && state.record().is_none(), "{state:?}");
    }

    /// The journal of a run at this balancer.
    fn begin(directory: &Path) -> ShiftJournal {
        let (algorithm, version) = ("roundrobin".to_owned(), "HAProxy 2.6".to_owned());
        let identity = BalancerIdentity { pid: 7, started_s: 1, algorithm, version, master: None };
        let (socket, backend) = (directory.join("admin.sock"), "b".parse().unwrap());
        let mut journal = ShiftJournal::lock(directory).unwrap();
        journal.begin(Opened { socket, backend, identity, weights: [].into(), at_s: 5 }).unwrap();
        journal
    }

    #[test]
    fn the_open_runs_of_a_directory_are_found_without_a_plan() {
        let runs = tempfile::tempdir().unwrap();
        assert!(open_runs(&runs.path().join("missing")).unwrap().is_empty());
        let [ended, open] = ["ended", "open"].map(|name| runs.path().join(FOLDER).join(STATES).join(name));
        begin(&ended).write(JournalLine::Ended).unwrap();
        drop(begin(&open));
        let [found] = open_runs(runs.path()).unwrap().try_into().unwrap();
        assert_eq!((found.directory, found.status.is_running), (open, true));
    }
}
