//! An attempt against a server that loses answers.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use queue::api::Work;
use queue::{Attempt, LEASE, TRUST};
use serde_json::Value;

use super::{Attempted, LONGEST_NEWS, execute};
use crate::controller::rules::Rules;
use crate::controller::workplace::Workplace;

type Tested<T> = Result<T, Box<dyn std::error::Error>>;

/// The calls that a server has got, in their order.
type Calls = Arc<Mutex<Vec<Value>>>;

/// A server that does not answer the first call with this key; its URL, and what it has got.
fn server_that_loses(key: &'static str) -> Tested<(String, Calls)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}", listener.local_addr()?);
    let calls = Calls::default();
    let got = Arc::clone(&calls);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let Ok(call) = call_of(&stream) else { continue };
            let mut got = got.lock().expect("no thread panics with it");
            let is_lost = has(&call, key) && !got.iter().any(|earlier| has(earlier, key));
            got.push(call);
            if !is_lost {
                let _ = answer(&stream, r#"{"kill":false,"next_seq":1,"wants_bundle":false}"#);
            }
        }
    });
    Ok((url, calls))
}

fn has(call: &Value, key: &str) -> bool {
    !matches!(call[key], Value::Null | Value::Bool(false))
}

/// The JSON of a request.
fn call_of(stream: &TcpStream) -> Tested<Value> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse()?;
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(serde_json::from_slice(&body)?)
}

fn answer(mut stream: &TcpStream, body: &str) -> std::io::Result<()> {
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

/// Runs a made-up plan as an attempt with a program that only notes that it was started; the number of its starts.
fn attempted(url: &str, rules: Rules) -> Tested<usize> {
    let root = tempfile::tempdir()?;
    let starts = root.path().join("starts");
    let program: PathBuf = root.path().join("program");
    fs::write(&program, format!("#!/bin/sh\necho started >> {}\n", starts.display()))?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o700))?;
    let id = archive::example::comparison(root.path(), 1)?;
    let plan = fs::read_to_string(root.path().join(id.as_str()).join(archive::layout::PLAN))?;
    let place = Workplace::of_test(root.path(), url, program, rules)?;
    let attempt = Attempt { entry: 7, token: 3 };
    execute(&place, Work { attempt, plan, resumes: None, hosts: Vec::new() });
    assert!(!place.folder.attempts().join("3").exists(), "nothing is left");
    Ok(fs::read_to_string(starts).unwrap_or_default().lines().count())
}

#[test]
fn a_run_whose_begin_was_not_answered_begins_once() -> Tested<()> {
    let (url, calls) = server_that_loses("begins")?;
    assert_eq!(attempted(&url, Rules::of_owner())?, 1);
    let calls = calls.lock().expect("no thread panics with it");
    let begins = calls.iter().filter(|call| call["begins"] == true).count();
    assert_eq!(begins, 2, "{calls:?}");
    assert_eq!(calls.last().expect("a call")["ends"]["outcome"], "answered", "{calls:?}");
    Ok(())
}

#[test]
fn a_refusal_that_was_not_answered_is_told_again() -> Tested<()> {
    let (url, calls) = server_that_loses("refuses")?;
    let rules = Rules { workloads: vec!["cache".to_owned()], ..Rules::of_owner() };
    assert_eq!(attempted(&url, rules)?, 0);
    let calls = calls.lock().expect("no thread panics with it");
    assert!(calls.len() == 2 && calls.iter().all(|call| call["refuses"].is_string()), "{calls:?}");
    Ok(())
}

#[test]
fn a_call_that_hangs_keeps_no_run_beyond_its_lease() {
    // The run has the rest of the lease to end.
    assert!(TRUST + LONGEST_NEWS + Duration::from_secs(5) <= LEASE);
}

#[test]
fn a_run_gets_no_secret_of_its_controller() -> Tested<()> {
    let root = tempfile::tempdir()?;
    let id = archive::example::comparison(root.path(), 1)?;
    let plan = fs::read_to_string(root.path().join(id.as_str()).join(archive::layout::PLAN))?;
    let place = Workplace::of_test(root.path(), "http://127.0.0.1:1", PathBuf::new(), Rules::of_owner())?;
    let attempted = Attempted {
        place: &place,
        attempt: Attempt { entry: 7, token: 3 },
        run: None,
        trusted: Instant::now(),
        stopped: None,
        is_fenced: false,
    };
    let command = attempted.prepare(&plan, None)?;
    for name in ["SHOWDOWN_TOKEN", "SHOWDOWN_DATABASE", "PGPASSWORD", "PGPASSFILE"] {
        let removed = command.get_envs().any(|(known, value)| known == name && value.is_none());
        assert!(removed, "{name} reaches the programs of a plan");
    }
    Ok(())
}
