//! Runs on live traffic that this machine's balancers have: the list, one of them, and their end by a person. The server starts none, and
//! what an abort does is in the crate `traffic`.

use std::path::Path;

use archive::RunId;
use serde::Serialize;
use traffic::control::{self, Status};
use traffic::shift::{BalancerState, StoredShift, StoredState, folders, states};

use super::Harness;
use super::error::ServiceError;
use super::runs::blocking;
use crate::people::Person;
use crate::secrets::unix_ms;

/// Records in the list, the newest first.
const MOST_LISTED: usize = 200;

/// A run that is in progress, or has left something to undo.
#[derive(Debug, Serialize)]
pub struct OpenShift {
    /// The name of its balancer's state, by which it is ended.
    pub name: String,
    /// The run's record. None before it has one.
    pub record: Option<RunId>,
    /// How it stands. None if that cannot be read.
    pub status: Option<Status>,
    /// Why it cannot be read.
    pub problem: Option<String>,
}

/// A recorded run.
#[derive(Debug, Serialize)]
pub struct ListedShift {
    /// Its id.
    pub id: RunId,
    /// The new server.
    pub candidate: String,
    /// Its state in a word.
    pub state: &'static str,
    /// What is known of it.
    pub sentence: String,
}

/// All of them.
#[derive(Debug, Serialize)]
pub struct ShiftList {
    /// Those that can be ended.
    pub open: Vec<OpenShift>,
    /// Records, the newest first.
    pub recorded: Vec<ListedShift>,
    /// Records that cannot be read, with the reason.
    pub problems: Vec<String>,
}

/// One of them.
#[derive(Debug, Serialize)]
pub struct KnownShift {
    /// What the list has of it.
    pub listed: ListedShift,
    /// How it stands, if it can be ended.
    pub open: Option<OpenShift>,
    /// Markup without a style: charts over time, steps and counters.
    pub body: String,
}

impl OpenShift {
    fn of(state: BalancerState) -> Self {
        let record = state.record().and_then(id_of);
        let (status, problem) = match state.status {
            Ok(status) => (status, None),
            Err(error) => (None, Some(error.to_string())),
        };
        Self { name: state.name, record, status, problem }
    }
}

impl ListedShift {
    fn of(shift: &StoredShift) -> Self {
        let state = match shift.state {
            StoredState::Answered => "finished",
            StoredState::Stopped => "interrupted",
            StoredState::Running => "running",
            StoredState::Killed => "unfinished",
        };
        let candidate = shift.names.candidate.to_string();
        Self { id: shift.id.clone(), candidate, state, sentence: shift.sentence() }
    }
}

fn id_of(record: &Path) -> Option<RunId> {
    record.file_name()?.to_str()?.parse().ok()
}

fn open_shifts(runs: &Path) -> Vec<OpenShift> {
    states(runs).into_iter().filter(BalancerState::is_open).map(OpenShift::of).collect()
}

/// The list of a directory of runs.
fn list(runs: &Path) -> ShiftList {
    let mut list = ShiftList { open: open_shifts(runs), recorded: Vec::new(), problems: Vec::new() };
    for (_, directory) in folders(runs).into_iter().take(MOST_LISTED) {
        match StoredShift::open(&directory) {
            Ok(shift) => list.recorded.push(ListedShift::of(&shift)),
            Err(error) => list.problems.push(error.to_string()),
        }
    }
    list
}

/// A record of a directory of runs.
fn known(runs: &Path, id: &RunId) -> Result<KnownShift, ServiceError> {
    let found = folders(runs).into_iter().find(|(other, _)| other == id);
    let Some((_, directory)) = found else {
        return Err(ServiceError::NotFound(format!("there is no run {id} on live traffic: see the list")));
    };
    let shift = StoredShift::open(&directory)?;
    let open = open_shifts(runs).into_iter().find(|open| open.record.as_ref() == Some(id));
    Ok(KnownShift { listed: ListedShift::of(&shift), open, body: shift.page_body()? })
}

/// Ends the run of a balancer's state; what was done, and what is left.
fn abort(runs: &Path, name: &str) -> Result<String, ServiceError> {
    // By the list: the name comes from a request.
    let Some(state) = states(runs).into_iter().find(|state| state.name == name) else {
        return Err(ServiceError::NotFound(format!("no balancer has the state {name:?}: see the list")));
    };
    let recovered = control::abort(&state.directory)?;
    let is_complete = recovered.is_complete();
    let lines: Vec<String> = recovered.done.into_iter().chain(recovered.left).collect();
    match (is_complete, lines.join("; ")) {
        (true, done) if done.is_empty() => Ok("there was no run to end".to_owned()),
        (true, done) => Ok(done),
        (false, left) => Err(ServiceError::Unfinished(format!(
            "not all was put back: {left}: repair the balancer, and abort again"
        ))),
    }
}

impl Harness {
    /// All runs on live traffic of this server's directory of runs.
    pub async fn shifts(&self) -> Result<ShiftList, ServiceError> {
        let runs = self.archive().root().to_owned();
        blocking(move || Ok(list(&runs))).await
    }

    /// One of them.
    pub async fn shift(&self, id: RunId) -> Result<KnownShift, ServiceError> {
        let runs = self.archive().root().to_owned();
        blocking(move || known(&runs, &id)).await
    }

    /// Ends one: its servers have weight 0 then. The audit has who has asked for it and what was done; a store that is away is in the way of
    /// the line, and not of the end.
    pub async fn abort_shift(&self, name: String, by: Person) -> Result<String, ServiceError> {
        let (runs, state) = (self.archive().root().to_owned(), name.clone());
        let done = blocking(move || abort(&runs, &state)).await;
        let what = match &done {
            Ok(done) => format!("abort on live traffic, {name}: {done}"),
            Err(error) => format!("abort on live traffic, {name}, failed: {error}"),
        };
        let audited = self
            .store()
            .transact(move |rows| Ok::<_, ServiceError>(rows.audit(unix_ms(), &by.name, &what)?));
        let audited = audited.await;
        let done = done?;
        match audited {
            Ok(()) => Ok(done),
            Err(error) => Err(ServiceError::Unfinished(format!(
                "the run was ended ({done}), and the audit has no line of it: {error}"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const ID: &str = "20261201T101112Z-candidate-1f3a";

    fn record(runs: &Path) {
        let directory = runs.join("shift").join(ID);
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("plan.toml"), "[candidate]\nname = \"candidate\"\n").unwrap();
        let window = serde_json::json!({
            "second": 1, "phase": "step 1", "share": 0.1, "alarms": ["<b>"],
            "servers": [{ "server": "candidate", "weight": 1, "up": true, "requests": 7, "in_progress": 0, "refused": 0, "reset": 0,
                          "status_5xx": 0, "redispatched": 0, "answered": 7, "late": 1, "counters_arrived": true, "log_arrived": true }],
        });
        fs::write(directory.join("windows.jsonl"), format!("{window}\n")).unwrap();
    }

    #[test]
    fn a_record_is_listed_and_shown_without_a_style() {
        let runs = tempfile::tempdir().unwrap();
        record(runs.path());
        let listed = list(runs.path());
        let [shift] = listed.recorded.as_slice() else { panic!("{listed:?}") };
        assert_eq!((shift.id.as_str(), shift.state), (ID, "unfinished"));
        assert!(listed.open.is_empty() && listed.problems.is_empty());
        let known = known(runs.path(), &ID.parse().unwrap()).unwrap();
        assert!(known.body.contains("<svg") && !known.body.contains("style"), "{}", known.body);
        assert!(known.open.is_none());
        let another = "20261201T101112Z-other-1f3a".parse().unwrap();
        assert!(matches!(super::known(runs.path(), &another), Err(ServiceError::NotFound(_))));
    }

    #[test]
    fn only_a_state_of_the_list_is_ended() {
        let runs = tempfile::tempdir().unwrap();
        fs::create_dir_all(runs.path().join("shift/state/web")).unwrap();
        assert_eq!(abort(runs.path(), "web").unwrap(), "there was no run to end");
        for name in ["..", "../state/web", "", "other"] {
            assert!(matches!(abort(runs.path(), name), Err(ServiceError::NotFound(_))), "{name:?}");
        }
    }
}
