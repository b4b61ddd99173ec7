//! What each store must do: the same random steps as the rows in memory, with the same answers, and the same rows after them. A second
//! store is added to the list of `every_store`.
#![expect(clippy::unwrap_used, reason = "tests: a panic is a failure with a line")]

use std::fmt::Debug;

use harness::store::sqlite::Sqlite;
use harness::store::{Database, Deletion, SecretKind, StoreError, Transaction};
use proptest::prelude::*;
use queue::api::Note;
use queue::memory::MemoryRows;
use queue::{
    Attempt, ControllerCall, Entry, EntryState, NewController, NewEntry, Outcome, Place, QueueError, Rows,
};

/// One verb with small numbers.
#[derive(Clone, Debug)]
struct Step {
    verb: u8,
    a: u64,
    b: u64,
}

const RUN: &str = "20261121T005139Z-nginx-7f3a";

/// The answer of a verb as text: what a caller sees.
fn take<R: Rows>(rows: &mut R, step: &Step) -> String
where
    R::Error: Debug,
{
    let Step { verb, a, b } = *step;
    let attempt = Attempt { entry: a, token: b };
    let call = ControllerCall { id: format!("c{}", a % 2), boot: format!("boot{}", b % 2) };
    match verb {
        0..=3 => shown(queue::submit(rows, &new_entry(a, b), b)),
        4 => shown(queue::register(rows, &new_controller(&call, a), b)),
        5..=8 => shown(queue::claim(rows, &call, if b == 6 { Some("(pid 812)") } else { None }, b)),
        9 | 10 => shown(queue::begin(rows, attempt, b)),
        11 => shown(queue::finish(rows, attempt, &Outcome::Answered, b)),
        12 => shown(queue::finish(rows, attempt, &Outcome::Stored, b)),
        13 => shown(queue::finish(rows, attempt, &Outcome::Failed { reason: "no".to_owned() }, b)),
        14 => shown(queue::lapse(rows, attempt, b)),
        15 => shown(queue::pause(rows, a, None)),
        16 => shown(queue::release(rows, a)),
        17 => shown(queue::kill(rows, a, "bob", b)),
        18 => shown(queue::place(rows, a, if b == 0 { Place::First } else { Place::Before(b) })),
        19 => shown(queue::place(rows, a, Place::Last)),
        20 => shown(queue::note_run(rows, attempt, RUN)),
        21 => shown(queue::resume(rows, a)),
        22 => shown(queue::refuse(rows, attempt, "not mine")),
        _ => shown(queue::clean_host(rows, ["h1", "h2", "m0", "m1"][(a % 4) as usize], "bob", "rebooted")),
    }
}

fn new_entry(a: u64, b: u64) -> NewEntry {
    let hosts: &[&str] = [&[][..], &["h1"], &["h1", "h2"]][(b % 3) as usize];
    NewEntry {
        title: format!("compare {a}"),
        question: "q".to_owned(),
        submitter: "alice".to_owned(),
        priority: i32::try_from(a % 3).unwrap() - 1,
        hosts: hosts.iter().map(|&name| name.to_owned()).collect(),
        parent: if b == 7 { Some(a) } else { None },
        key: if b == 5 { Some(format!("key-{a}")) } else { None },
        is_paused: b == 6,
    }
}

fn new_controller(call: &ControllerCall, a: u64) -> NewController {
    NewController {
        id: call.id.clone(),
        boot: call.boot.clone(),
        name: call.id.clone(),
        host: format!("m{}", a % 2),
        version: String::new(),
        rules: String::new(),
    }
}

/// Refusals are answers; what goes wrong in a store is not.
fn shown<T: Debug, E: Debug>(result: Result<T, QueueError<E>>) -> String {
    match result {
        Ok(answer) => format!("{answer:?}"),
        Err(QueueError::Refused(refusal)) => refusal.to_string(),
        Err(QueueError::Store(error)) => panic!("{error:?}"),
    }
}

fn all<R: Rows>(rows: &mut R) -> (Vec<Entry>, Vec<queue::HostRow>, Vec<queue::ControllerRow>)
where
    R::Error: Debug,
{
    (rows.entries(&EntryState::ALL).unwrap(), rows.hosts().unwrap(), rows.controllers().unwrap())
}

/// A store does what the rows in memory do.
fn conforms<D: Database>(store: &mut D, steps: &[Step]) {
    let mut memory = MemoryRows::default();
    for step in steps {
        let expected = take(&mut memory, step);
        let found = store.transact(|rows| Ok::<_, StoreError>(take(rows, step))).unwrap();
        assert_eq!(found, expected, "{step:?}");
    }
    assert_eq!(store.transact(|rows| Ok::<_, StoreError>(all(rows))).unwrap(), all(&mut memory));
}

/// Each store, empty.
fn every_store(check: impl Fn(&mut Sqlite)) {
    check(&mut Sqlite::in_memory().unwrap());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_same_steps_have_the_same_answers(
        steps in prop::collection::vec((0_u8..25, 1_u64..8, 0_u64..8).prop_map(|(verb, a, b)| Step { verb, a, b }), 1..80),
    ) {
        every_store(|store| conforms(store, &steps));
    }
}

#[test]
fn what_fails_leaves_nothing() {
    every_store(|store| {
        let failed = store.transact(|rows| {
            take(rows, &Step { verb: 0, a: 1, b: 0 });
            Err::<(), _>(StoreError::Failed("halfway".to_owned()))
        });
        assert!(failed.is_err());
        let entries = store.transact(|rows| rows.entries(&EntryState::ALL)).unwrap();
        assert_eq!(entries, [], "all or nothing");
    });
}

/// The lines of entry 1 after a place, as one text.
fn lines_after(rows: &mut impl Transaction, after: (u64, u64), most: u32) -> Result<String, StoreError> {
    let lines = rows.lines_after(1, after, most)?;
    Ok(lines.into_iter().map(|line| line.line).collect::<Vec<_>>().join(", "))
}

#[test]
fn lines_are_kept_in_order_and_read_from_any_place() -> Result<(), StoreError> {
    let mut store = Sqlite::in_memory()?;
    store.transact(|rows| {
        take(rows, &Step { verb: 0, a: 1, b: 0 });
        for (token, first, count) in [(3, 1, 2), (3, 3, 1), (5, 1, 2)] {
            let lines: Vec<String> = (0..count).map(|line| format!("{token}: {}", first + line)).collect();
            rows.append_lines(1, token, first, &lines)?;
        }
        assert_eq!((rows.last_seq(1, 3)?, rows.last_seq(1, 4)?), (3, 0));
        assert_eq!(lines_after(rows, (0, 0), 100)?, "3: 1, 3: 2, 3: 3, 5: 1, 5: 2");
        assert_eq!(lines_after(rows, (3, 2), 100)?, "3: 3, 5: 1, 5: 2");
        assert_eq!(lines_after(rows, (3, 1), 2)?, "3: 2, 3: 3");
        Ok(())
    })
}

#[test]
fn a_secret_is_valid_for_its_kind_and_time_and_a_link_once() -> Result<(), StoreError> {
    let mut store = Sqlite::in_memory()?;
    store.transact(|rows| {
        rows.put_secret(&[7; 32], SecretKind::Link, "alice", 1000)?;
        assert_eq!(rows.secret(&[7; 32], SecretKind::Link, 999)?.as_deref(), Some("alice"));
        assert_eq!(rows.secret(&[7; 32], SecretKind::Link, 1000)?, None, "it has lapsed");
        assert_eq!(rows.secret(&[7; 32], SecretKind::Person, 0)?, None, "it is for something else");
        assert_eq!((rows.remove_secret(&[7; 32])?, rows.remove_secret(&[7; 32])?), (true, false));
        Ok(())
    })
}

#[test]
fn notes_deletions_and_the_audit_are_kept() -> Result<(), StoreError> {
    let mut store = Sqlite::in_memory()?;
    store.transact(|rows| {
        let note = Note { author: "alice".to_owned(), unix_ms: 7, text: "<b>odd</b>".to_owned() };
        rows.add_note("run", &note)?;
        assert_eq!((rows.notes("run")?, rows.notes("other")?.len()), (vec![note], 0));
        let (run, author, reason) = ("run".to_owned(), "bob".to_owned(), "bad".to_owned());
        let deletion = Deletion { run, author, unix_ms: 9, reason };
        rows.add_deletion(&deletion)?;
        assert_eq!(rows.deletions()?, [deletion]);
        assert_eq!((rows.remove_deletion("run")?, rows.deletions()?.len()), (true, 0));
        rows.audit(1, "alice", "first")?;
        rows.audit(2, "alice", "second")?;
        assert_eq!(rows.audits(1)?, [(2, "alice".to_owned(), "second".to_owned())]);
        Ok(())
    })
}

#[test]
fn ends_and_durations_are_found_again_after_a_restart() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("queue.sqlite");
    Sqlite::open(&path)?.transact(|rows| {
        for (verb, a, b) in [(4, 0, 0), (0, 0, 0), (5, 0, 0), (9, 1, 1), (20, 1, 1), (12, 1, 1)] {
            take(rows, &Step { verb, a, b });
        }
        rows.put_plan(1, "the plan")
    })?;
    Sqlite::open(&path)?.transact(|rows| {
        assert_eq!((rows.ended(None, 10)?.len(), rows.ended(Some(1), 10)?.len()), (1, 0));
        assert_eq!(rows.durations_s("q", 10)?.len(), 1);
        assert_eq!(rows.plan(1)?.as_deref(), Some("the plan"));
        assert_eq!(rows.entry_of_run(RUN)?.map(|entry| entry.id), Some(1));
        Ok::<_, StoreError>(())
    })?;
    Ok(())
}
