//! Two servers of one PostgreSQL database, one of which is killed; and a database that goes away for a while.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use harness::secrets::digest;
use harness::store::{Database, SecretKind, StoreError};
use queue::EntryState;
use queue::api::ServerFile;
use serde_json::{Value, json};

use crate::database::{PASSWORD, TestPostgres};
use crate::home::{Home, try_call};

/// How long a test waits on a busy machine.
const PATIENCE: Duration = Duration::from_mins(4);

const SECRET: &str = "the secret of all controllers of the test";
const ENTRIES: usize = 40;

fn home_of(postgres: &TestPostgres) -> Home {
    let mut home = Home::empty();
    home.environment.push(("PGPASSFILE", postgres.password_file().display().to_string()));
    home.start_server(&["--no-controller", "--database", &postgres.url()]);
    home
}

/// What the controllers of the test have been told.
#[derive(Default)]
struct Told {
    /// The claims of each entry: tokens.
    claims: Mutex<BTreeMap<u64, BTreeSet<u64>>>,
    /// How often the beginning of each entry was acknowledged.
    begun: Mutex<BTreeMap<u64, u32>>,
    ended: AtomicU32,
    is_over: AtomicBool,
}

/// A controller that takes entries, begins them and ends them without an answer. It calls the server that answers.
fn take_entries(number: usize, servers: &[ServerFile], told: &Told) {
    let (mut at, mut boot) = (number % servers.len(), 0);
    let id = format!("c{number}");
    while !told.is_over.load(Ordering::Relaxed) {
        // A call that has no answer begins anew, as a controller that was started again: what it had before is not its own any more.
        boot += 1;
        let new = json!({ "id": id, "boot": boot.to_string(), "name": id, "host": format!("m{number}"), "version": "0", "rules": "all" });
        let is_registered = matches!(try_call(&servers[at], "POST", "controllers", &new), Some((204, _)));
        while is_registered && take_one(&servers[at], &id, boot, number, told).is_some() {
            if told.is_over.load(Ordering::Relaxed) {
                return;
            }
        }
        at = (at + 1) % servers.len();
        thread::sleep(Duration::from_millis(20));
    }
}

/// One entry, if there is one; none where the server does not answer, or refuses.
fn take_one(server: &ServerFile, id: &str, boot: u32, number: usize, told: &Told) -> Option<()> {
    let asks = json!({ "controller": { "id": id, "boot": boot.to_string() } });
    let (200, answer) = try_call(server, "POST", "claims", &asks)? else { return None };
    for host in answer["quarantined"].as_array().into_iter().flatten() {
        assert_eq!(*host, json!(format!("m{number}")));
        try_call(server, "POST", &format!("hosts/m{number}/clean"), &json!({ "reason": "the test" }))?;
    }
    let Some(entry) = answer["work"]["attempt"]["entry"].as_u64() else {
        thread::sleep(Duration::from_millis(20));
        return Some(());
    };
    let token = answer["work"]["attempt"]["token"].as_u64().expect("a token");
    let is_new = told.claims.lock().expect("a lock").entry(entry).or_default().insert(token);
    assert!(is_new, "entry {entry} was given away twice with token {token}");
    let path = format!("attempts/{entry}");
    let (200, _) = try_call(server, "POST", &path, &json!({ "token": token, "begins": true }))? else {
        return None;
    };
    *told.begun.lock().expect("a lock").entry(entry).or_default() += 1;
    let ends = json!({ "token": token, "ends": { "outcome": "failed", "reason": "the test" } });
    let (200, _) = try_call(server, "POST", &path, &ends)? else { return None };
    told.ended.fetch_add(1, Ordering::Relaxed);
    Some(())
}

#[test]
fn two_servers_give_each_entry_away_once_and_one_is_killed_meanwhile() {
    let postgres = TestPostgres::start();
    let (first, mut second) = (home_of(&postgres), home_of(&postgres));
    let put: Result<(), StoreError> = postgres
        .open()
        .transact(|rows| rows.put_secret(&digest(SECRET), SecretKind::Controller, "all", i64::MAX as u64));
    put.expect("a secret");
    let plan = fs::read_to_string(first.plan(3)).expect("a plan");
    for number in 0..ENTRIES {
        let home = if number % 2 == 0 { &first } else { &second };
        let submitted = home.call("POST", "entries", &json!({ "plan": plan, "key": format!("n{number}") }));
        assert_eq!(submitted.0, 201, "{submitted:?}");
    }
    let mut servers = Vec::new();
    for home in [&first, &second] {
        servers.push(ServerFile { url: home.server().url, token: SECRET.to_owned() });
    }
    let told = Told::default();
    let is_ended = |entry: &Value| {
        !["waiting", "claimed", "running"].contains(&entry["state"].as_str().expect("a state"))
    };
    let mut all = Vec::new();
    thread::scope(|scope| {
        for number in 0..4 {
            let (servers, told) = (&servers, &told);
            scope.spawn(move || take_entries(number, servers, told));
        }
        let deadline = Instant::now() + PATIENCE;
        let mut is_killed = false;
        loop {
            if !is_killed && told.ended.load(Ordering::Relaxed) > 8 {
                second.kill_server();
                is_killed = true;
            }
            let list = first.call("GET", "entries?all=true", &Value::Null).1;
            all.clone_from(list["entries"].as_array().expect("entries"));
            if is_killed && all.iter().all(is_ended) {
                break;
            }
            if Instant::now() > deadline {
                told.is_over.store(true, Ordering::Relaxed);
                panic!("{all:?}");
            }
            thread::sleep(Duration::from_millis(20));
        }
        told.is_over.store(true, Ordering::Relaxed);
    });
    assert_eq!(all.len(), ENTRIES, "no entry vanishes, and none is doubled");
    let mut tokens = BTreeSet::new();
    for (entry, of_entry) in told.claims.into_inner().expect("a lock") {
        for token in of_entry {
            assert!(tokens.insert(token), "token {token} of entry {entry} was another one's, too");
        }
    }
    for (entry, times) in told.begun.into_inner().expect("a lock") {
        assert_eq!(times, 1, "entry {entry} has begun more than once");
    }
    let hosts = first.call("GET", "hosts", &Value::Null).1;
    for host in hosts["hosts"].as_array().expect("hosts") {
        assert_ne!(host["state"], "leased", "{host}");
    }
}

#[test]
fn a_database_that_goes_away_is_told_in_one_line_and_costs_nothing() {
    let mut postgres = TestPostgres::start();
    let home = home_of(&postgres);
    let id = home.submit(&home.plan(3));
    postgres.stop();
    let deadline = Instant::now() + PATIENCE;
    let log = || fs::read_to_string(home.log()).expect("a log");
    let (status, answer) = home.call("GET", "entries", &Value::Null);
    assert_eq!(status, 503);
    assert!(answer["error"].as_str().is_some_and(|why| why.contains("goes on when it is back")), "{answer}");
    while !log().contains("does not answer") {
        assert!(Instant::now() < deadline, "{}", log());
        thread::sleep(Duration::from_millis(50));
    }
    // Some more looks, which say nothing new.
    thread::sleep(Duration::from_secs(3));
    postgres.serve();
    while !log().contains("the database answers again") {
        assert!(Instant::now() < deadline, "{}", log());
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(log().lines().count(), 2, "{}", log());
    assert_eq!(home.entry(id).state, EntryState::Waiting);
    assert!(!log().contains(PASSWORD));
}

#[test]
fn the_password_of_the_database_is_in_no_command_line_and_not_the_controllers() {
    let postgres = TestPostgres::start();
    let mut home = Home::empty();
    let with_password =
        postgres.url().replacen("postgres://", &format!("postgres://showdown:{PASSWORD}@"), 1);
    let refused = home.run(&["serve", "--database", &with_password.replace("&user=showdown", "")]);
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && message.contains("PGPASSWORD") && !message.contains(PASSWORD),
        "{message}"
    );
    home.environment.push(("PGPASSWORD", PASSWORD.to_owned()));
    home.start_server(&["--database", &postgres.url()]);
    let deadline = Instant::now() + PATIENCE;
    while home.processes("showdown-harness controller").is_empty() {
        assert!(Instant::now() < deadline);
        thread::sleep(Duration::from_millis(50));
    }
    for pid in home.processes("showdown") {
        let line = fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&line).contains(PASSWORD));
    }
    for pid in home.processes("showdown-harness controller") {
        let environment = fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero())).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&environment).contains(PASSWORD));
    }
}
