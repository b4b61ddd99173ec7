//! Which controller gets an entry: a run goes on where its files are, a kill is not forgotten, and one id is one machine.
#![expect(clippy::unwrap_used, reason = "tests: a panic is a failure with a line")]

use std::collections::BTreeMap;

use queue::memory::MemoryRows;
use queue::{
    Attempt, ControllerCall, Entry, EntryState, HostState, NewController, NewEntry, Outlook, QueueError,
    Refusal, Rows,
};

fn new(id: &str, boot: &str, host: &str) -> NewController {
    NewController {
        id: id.to_owned(),
        boot: boot.to_owned(),
        name: format!("controller on {host}"),
        host: host.to_owned(),
        version: String::new(),
        rules: String::new(),
    }
}

/// A queue with two controllers on two machines.
fn two_controllers() -> MemoryRows {
    let mut rows = MemoryRows::default();
    for (id, host) in [("c0", "m0"), ("c1", "m1")] {
        queue::register(&mut rows, &new(id, "b", host), 0).unwrap();
    }
    rows
}

fn submit(rows: &mut MemoryRows) -> u64 {
    let new = NewEntry {
        title: String::new(),
        question: String::new(),
        submitter: String::new(),
        priority: 0,
        hosts: Vec::new(),
        parent: None,
        key: None,
        is_paused: false,
    };
    queue::submit(rows, &new, 0).unwrap().0.id
}

fn claim(rows: &mut MemoryRows, id: &str) -> Option<Entry> {
    let call = ControllerCall { id: id.to_owned(), boot: "b".to_owned() };
    queue::claim(rows, &call, None, 0).unwrap().map(|claim| claim.entry)
}

fn attempt(entry: &Entry) -> Attempt {
    Attempt { entry: entry.id, token: entry.token }
}

fn outlook(rows: &mut MemoryRows, heard: &dyn Fn(&str) -> bool) -> Vec<Outlook> {
    let entries = rows.entries(&[EntryState::Waiting]).unwrap();
    let (hosts, controllers) = (rows.hosts().unwrap(), rows.controllers().unwrap());
    queue::outlook(&entries, &hosts, &controllers, heard, &BTreeMap::new(), 0)
}

#[test]
fn a_lost_run_goes_on_where_its_files_are() {
    let mut rows = two_controllers();
    let id = submit(&mut rows);
    let first = claim(&mut rows, "c1").unwrap();
    queue::begin(&mut rows, attempt(&first), 0).unwrap();
    queue::note_run(&mut rows, attempt(&first), "run").unwrap();
    queue::lapse(&mut rows, attempt(&first), 0).unwrap();
    queue::clean_host(&mut rows, "m1", "bob", "rebooted").unwrap();
    queue::resume(&mut rows, id).unwrap();
    let other = submit(&mut rows);

    let without = outlook(&mut rows, &|id| id == "c0");
    assert!(without[0].reason.contains("controller on m1"), "{without:?}");
    assert_eq!(without[0].starts_in_s, None, "nobody knows when it comes back");
    assert!(without[1].reason.starts_with("it is next"), "it keeps nobody waiting: {without:?}");
    let busy = ControllerCall { id: "c1".to_owned(), boot: "b".to_owned() };
    queue::claim(&mut rows, &busy, Some("(pid 812)"), 0).unwrap();
    let with = outlook(&mut rows, &|_| true);
    assert!(with[0].reason.contains("measures on m1"), "the other machine is not looked at: {with:?}");

    assert_eq!(claim(&mut rows, "c0").unwrap().id, other, "its files are elsewhere");
    let again = claim(&mut rows, "c1").unwrap();
    assert_eq!((again.id, again.resumes, again.run.as_deref()), (id, true, Some("run")));
    // It was silent before anything had begun: the run is still there.
    queue::lapse(&mut rows, attempt(&again), 0).unwrap();
    assert_eq!(claim(&mut rows, "c0"), None);
    assert_eq!(claim(&mut rows, "c1").unwrap().id, id);
}

#[test]
fn a_kill_is_not_forgotten_where_the_rules_refuse_the_entry() {
    let mut rows = two_controllers();
    let id = submit(&mut rows);
    let claimed = claim(&mut rows, "c0").unwrap();
    queue::kill(&mut rows, id, "bob", 1).unwrap();
    let refused = queue::refuse(&mut rows, attempt(&claimed), "no", 2).unwrap();
    assert_eq!((refused.state, refused.ended_unix_ms), (EntryState::Cancelled, Some(2)));
    assert_eq!(refused.reason.as_deref(), Some("stopped by bob"));
    assert_eq!(claim(&mut rows, "c1"), None);
    assert!(rows.hosts().unwrap().iter().all(|host| host.state == HostState::Free));
}

#[test]
fn a_copy_of_a_machine_takes_no_run_from_it() {
    let mut rows = two_controllers();
    submit(&mut rows);
    claim(&mut rows, "c0").unwrap();
    let before = rows.clone();
    let copy = queue::register(&mut rows, &new("c0", "other", "copy"), 0);
    let Err(QueueError::Refused(refusal @ Refusal::OtherMachine { .. })) = copy else { panic!("{copy:?}") };
    assert!(refusal.to_string().contains("controller.id"), "{refusal}");
    assert_eq!(rows, before);
    // The same machine has started its controller again.
    let ended = queue::register(&mut rows, &new("c0", "other", "m0"), 0).unwrap();
    assert_eq!(ended.len(), 1);
    // It has nothing now: a machine may have got another name.
    queue::register(&mut rows, &new("c0", "third", "renamed"), 0).unwrap();
}
