//! `showdown load` against MariaDB and PostgreSQL as they are installed: tables are made once, what went wrong is
//! said, and what a server breaks off is counted and done anew.
//!
//! Whether a measurement is valid depends on the machine that runs the tests, so nothing here asserts that.

mod database;

use std::process::Output;
use std::time::Duration;

use serde_json::Value;

use database::Database;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn answer(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
}

fn counter(answer: &Value, name: &str) -> u64 {
    answer["counters"][name].as_u64().unwrap_or_else(|| panic!("no counter {name}: {answer}"))
}

/// Every statement of every transaction is carried out, and finds what it asks for.
fn every_transaction_is_whole(database: &Database) {
    let tables = ["--tables", "2", "--rows", "1500", "-c", "4", "--seed", "1"];
    let first = [&["-n", "50", "--transaction", "read-write", "--populate"], &tables[..]].concat();
    let done = answer(&database.load(&first));
    assert_eq!((&done["requests"], &done["failed"]), (&50.into(), &0.into()), "{done}");
    // 18 statements each; those that were broken off come on top.
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
    // Most draws fall on the fifteen rows in the middle of each table, and a row is deleted once.
    assert!(counter(&done, "missed") > 0, "{done}");

    // Only those who know that rows are missing take it for granted.
    let args =
        [&["-n", "400", "--transaction", "point-select", "--key-skew", "special"], &tables[..]].concat();
    let done = answer(&database.load(&args));
    assert!(
        done["error_examples"]["unexpected_reply"].as_str().is_some_and(|e| e.contains("populated")),
        "{done}"
    );
}

fn mistakes_are_told(database: &Database) {
    let said = |output: Output| {
        assert!(!output.status.success());
        text(&output.stderr)
    };
    let small = ["--rows", "10", "-n", "1", "-c", "1"];
    // One query beside other tests may be called starved, which is no mistake.
    let filled = database.load(&[&small[..], &["--populate"]].concat());
    assert!(matches!(filled.status.code(), Some(0 | 3)), "{}", text(&filled.stderr));
    let again = said(database.load(&[&small[..], &["--populate"]].concat()));
    assert!(again.contains("table sbtest1 exists already: drop it"), "{again}");

    let wrong = said(Database::showdown(&database.url, "wrong", &small).output().expect("showdown runs"));
    assert!(wrong.contains("no login as showdown") && wrong.contains("check user, database"), "{wrong}");
    let (server, _) = database.url.rsplit_once('/').expect("a path");
    let missing = format!("{server}/nowhere");
    let missing =
        said(Database::showdown(&missing, database::PASSWORD, &small).output().expect("showdown runs"));
    assert!(missing.contains("nowhere"), "{missing}");
    let more = said(database.load(&["--tables", "7", "-n", "1", "-c", "1"]));
    assert!(more.contains("sbtest"), "{more}");

    // Another protocol's server is known by its first words.
    let other = if database.url.starts_with("mysql") {
        database.url.replace("mysql://", "postgres://")
    } else {
        database.url.replace("postgres://", "mysql://")
    };
    let args = [&small[..], &["--timeout", "1s"]].concat();
    let other = said(Database::showdown(&other, database::PASSWORD, &args).output().expect("showdown runs"));
    assert!(other.contains("could be opened"), "{other}");
}

/// Sixteen connections change two rows: most transactions wait for each other.
fn a_storm_of_deadlocks_is_counted(database: &Database) {
    let args = ["--rows", "2", "--transaction", "write-only", "-c", "16", "-n", "400", "--populate"];
    let done = answer(&database.load(&args));
    assert_eq!((&done["requests"], &done["failed"]), (&400.into(), &0.into()), "{done}");
    let kinds = ["deadlocks", "lock_timeouts", "serialization_failures", "duplicates"];
    let broken_off: u64 = kinds.iter().map(|kind| counter(&done, kind)).sum();
    assert!(broken_off > 0 && counter(&done, "retries") == broken_off, "{done}");
}

fn a_server_that_dies_is_an_error_and_no_silence(mut database: Database) {
    let args = ["--rows", "1000", "--transaction", "read-write", "-c", "4", "-d", "3s", "--populate"];
    let load = database.start_load(&args);
    // Populating a thousand rows takes far less.
    std::thread::sleep(Duration::from_millis(1_500));
    database.kill();
    let output = load.wait_with_output().expect("showdown ends");
    assert!(!output.status.success());
    let done = answer(&output);
    assert!(done["requests"].as_u64() > Some(0) && done["failed"].as_u64() > Some(0), "{done}");
    assert_eq!(done["valid"], Value::Bool(false));
}

#[test]
fn mariadb_carries_out_every_transaction() {
    every_transaction_is_whole(&Database::mariadb());
}

#[test]
fn postgres_carries_out_every_transaction() {
    every_transaction_is_whole(&Database::postgres());
}

#[test]
fn mistakes_with_mariadb_are_told() {
    mistakes_are_told(&Database::mariadb());
}

#[test]
fn mistakes_with_postgres_are_told() {
    mistakes_are_told(&Database::postgres());
}

#[test]
fn deadlocks_of_mariadb_are_counted() {
    a_storm_of_deadlocks_is_counted(&Database::mariadb());
}

#[test]
fn deadlocks_of_postgres_are_counted() {
    a_storm_of_deadlocks_is_counted(&Database::postgres());
}

#[test]
fn mariadb_may_die() {
    a_server_that_dies_is_an_error_and_no_silence(Database::mariadb());
}

#[test]
fn postgres_may_die() {
    a_server_that_dies_is_an_error_and_no_silence(Database::postgres());
}
