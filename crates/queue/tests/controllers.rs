//! Which controller gets an entry: a run goes on where its files are, a kill is not forgotten, and one id is one machine.
#![expect(clippy::unwrap_used, reason = "tests: a panic is a failure with a line")]

use std::collections::BTreeMap;

use queue::memory::MemoryRows;
use queue::{
    Attempt, ControllerCall, Entry, EntryState, HostState, NewController, NewEntry, Outcome, Outlook,
    QueueError, Refusal, Rows,
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
    submit_to(rows, &[])
}

/// An entry that needs these hosts beside the machine of its controller.
fn submit_to(rows: &mut MemoryRows, hosts: &[&str]) -> u64 {
    let new = NewEntry {
        title: String::new(),
        question: "q".to_owned(),
        submitter: String::new(),
        priority: 0,
        hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
        parent: None,
        key: None,
        is_paused: false,
        ..NewEntry::default()
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

/// The same where each run takes 100 s, 40 s after the runs have begun.
fn outlook_in_time(rows: &mut MemoryRows) -> Vec<Outlook> {
    let states = [EntryState::Claimed, EntryState::Running, EntryState::Waiting];
    let entries = rows.entries(&states).unwrap();
    let (hosts, controllers) = (rows.hosts().unwrap(), rows.controllers().unwrap());
    let durations = BTreeMap::from([("q".to_owned(), 100.0)]);
    queue::outlook(&entries, &hosts, &controllers, &|_| true, &durations, 40_000)
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
fn an_entry_that_was_killed_says_by_whom() {
    let mut rows = two_controllers();
    let id = submit(&mut rows);
    let claimed = claim(&mut rows, "c0").unwrap();
    queue::begin(&mut rows, attempt(&claimed), 0).unwrap();
    queue::kill(&mut rows, id, "ada", 1).unwrap();
    let reason = "stopped by a person".to_owned();
    let ended = queue::finish(&mut rows, attempt(&claimed), &Outcome::Stopped { reason }, 2).unwrap();
    assert_eq!((ended.state, ended.reason.as_deref()), (EntryState::Cancelled, Some("stopped by ada")));
}

#[test]
fn a_machine_is_one_host_however_it_is_reached() {
    for name in ["lab1", "Lab1", "ops@lab1", "root@LAB1."] {
        assert_eq!(queue::host_identity(name), "lab1");
    }
    let mut rows = MemoryRows::default();
    queue::register(&mut rows, &new("c0", "b", "Lab1"), 0).unwrap();
    queue::register(&mut rows, &new("c1", "b", "lab2"), 0).unwrap();
    submit(&mut rows);
    submit_to(&mut rows, &["lab1"]);
    claim(&mut rows, "c0").unwrap();
    assert_eq!(claim(&mut rows, "c1"), None, "a run on it goes on");
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

/// A run that has begun at the time 0.
fn run(rows: &mut MemoryRows, controller: &str) -> Entry {
    let entry = claim(rows, controller).unwrap();
    queue::begin(rows, attempt(&entry), 0).unwrap()
}

#[test]
fn an_entry_that_waits_for_a_host_keeps_that_host_and_one_controller_and_the_others_go_on() {
    let mut rows = two_controllers();
    queue::register(&mut rows, &new("c2", "b", "m2"), 0).unwrap();
    submit_to(&mut rows, &["h"]);
    let first = run(&mut rows, "c0");
    let waits = submit_to(&mut rows, &["h", "g"]);
    let behind = submit_to(&mut rows, &["g"]);
    let other = submit(&mut rows);
    submit(&mut rows);
    // The host g is reserved. The controller c2 is reserved, too, but for one entry: the next one waits behind it for g.
    assert_eq!(claim(&mut rows, "c1").unwrap().id, other);
    assert_eq!(claim(&mut rows, "c2"), None, "it is the last idle one, so it is reserved");
    queue::finish(&mut rows, attempt(&first), &Outcome::Stored, 0).unwrap();
    assert_eq!(claim(&mut rows, "c2").unwrap().id, waits, "it does not starve");
    assert_eq!(rows.entry(behind).unwrap().unwrap().state, EntryState::Waiting);
}

#[test]
fn the_outlook_of_an_entry_is_that_of_the_best_controller() {
    let mut rows = two_controllers();
    let id = submit(&mut rows);
    let lost = run(&mut rows, "c0");
    queue::lapse(&mut rows, attempt(&lost), 0).unwrap();
    let (first, second) = (submit(&mut rows), submit(&mut rows));
    let outlooks = outlook_in_time(&mut rows);
    assert!(
        outlooks[0].reason.starts_with("it is next"),
        "m0 is in quarantine, and m1 is free: {outlooks:?}"
    );
    assert_eq!((outlooks[0].entry, outlooks[0].starts_in_s), (first, Some(0.0)));
    assert_eq!((outlooks[1].entry, outlooks[1].starts_in_s), (second, Some(100.0)));
    assert_eq!(outlooks[1].reason, format!("entry {first} is before it"));
    assert_eq!(rows.entry(id).unwrap().unwrap().state, EntryState::Lost);
}

#[test]
fn entries_of_two_controllers_wait_in_two_lanes() {
    let mut rows = two_controllers();
    submit(&mut rows);
    let running = run(&mut rows, "c0");
    for hosts in [&[] as &[&str], &[], &[], &["m0"]] {
        submit_to(&mut rows, hosts);
    }
    let begins: Vec<_> = outlook_in_time(&mut rows).iter().map(|outlook| outlook.starts_in_s).collect();
    // The run on m0 has 60 s left. The last entry needs m0.
    assert_eq!(begins, [Some(0.0), Some(60.0), Some(100.0), Some(160.0)], "{running:?}");
}

/// Three entries that run one after the other.
fn sequence(rows: &mut MemoryRows, goes_on: bool) -> [u64; 3] {
    let mut ids = [0; 3];
    let mut after = None;
    for id in &mut ids {
        let new = NewEntry { question: "q".to_owned(), after, goes_on, ..NewEntry::default() };
        *id = queue::submit(rows, &new, 0).unwrap().0.id;
        after = Some(*id);
    }
    ids
}

fn states(rows: &mut MemoryRows, ids: [u64; 3]) -> [EntryState; 3] {
    ids.map(|id| rows.entry(id).unwrap().unwrap().state)
}

#[test]
fn a_sequence_runs_in_order_though_other_controllers_are_idle() {
    let mut rows = two_controllers();
    let ids = sequence(&mut rows, false);
    let other = submit(&mut rows);
    let first = run(&mut rows, "c0");
    let outlooks = outlook_in_time(&mut rows);
    assert_eq!(outlooks[0].reason, format!("entry {} is before it in its sequence", ids[0]));
    assert_eq!((outlooks[0].starts_in_s, outlooks[1].starts_in_s), (Some(60.0), Some(160.0)));
    assert_eq!(claim(&mut rows, "c1").unwrap().id, other, "it needs not wait");
    queue::finish(&mut rows, attempt(&first), &Outcome::Stored, 0).unwrap();
    assert_eq!(claim(&mut rows, "c0").unwrap().id, ids[1]);
}

#[test]
fn an_entry_without_an_answer_ends_its_sequence_unless_it_goes_on() {
    use EntryState::{Cancelled, Failed, Waiting};
    let failed = Outcome::Failed { reason: "no".to_owned() };
    for (goes_on, rest) in [(false, Cancelled), (true, Waiting)] {
        let mut rows = two_controllers();
        let ids = sequence(&mut rows, goes_on);
        let first = run(&mut rows, "c0");
        queue::finish(&mut rows, attempt(&first), &failed, 5).unwrap();
        assert_eq!(states(&mut rows, ids), [Failed, rest, rest]);
        let second = rows.entry(ids[1]).unwrap().unwrap();
        let reason = format!("entry {} before it in its sequence is failed", ids[0]);
        assert_eq!(second.reason, (!goes_on).then_some(reason));
        assert_eq!(claim(&mut rows, "c0").map(|entry| entry.id), goes_on.then_some(ids[1]));
    }
}

#[test]
fn a_lost_run_in_a_sequence_waits_for_a_person() {
    let mut rows = two_controllers();
    let ids = sequence(&mut rows, false);
    let first = run(&mut rows, "c0");
    queue::note_run(&mut rows, attempt(&first), "run").unwrap();
    queue::lapse(&mut rows, attempt(&first), 0).unwrap();
    assert_eq!(claim(&mut rows, "c1"), None);
    let mut entries = rows.entries(&[EntryState::Waiting, EntryState::Lost]).unwrap();
    entries.sort_by_key(|entry| entry.id);
    let (hosts, controllers) = (rows.hosts().unwrap(), rows.controllers().unwrap());
    let outlooks = queue::outlook(&entries, &hosts, &controllers, &|_| true, &BTreeMap::new(), 0);
    assert!(outlooks[0].reason.contains("is lost: go on with that one"), "{outlooks:?}");
    queue::clean_host(&mut rows, "m0", "bob", "rebooted").unwrap();
    queue::resume(&mut rows, ids[0]).unwrap();
    assert_eq!(claim(&mut rows, "c0").unwrap().id, ids[0]);
}
