//! `showdown load` against MariaDB and PostgreSQL: tables are created once, mistakes are reported, and transactions that
//! the server aborts are counted and retried.
//!
//! A busy machine can make any measurement invalid, so no test asserts that one is valid.

mod database;

use std::io::{BufRead, BufReader};
use std::process::Output;

use serde_json::Value;

use database::TestDatabase;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn answer(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
}

fn counter(answer: &Value, name: &str) -> u64 {
    answer["counters"][name].as_u64().unwrap_or_else(|| panic!("no counter {name}: {answer}"))
}

/// Asserts that every statement of every transaction runs and finds its rows.
fn assert_transactions_are_whole(database: &TestDatabase) {
    let tables = ["--tables", "2", "--rows", "1500", "-c", "4", "--seed", "1"];
    let first = [&["-n", "50", "--transaction", "read-write", "--populate"], &tables[..]].concat();
    let done = answer(&database.load(&first));
    assert_eq!((&done["requests"], &done["failed"]), (&50.into(), &0.into()), "{done}");
    // 18 statements in each transaction; those of aborted transactions are added.
    let expected = 50 * 18;
    let statements = counter(&done, "statements");
    assert!(statements == expected || (statements > expected && counter(&done, "retries") > 0), "{done}");

    for transaction in
        ["point-select", "read-only", "write-only", "update-index", "update-non-index", "insert"]
    {
        let args = [&["-n", "100", "--transaction", transaction], &tables[..]].concat();
        let done = answer(&database.load(&args));
        assert_eq!((&done["requests"], &done["failed"]), (&100.into(), &0.into()), "{transaction}: {done}");
    }
    let args = [&["-n", "100", "--transaction", "delete", "--key-skew", "special"], &tables[..]].concat();
    let done = answer(&database.load(&args));
    assert_eq!(counter(&done, "found") + counter(&done, "missed"), 100, "{done}");
    // Most keys are among the fifteen rows in the middle of each table, and a row is deleted only once.
    assert!(counter(&done, "missed") > 0, "{done}");

    // A transaction that expects all rows reports the missing ones.
    let args =
        [&["-n", "400", "--transaction", "point-select", "--key-skew", "special"], &tables[..]].concat();
    let done = answer(&database.load(&args));
    assert!(
        done["error_examples"]["unexpected_reply"].as_str().is_some_and(|e| e.contains("populated")),
        "{done}"
    );
}

fn assert_mistakes_are_reported(database: &TestDatabase) {
    let message = |output: Output| {
        assert!(!output.status.success());
        text(&output.stderr)
    };
    let small = ["--rows", "10", "-n", "1", "-c", "1"];
    // The measurement may be invalid on a busy machine.
    let filled = database.load(&[&small[..], &["--populate"]].concat());
    assert!(matches!(filled.status.code(), Some(0 | 3)), "{}", text(&filled.stderr));
    let again = message(database.load(&[&small[..], &["--populate"]].concat()));
    assert!(again.contains("table sbtest1 exists already: drop it"), "{again}");

    let wrong =
        message(TestDatabase::showdown(&database.url, "wrong", &small).output().expect("showdown runs"));
    assert!(wrong.contains("no login as showdown") && wrong.contains("check user, database"), "{wrong}");
    let (server, _) = database.url.rsplit_once('/').expect("a path");
    let missing = format!("{server}/nowhere");
    let missing = message(
        TestDatabase::showdown(&missing, database::PASSWORD, &small).output().expect("showdown runs"),
    );
    assert!(missing.contains("nowhere"), "{missing}");
    let more = message(database.load(&["--tables", "7", "-n", "1", "-c", "1"]));
    assert!(more.contains("sbtest"), "{more}");

    // The first message of a server shows that it speaks another protocol.
    let other = if database.url.starts_with("mysql") {
        database.url.replace("mysql://", "postgres://")
    } else {
        database.url.replace("postgres://", "mysql://")
    };
    let args = [&small[..], &["--timeout", "1s"]].concat();
    let other =
        message(TestDatabase::showdown(&other, database::PASSWORD, &args).output().expect("showdown runs"));
    assert!(other.contains("could be opened"), "{other}");
}

/// Asserts that deadlocks are counted: sixteen connections change two rows, so most transactions wait for each other.
fn assert_deadlocks_are_counted(database: &TestDatabase) {
    let args = ["--rows", "2", "--transaction", "write-only", "-c", "16", "-n", "400", "--populate"];
    let done = answer(&database.load(&args));
    assert_eq!((&done["requests"], &done["failed"]), (&400.into(), &0.into()), "{done}");
    let kinds = ["deadlocks", "lock_timeouts", "serialization_failures", "duplicates"];
    let aborted: u64 = kinds.iter().map(|kind| counter(&done, kind)).sum();
    assert!(aborted > 0 && counter(&done, "retries") == aborted, "{done}");
}

fn assert_a_dead_server_is_an_error(mut database: TestDatabase) {
    let args = ["--rows", "1000", "--transaction", "read-write", "-c", "4"];
    let populated = answer(&database.load(&[&args[..], &["--populate", "-n", "1"]].concat()));
    assert_eq!(populated["failed"], 0, "{populated}");
    let mut load = database.start_load(&[&args[..], &["-d", "5s"]].concat());
    let mut progress = BufReader::new(load.stderr.take().expect("a pipe")).lines().map_while(Result::ok);
    assert!(progress.any(|line| line.contains("\"tick\"")), "a second of the load is over");
    database.kill();
    // The pipe must not fill.
    let rest: Vec<String> = progress.collect();
    let output = load.wait_with_output().expect("showdown ends");
    assert!(!output.status.success(), "{rest:?}");
    let done = answer(&output);
    assert!(done["requests"].as_u64() > Some(0) && done["failed"].as_u64() > Some(0), "{done}");
    assert_eq!(done["valid"], Value::Bool(false));
}

/// Asserts that the same database is loaded through its socket, with the login of the URL and the password of the environment.
fn assert_its_socket_is_loaded(database: &TestDatabase) {
    let url = database.url_of_socket();
    let args = ["--rows", "100", "-c", "2", "-n", "40", "--populate"];
    let output = TestDatabase::showdown(&url, database::PASSWORD, &args).output().expect("showdown runs");
    let done = answer(&output);
    assert_eq!((&done["requests"], &done["failed"]), (&40.into(), &0.into()), "{done}");
    assert!(done["spec"]["socket"].is_string(), "{done}");
    let wrong = TestDatabase::showdown(&url, "wrong", &args).output().expect("showdown runs");
    assert!(text(&wrong.stderr).contains("no login as showdown"), "{}", text(&wrong.stderr));
}

#[test]
fn mariadb_is_loaded_through_its_socket() {
    assert_its_socket_is_loaded(&TestDatabase::mariadb());
}

#[test]
fn postgres_is_loaded_through_its_socket() {
    let database = TestDatabase::postgres();
    assert_its_socket_is_loaded(&database);
}

#[test]
fn mariadb_runs_every_transaction() {
    assert_transactions_are_whole(&TestDatabase::mariadb());
}

#[test]
fn postgres_runs_every_transaction() {
    assert_transactions_are_whole(&TestDatabase::postgres());
}

#[test]
fn mistakes_with_mariadb_are_reported() {
    assert_mistakes_are_reported(&TestDatabase::mariadb());
}

#[test]
fn mistakes_with_postgres_are_reported() {
    assert_mistakes_are_reported(&TestDatabase::postgres());
}

#[test]
fn deadlocks_of_mariadb_are_counted() {
    assert_deadlocks_are_counted(&TestDatabase::mariadb());
}

#[test]
fn deadlocks_of_postgres_are_counted() {
    assert_deadlocks_are_counted(&TestDatabase::postgres());
}

#[test]
fn a_mariadb_that_dies_is_an_error() {
    assert_a_dead_server_is_an_error(TestDatabase::mariadb());
}

#[test]
fn a_postgres_that_dies_is_an_error() {
    assert_a_dead_server_is_an_error(TestDatabase::postgres());
}
