//! Who watches an entry gets each line of its run once and in order; lists of the archive have pages.

use std::io::{BufRead, BufReader};

use queue::api::ServerFile;
use serde_json::{Value, json};

use crate::home::{Home, call};

/// Lines of the run; they are told in calls of several.
const LINES: u64 = 120;

/// The numbers of the lines that a watcher gets, and the events beside them, until the end. It says what it has already.
fn watch(server: &ServerFile, entry: u64, last: Option<&str>) -> (Vec<u64>, Vec<String>) {
    let request = ureq::get(format!("{}/api/v1/entries/{entry}/events", server.url))
        .header("authorization", format!("Bearer {}", server.token));
    let request = match last {
        Some(last) => request.header("last-event-id", last),
        None => request,
    };
    let mut answer = request.call().expect("a stream");
    let (mut numbers, mut others) = (Vec::new(), Vec::new());
    for line in BufReader::new(answer.body_mut().as_reader()).lines() {
        let line = line.expect("text");
        if let Some(name) = line.strip_prefix("event:")
            && name.trim() != "line"
        {
            others.push(name.trim().to_owned());
        }
        if let Some((_, seq)) = line.strip_prefix("id:").and_then(|id| id.split_once('-')) {
            numbers.push(seq.parse().expect("a number"));
        }
    }
    (numbers, others)
}

/// Tells lines of an attempt: from this number on, `count` of them.
fn tell(server: &ServerFile, entry: u64, token: u64, first: u64, count: u64) {
    let lines: Vec<String> = (first..first + count)
        .map(|seq| json!({ "seq": seq, "event": "doing", "what": "a test" }).to_string())
        .collect();
    let path = format!("attempts/{entry}");
    let answer = call(server, "POST", &path, &json!({ "token": token, "lines": lines }));
    assert_eq!((answer.0, &answer.1["next_seq"]), (200, &json!(first + count)), "{answer:?}");
}

#[test]
fn each_line_of_a_run_reaches_each_watcher_once_and_in_order() {
    let home = Home::without_controller();
    let entry = home.submit(&home.plan(3));
    let (person, server) = (home.server(), home.for_controllers());
    let new = json!({ "id": "c", "boot": "1", "name": "c", "host": "m", "version": "0", "rules": "all" });
    assert_eq!(call(&server, "POST", "controllers", &new).0, 204);
    let claimed = call(&server, "POST", "claims", &json!({ "controller": { "id": "c", "boot": "1" } })).1;
    let token = claimed["work"]["attempt"]["token"].as_u64().expect("a token");
    let path = format!("attempts/{entry}");
    assert_eq!(call(&server, "POST", &path, &json!({ "token": token, "begins": true })).0, 200);
    tell(&server, entry, token, 1, 10);
    let at_seven = format!("{token}-7");
    let (first, second, late) = std::thread::scope(|scope| {
        let first = scope.spawn(|| watch(&person, entry, None));
        let second = scope.spawn(|| watch(&person, entry, Some(&at_seven)));
        let mut seq = 11;
        while seq <= LINES {
            let count = (1 + seq % 4).min(LINES + 1 - seq);
            tell(&server, entry, token, seq, count);
            seq += count;
        }
        let ends = json!({ "token": token, "ends": { "outcome": "failed", "reason": "the test" } });
        assert_eq!(call(&server, "POST", &path, &ends).0, 200);
        (first.join().expect("it ends"), second.join().expect("it ends"), watch(&person, entry, None))
    });
    let all: Vec<u64> = (1..=LINES).collect();
    for (watched, from) in [(first, 0), (second, 7), (late, 0)] {
        assert_eq!(watched.0, all[from..], "{:?}", watched.1);
        assert_eq!(watched.1.last().map(String::as_str), Some("end"));
    }
}

#[test]
fn a_list_of_the_archive_has_pages_and_follows_its_changes() {
    let home = Home::without_controller();
    for number in 0..3 {
        archive::example::one_of_many(&home.runs(), number).expect("a run");
    }
    let ids = |path: &str| {
        let found = home.call("GET", path, &Value::Null).1;
        let mut ids = Vec::new();
        for run in found.as_array().expect("a list") {
            ids.push(run["id"].as_str().expect("an id").to_owned());
        }
        ids
    };
    let all = ids("runs");
    assert_eq!(all.len(), 3);
    assert_eq!(ids("runs?limit=2"), all[..2]);
    assert_eq!(ids(&format!("runs?limit=2&after={}", all[1])), all[2..]);
    let wrong = home.call("GET", "runs?after=nothing", &Value::Null);
    assert!(
        wrong.0 == 404 && wrong.1["error"].as_str().is_some_and(|why| why.contains("nothing")),
        "{wrong:?}"
    );

    let server = home.server();
    let csv = ureq::get(format!("{}/archive.csv?q=nginx&limit=1", server.url))
        .header("authorization", format!("Bearer {}", server.token));
    let csv = csv.call().expect("a file").body_mut().read_to_string().expect("text");
    assert_eq!(csv.lines().count(), 4, "{csv}");
    assert!(csv.lines().nth(1).is_some_and(|line| line.starts_with(&format!("\"{}\",", all[0]))), "{csv}");

    let change = json!({ "add_tags": ["baseline"], "remove_tags": [] });
    assert_eq!(home.call("PATCH", &format!("runs/{}", all[0]), &change).0, 200);
    assert_eq!(ids("runs?tag=baseline"), all[..1]);
    let deleted = home.call("DELETE", &format!("runs/{}", all[0]), &json!({ "reason": "the test" }));
    assert_eq!((deleted.0, ids("runs")), (204, all[1..].to_vec()));
    assert_eq!(home.call("POST", &format!("runs/{}/restore", all[0]), &json!({})).0, 204);
    assert_eq!(ids("runs?tag=baseline"), all[..1]);
}
