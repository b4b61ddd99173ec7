//! What each store must do: the same random steps as the rows in memory, with the same answers, and the same rows after them. A further
//! store is added to the list of `every_store`.
#![expect(clippy::unwrap_used, reason = "tests: a panic is a failure with a line")]

mod database;

use std::fmt::Debug;

use database::TestPostgres;
use harness::people::{Account, Role};
use harness::search::{ArchiveSearch, SavedView};
use harness::store::postgres::Postgres;
use harness::store::sqlite::Sqlite;
use harness::store::{Database, Deletion, SecretKind, StoreError, Transaction};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
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
fn take<R: Rows + ?Sized>(rows: &mut R, step: &Step) -> String
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
        22 => shown(queue::refuse(rows, attempt, "not mine", b)),
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
        after: if b == 4 { Some(a) } else { None },
        goes_on: a == 2,
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

fn all<R: Rows + ?Sized>(rows: &mut R) -> (Vec<Entry>, Vec<queue::HostRow>, Vec<queue::ControllerRow>)
where
    R::Error: Debug,
{
    (rows.entries(&EntryState::ALL).unwrap(), rows.hosts().unwrap(), rows.controllers().unwrap())
}

/// A store does what the rows in memory do.
fn conforms(store: &mut Box<dyn Database>, steps: &[Step]) {
    let mut memory = MemoryRows::default();
    for step in steps {
        let expected = take(&mut memory, step);
        let found = store.transact(|rows| Ok::<_, StoreError>(take(rows, step))).unwrap();
        assert_eq!(found, expected, "{step:?}");
    }
    assert_eq!(store.transact(|rows| Ok::<_, StoreError>(all(rows))).unwrap(), all(&mut memory));
}

/// Each store, empty.
fn every_store(check: impl Fn(&mut Box<dyn Database>)) {
    check(&mut in_memory());
    check(&mut boxed(TestPostgres::start().open()));
}

fn boxed(database: impl Database) -> Box<dyn Database> {
    Box::new(database)
}

/// The store of this database, without what was in it.
fn emptied(postgres: &TestPostgres) -> Box<dyn Database> {
    let mut client = postgres.config().connect(postgres::NoTls).unwrap();
    client.batch_execute("DROP SCHEMA IF EXISTS showdown CASCADE").unwrap();
    boxed(postgres.open())
}

fn in_memory() -> Box<dyn Database> {
    boxed(Sqlite::in_memory().unwrap())
}

#[test]
fn the_same_steps_have_the_same_answers() {
    let step = (0_u8..25, 1_u64..8, 0_u64..8).prop_map(|(verb, a, b)| Step { verb, a, b });
    let steps = prop::collection::vec(step, 1..80);
    let config = |cases| ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let on_sqlite = TestRunner::new(config(48)).run(&steps, |steps| {
        conforms(&mut in_memory(), &steps);
        Ok(())
    });
    on_sqlite.unwrap();
    let postgres = TestPostgres::start();
    let on_postgres = TestRunner::new(config(24)).run(&steps, |steps| {
        conforms(&mut emptied(&postgres), &steps);
        Ok(())
    });
    on_postgres.unwrap();
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
fn lines_after(rows: &mut dyn Transaction, after: (u64, u64), most: u32) -> Result<String, StoreError> {
    let lines = rows.lines_after(1, after, most)?;
    Ok(lines.into_iter().map(|line| line.line).collect::<Vec<_>>().join(", "))
}

#[test]
fn lines_are_kept_in_order_and_read_from_any_place() {
    every_store(|store| {
        let done: Result<(), StoreError> = store.transact(|rows| {
            take(rows, &Step { verb: 0, a: 1, b: 0 });
            for (token, first, count) in [(3, 1, 2), (3, 3, 1), (5, 1, 2)] {
                let lines: Vec<String> =
                    (0..count).map(|line| format!("{token}: {}", first + line)).collect();
                rows.append_lines(1, token, first, &lines)?;
            }
            assert_eq!((rows.last_seq(1, 3)?, rows.last_seq(1, 4)?), (3, 0));
            assert_eq!(lines_after(rows, (0, 0), 100)?, "3: 1, 3: 2, 3: 3, 5: 1, 5: 2");
            assert_eq!(lines_after(rows, (3, 2), 100)?, "3: 3, 5: 1, 5: 2");
            assert_eq!(lines_after(rows, (3, 1), 2)?, "3: 2, 3: 3");
            Ok(())
        });
        done.unwrap();
    });
}

#[test]
fn a_secret_is_valid_for_its_kind_and_time_and_a_link_once() {
    every_store(|store| {
        let done: Result<(), StoreError> = store.transact(|rows| {
            rows.put_secret(&[7; 32], SecretKind::Link, "alice", 1000)?;
            assert_eq!(rows.secret(&[7; 32], SecretKind::Link, 999)?.as_deref(), Some("alice"));
            assert_eq!(rows.secret(&[7; 32], SecretKind::Link, 1000)?, None, "it has lapsed");
            assert_eq!(rows.secret(&[7; 32], SecretKind::Person, 0)?, None, "it is for something else");
            assert_eq!((rows.remove_secret(&[7; 32])?, rows.remove_secret(&[7; 32])?), (true, false));
            for (digest, name, until) in [([1; 32], "bob", 5), ([2; 32], "bob", 50), ([3; 32], "Ada", 50)] {
                rows.put_secret(&digest, SecretKind::Token, name, until)?;
            }
            assert_eq!(rows.names_of_secrets(SecretKind::Token)?, ["Ada", "bob"]);
            rows.remove_lapsed_secrets(5)?;
            let left = (
                rows.remove_secrets(SecretKind::Token, "bob")?,
                rows.remove_secrets(SecretKind::Login, "Ada")?,
            );
            assert_eq!(left, (1, 0));
            Ok(())
        });
        done.unwrap();
    });
}

#[test]
fn notes_deletions_and_the_audit_are_kept() {
    every_store(|store| {
        let done: Result<(), StoreError> = store.transact(|rows| {
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
            let newest = rows.audits(None, 1)?.remove(0);
            assert_eq!(
                (newest.unix_ms, newest.author.as_str(), newest.what.as_str()),
                (2, "alice", "second")
            );
            assert_eq!(rows.audits(Some(newest.id), 10)?.len(), 1);
            Ok(())
        });
        done.unwrap();
    });
}

#[test]
fn accounts_and_the_owners_of_controllers_are_kept() {
    every_store(|store| {
        let done: Result<(), StoreError> = store.transact(|rows| {
            let account =
                |name: &str, role| Account { name: name.to_owned(), role, hash: "$x".to_owned(), unix_ms: 3 };
            rows.put_account(&account("bob", Role::Viewer))?;
            rows.put_account(&account("Ada", Role::Admin))?;
            rows.put_account(&account("bob", Role::Closed))?;
            assert_eq!(rows.accounts()?, [account("Ada", Role::Admin), account("bob", Role::Closed)]);
            assert_eq!(
                (rows.account("bob")?, rows.account("nobody")?),
                (Some(account("bob", Role::Closed)), None)
            );
            rows.put_controller_owner("c", "first")?;
            rows.put_controller_owner("c", "second")?;
            assert_eq!(rows.controller_owner("c")?.as_deref(), Some("second"));
            Ok(())
        });
        done.unwrap();
    });
}

#[test]
fn views_are_kept_for_their_owner() {
    every_store(|store| {
        let done: Result<(), StoreError> = store.transact(|rows| {
            let nightly = ArchiveSearch { text: Some("a \"b\" 'c'".to_owned()), ..Default::default() };
            let first = rows.add_view("ada", "nightly", &nightly, 7)?;
            let second = rows.add_view("ada", "Kernel", &ArchiveSearch::default(), 8)?;
            rows.add_view("bob", "nightly", &ArchiveSearch::default(), 9)?;
            let kernel =
                SavedView { id: second, name: "Kernel".to_owned(), search: <_>::default(), unix_ms: 8 };
            let mut view = SavedView { id: first, name: "nightly".to_owned(), search: nightly, unix_ms: 7 };
            assert_eq!(rows.views("ada")?, [kernel, view.clone()]);
            view.name = "daily".to_owned();
            view.search.tags.push("a tag".to_owned());
            assert_eq!((rows.put_view("bob", &view)?, rows.put_view("ada", &view)?), (false, true));
            assert_eq!((rows.remove_view("bob", second)?, rows.remove_view("ada", second)?), (false, true));
            assert_eq!((rows.views("ada")?, rows.views("")?), (vec![view], vec![]));
            let third = rows.add_view("ada", "Kernel", &ArchiveSearch::default(), 8)?;
            rows.remove_view("ada", third)?;
            assert!(rows.add_view("ada", "Kernel", &ArchiveSearch::default(), 8)? > third, "no number twice");
            Ok(())
        });
        done.unwrap();
    });
}

#[test]
fn ends_and_durations_are_found_again_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("queue.sqlite");
    is_found_again(|| boxed(Sqlite::open(&path).unwrap()));
    let postgres = TestPostgres::start();
    is_found_again(|| boxed(postgres.open()));
}

fn is_found_again(open: impl Fn() -> Box<dyn Database>) {
    let written: Result<(), StoreError> = open().transact(|rows| {
        for (verb, a, b) in [(4, 0, 0), (0, 0, 0), (5, 0, 0), (9, 1, 1), (20, 1, 1), (12, 1, 1)] {
            take(rows, &Step { verb, a, b });
        }
        rows.put_plan(1, "the plan")
    });
    written.unwrap();
    let read: Result<(), StoreError> = open().transact(|rows| {
        assert_eq!((rows.ended(None, 10)?.len(), rows.ended(Some(1), 10)?.len()), (1, 0));
        assert_eq!(rows.former_runs(&["q", "another"], 10)?.len(), 1);
        assert_eq!(rows.plan(1)?.as_deref(), Some("the plan"));
        assert_eq!(rows.entry_of_run(RUN)?.map(|entry| entry.id), Some(1));
        Ok(())
    });
    read.unwrap();
}

#[test]
fn work_that_is_done_together_is_kept_or_undone_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let postgres = TestPostgres::start();
    let path = folder.path().join("queue.sqlite");
    for mut database in [boxed(Sqlite::open(&path).unwrap()), boxed(postgres.open())] {
        let submit = |a: u64, is_kept: bool| {
            move |rows: &mut dyn Transaction| {
                take(rows, &Step { verb: 0, a, b: 0 });
                // A number that is there already fails within the database.
                let fails = !is_kept && rows.put_plan(99, "of no entry").is_err();
                is_kept || !fails
            }
        };
        let (mut first, mut second, mut third) = (submit(1, true), submit(2, false), submit(3, true));
        let mut ended = Vec::new();
        database.attempt_all(&mut [&mut first, &mut second, &mut third], &mut |index, done| {
            ended.push((index, done.is_ok()));
        });
        assert_eq!(ended, [(0, true), (1, true), (2, true)]);
        let read: Result<(), StoreError> = database.transact(|rows| {
            let titles: Vec<_> =
                rows.entries(&[EntryState::Waiting])?.into_iter().map(|entry| entry.title).collect();
            assert_eq!(titles, ["compare 1", "compare 3"], "the second one is undone");
            Ok(())
        });
        read.unwrap();
    }
}

#[test]
fn a_page_of_the_queue_is_read_in_its_order_and_what_is_before_it_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let postgres = TestPostgres::start();
    let path = folder.path().join("queue.sqlite");
    for mut database in [boxed(Sqlite::open(&path).unwrap()), boxed(postgres.open())] {
        let read: Result<(), StoreError> = database.transact(|rows| {
            for a in 1..=7 {
                take(rows, &Step { verb: 0, a, b: 0 });
            }
            let all = rows.in_order_after(EntryState::Waiting, None, 10)?;
            let first = rows.in_order_after(EntryState::Waiting, None, 3)?;
            let second = rows.in_order_after(EntryState::Waiting, first.last(), 10)?;
            assert_eq!((first.len(), all.len()), (3, 7));
            assert_eq!([first, second].concat(), all);
            assert_eq!(rows.count_before(EntryState::Waiting, all.get(4))?, 4);
            assert_eq!(rows.count_before(EntryState::Waiting, None)?, 7);
            assert_eq!(rows.count_before(EntryState::Paused, None)?, 0);
            Ok(())
        });
        read.unwrap();
    }
}

#[test]
fn a_database_that_was_away_is_used_again_and_has_what_was_done() {
    let mut postgres = TestPostgres::start();
    let mut store = postgres.open();
    let submit = Step { verb: 0, a: 1, b: 0 };
    store.transact(|rows| Ok::<_, StoreError>(take(rows, &submit))).unwrap();
    postgres.stop();
    let away = store.transact(|rows| Ok::<_, StoreError>(all(rows))).unwrap_err();
    assert!(matches!(away, StoreError::Away(_)), "{away}");
    assert_eq!(away.to_string().lines().count(), 1, "{away}");
    assert!(!away.to_string().contains(database::PASSWORD), "{away}");
    postgres.serve();
    // The one that has failed just now is not tried again at once.
    while let Err(StoreError::Away(_)) = store.transact(|rows| Ok::<_, StoreError>(all(rows))) {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let entries = store.transact(|rows| rows.entries(&EntryState::ALL)).unwrap();
    assert_eq!(entries.len(), 1);
}

#[test]
fn a_server_that_stops_in_the_middle_of_a_transaction_does_not_stop_another_one() {
    let postgres = TestPostgres::start();
    let (mut stopped, mut other) = (postgres.open(), postgres.open());
    let (begun, has_begun) = std::sync::mpsc::channel();
    let (done, is_done) = std::sync::mpsc::channel();
    let submit = &Step { verb: 0, a: 1, b: 0 };
    std::thread::scope(|scope| {
        let middle = scope.spawn(move || {
            stopped.transact(|rows| {
                take(rows, submit);
                begun.send(()).unwrap();
                // The other one can end only when the database has ended this transaction.
                is_done.recv().unwrap();
                Ok::<_, StoreError>(())
            })
        });
        has_begun.recv().unwrap();
        let answer = other.transact(|rows| Ok::<_, StoreError>(take(rows, submit)));
        done.send(()).unwrap();
        assert!(answer.is_ok(), "{answer:?}");
        assert!(matches!(middle.join().unwrap(), Err(StoreError::Away(_))));
    });
    let entries = other.transact(|rows| rows.entries(&EntryState::ALL)).unwrap();
    assert_eq!(entries.len(), 1, "nothing of the one that stopped is there");
}

#[test]
fn a_server_sees_what_another_one_changes_and_a_later_version_is_refused() {
    let postgres = TestPostgres::start();
    let (mut first, mut second) = (postgres.open(), postgres.open());
    let changes = second.follow().unwrap();
    let (told, heard) = std::sync::mpsc::channel();
    // The thread ends with the test.
    std::thread::spawn(move || {
        changes.tell(move |entry| {
            let _ = told.send(entry);
        });
    });
    first.transact(|rows| Ok::<_, StoreError>(take(rows, &Step { verb: 0, a: 1, b: 0 }))).unwrap();
    assert_eq!(heard.recv().unwrap(), 1);
    let mut client = postgres.config().connect(postgres::NoTls).unwrap();
    client.batch_execute("DROP TABLE showdown.saved_view; UPDATE showdown.version SET version = 1").unwrap();
    let views = postgres.open().transact(|rows| rows.views("")).unwrap();
    assert_eq!(views, [], "an earlier database is brought up to date");
    client.batch_execute("UPDATE showdown.version SET version = 99").unwrap();
    assert!(matches!(Postgres::open(postgres.config()), Err(StoreError::Later { found: 99, .. })));
}

#[test]
fn an_earlier_file_is_brought_up_to_date() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("queue.sqlite");
    drop(Sqlite::open(&path).unwrap());
    let old = rusqlite::Connection::open(&path).unwrap();
    old.execute_batch(
        "DROP TABLE saved_view; DROP TABLE account; DROP TABLE controller_owner; DROP INDEX secret_name; PRAGMA user_version = 1",
    )
    .unwrap();
    old.execute("INSERT INTO secret VALUES (x'00', 'controller', 'controller', 9)", []).unwrap();
    drop(old);
    let mut store = Sqlite::open(&path).unwrap();
    let found = store.transact(|rows| {
        let views = rows.views("")?;
        Ok::<_, StoreError>((rows.accounts()?, rows.names_of_secrets(SecretKind::Controller)?, views))
    });
    assert_eq!(found.unwrap(), (vec![], vec![], vec![]));
}
