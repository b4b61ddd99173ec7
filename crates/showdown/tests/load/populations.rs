//! How many users a server carries: `load --scenario … --find-capacity`.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use crate::client::load;
use crate::misbehaving::serve;

/// The time of the server for a request. It serves one at a time.
const SERVICE: Duration = Duration::from_millis(20);
static TURN: Mutex<()> = Mutex::new(());

fn one_at_a_time(mut stream: TcpStream) {
    let mut request = [0; 4_096];
    while stream.read(&mut request).is_ok_and(|count| count > 0) {
        let turn = TURN.lock().expect("a turn");
        thread::sleep(SERVICE);
        drop(turn);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
    }
}

/// Users who each use a tenth of the server: ten are as many as it can carry, on any machine.
const USERS: &str =
    "[load.users]\ncount = 4\ndelay = { cycle = \"200ms\" }\n[[load.op]]\nname = \"home\"\npath = \"/\"\n";

#[test]
fn the_most_users_of_a_server_are_searched() {
    let folder = tempfile::tempdir().expect("a directory");
    let scenario = folder.path().join("users.toml");
    std::fs::write(&scenario, USERS).expect("a file");
    let scenario = scenario.display().to_string();
    let url = format!("http://{}/", serve(one_at_a_time));
    let search = ["--find-capacity", "p50<5s", "-d", "2s", "--warmup", "200ms", "--format", "json"];
    let ended = load(&[&[&url[..], "--scenario", &scenario], &search[..]].concat());
    assert!(matches!(ended.code(), 0 | 3), "{ended:?}");
    let found = ended.json();
    let size = |part: &str| found[part]["users"].as_u64();
    let (carried, missed) = (size("carried"), size("missed").expect("no machine carries more than ten"));
    assert!(carried.is_none_or(|carried| carried <= 11 && carried < missed), "{found}");
    let steps = found["steps"].as_array().expect("loads");
    assert!(steps.iter().any(|step| step["users"] == 4), "the search begins with the users of the file");
    for step in steps {
        assert_eq!(step["is_carried"], step["missed"].as_array().is_some_and(Vec::is_empty), "{step}");
    }
}

#[test]
fn a_search_for_visits_needs_one_rate_to_begin_with() {
    let folder = tempfile::tempdir().expect("a directory");
    let scenario = folder.path().join("visits.toml");
    let visits = USERS.replace("count = 4", "arrivals = \"poisson:1,2/10s\"\nleave = 50");
    std::fs::write(&scenario, visits).expect("a file");
    let scenario = scenario.display().to_string();
    let ended =
        load(&["http://127.0.0.1:1/", "--scenario", &scenario, "--find-capacity", "p99<1s", "-d", "1s"]);
    assert_eq!(ended.code(), 2, "{ended:?}");
    assert!(ended.stderr.contains("give one rate to begin with"), "{ended:?}");
}
