//! What a server keeps of a controller elsewhere: its id, and its runs, whatever became of them.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::thread;
use std::time::{Duration, Instant};

use queue::EntryState;
use serde_json::{Value, json};

use crate::home::{Home, PATIENCE, call};

/// A controller as a server sees it.
fn new(boot: &str, host: &str) -> Value {
    json!({ "id": "c", "boot": boot, "name": "c", "host": host, "version": "0", "rules": "all" })
}

/// A submitted entry whose run has begun on a machine elsewhere; its number and its token.
fn begun(home: &Home, plan: &str) -> (u64, u64) {
    let entry = home.submit(plan);
    let server = home.for_controllers();
    assert_eq!(call(&server, "POST", "controllers", &new("1", "m")).0, 204);
    let claimed = call(&server, "POST", "claims", &json!({ "controller": { "id": "c", "boot": "1" } })).1;
    let token = claimed["work"]["attempt"]["token"].as_u64().expect("a token");
    let begins = json!({ "token": token, "begins": true });
    assert_eq!(call(&server, "POST", &format!("attempts/{entry}"), &begins).0, 200);
    (entry, token)
}

/// A made-up run in another directory than the server's: its id, and the packed run.
fn packed(home: &Home, number: u32) -> (String, File) {
    let elsewhere = home.dir.path().join("elsewhere");
    let id = archive::example::one_of_many(&elsewhere, number).expect("a run");
    let mut file = tempfile::tempfile().expect("a file");
    archive::Archive::new(&elsewhere).export(&id, &mut file).expect("a packed run");
    file.rewind().expect("a file");
    (id.to_string(), file)
}

/// Sends a packed run; the status.
fn send(home: &Home, (entry, token): (u64, u64), body: &mut impl Read) -> u16 {
    let server = home.for_controllers();
    let config = ureq::Agent::config_builder().http_status_as_error(false).build();
    let agent: ureq::Agent = config.into();
    let request = agent
        .put(format!("{}/api/v1/attempts/{entry}/bundle?token={token}", server.url))
        .header("authorization", format!("Bearer {}", server.token));
    request.send(ureq::SendBody::from_reader(body)).expect("an answer").status().as_u16()
}

#[test]
fn a_copy_of_a_machine_is_refused_with_the_remedy() {
    let home = Home::without_controller();
    let server = home.for_controllers();
    assert_eq!(call(&server, "POST", "controllers", &new("1", "m")).0, 204);
    let (status, answer) = call(&server, "POST", "controllers", &new("2", "copy"));
    let why = answer["error"].as_str().expect("a reason");
    assert!(status == 409 && why.contains("controller.id") && why.contains("copy of m"), "{answer}");
    assert_eq!(call(&server, "POST", "controllers", &new("2", "m")).0, 204, "it was started again");
}

#[test]
fn a_run_without_an_answer_is_stored_too_and_its_entry_keeps_its_state() {
    let home = Home::without_controller();
    let plan = home.plan(3);
    let (stopped, failed) = (EntryState::Cancelled, EntryState::Failed);
    for (number, (outcome, state)) in [("stopped", stopped), ("failed", failed)].into_iter().enumerate() {
        let attempt = begun(&home, &plan);
        let (run, mut file) = packed(&home, u32::try_from(number).expect("a number"));
        let ends = json!({
            "token": attempt.1, "run": run, "ends": { "outcome": outcome, "reason": "the test" },
        });
        let path = format!("attempts/{}", attempt.0);
        let server = home.for_controllers();
        let ended = call(&server, "POST", &path, &ends);
        assert_eq!((ended.0, &ended.1["wants_bundle"]), (200, &json!(true)), "{ended:?}");
        assert_eq!(home.call("GET", "hosts", &Value::Null).1["hosts"][0]["state"], "free");
        assert_eq!(send(&home, attempt, &mut file), 204);
        let entry = home.entry(attempt.0);
        assert_eq!(entry.state, state);
        assert_eq!((entry.run.as_deref(), entry.reason.as_deref()), (Some(run.as_str()), Some("the test")));
        assert!(home.runs().join(&run).join("plan.toml").is_file(), "it is in the archive");
        let again = call(&server, "POST", &path, &ends);
        assert_eq!((again.0, &again.1["wants_bundle"]), (200, &json!(false)), "{again:?}");
        file.rewind().expect("a file");
        assert_eq!(send(&home, attempt, &mut file), 409, "nothing more is taken");
    }
}

/// A packed run that comes in small parts, until its lease was renewed twice meanwhile.
struct Slow<'a> {
    home: &'a Home,
    entry: u64,
    counter: u64,
    file: File,
    until: Instant,
}

impl Read for Slow<'_> {
    fn read(&mut self, part: &mut [u8]) -> io::Result<usize> {
        if self.home.entry(self.entry).counter >= self.counter + 3 {
            return self.file.read(part);
        }
        assert!(Instant::now() < self.until, "nothing renews the lease");
        thread::sleep(Duration::from_millis(100));
        self.file.read(&mut part[..1])
    }
}

#[test]
fn a_run_that_is_sent_slowly_keeps_its_lease() {
    let home = Home::without_controller();
    let attempt = begun(&home, &home.plan(3));
    let (run, file) = packed(&home, 1);
    let ends = json!({ "token": attempt.1, "run": run, "ends": { "outcome": "answered" } });
    let ended = call(&home.for_controllers(), "POST", &format!("attempts/{}", attempt.0), &ends);
    assert_eq!(ended.1["wants_bundle"], true, "{ended:?}");
    // The first renewal is the begin of the run.
    let counter = home.entry(attempt.0).counter;
    let mut slow = Slow { home: &home, entry: attempt.0, counter, file, until: Instant::now() + PATIENCE };
    assert_eq!(send(&home, attempt, &mut slow), 204);
    assert_eq!(home.entry(attempt.0).state, EntryState::Done);
}
