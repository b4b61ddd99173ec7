//! `showdown power` as a user calls it: on a host that may have no meter at all, and with a plug on the network.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Command, Output, Stdio};
use std::thread;

use serde_json::Value;

/// Runs in a directory; the variable has a secret.
fn showdown(dir: &tempfile::TempDir, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_showdown"));
    command.arg("power").args(args).current_dir(dir).env("PLUG", "hunter2").stdin(Stdio::null());
    command
}

fn run(args: &[&str]) -> Output {
    run_in(&directory(), args)
}

fn run_in(dir: &tempfile::TempDir, args: &[&str]) -> Output {
    showdown(dir, args).output().expect("showdown runs")
}

fn directory() -> tempfile::TempDir {
    tempfile::tempdir().expect("a directory")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

fn json(line: &str) -> Value {
    serde_json::from_str(line).expect("JSON")
}

/// A Tasmota plug with 62 W that wants the password of the variable; returns its address.
fn plug() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("its address"));
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let lines = BufReader::new(stream.try_clone().expect("a handle")).lines().map_while(Result::ok);
            let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            let is_allowed = head.iter().any(|line| line.contains("user=admin&password=hunter2"));
            let body = if is_allowed {
                r#"{"StatusSNS":{"ENERGY":{"Power":62}}}"#
            } else {
                r#"{"WARNING":"Need user=<username>&password=<password>"}"#
            };
            let head = "HTTP/1.1 200 OK\r\nConnection: close\r\n";
            let _ = write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len());
        }
    });
    address
}

#[test]
fn every_kind_of_meter_of_this_host_is_listed_or_has_its_reason() {
    let output = run(&["--format", "json", "--for", "100ms"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let answer = json(&text(&output.stdout));
    let list = |key: &str| answer[key].as_array().expect("a list").clone();
    let found = list("sources").into_iter().map(|source| source["name"].clone());
    let reasons = list("not_measured");
    let names: Vec<String> = found
        .chain(reasons.iter().map(|missing| missing["name"].clone()))
        .map(|name| name.as_str().expect("text").to_owned())
        .collect();
    for kind in ["rapl", "hwmon", "bmc", "network"] {
        assert!(names.iter().any(|name| name.starts_with(kind)), "{kind} is not in {names:?}");
    }
    assert!(reasons.iter().all(|missing| !missing["why"].as_str().expect("text").contains('\n')));
    let prose = run(&["--for", "100ms"]);
    assert_eq!(prose.status.code(), Some(0));
    assert!(
        text(&prose.stdout).contains("no plug, PDU or BMC is named: name one with --source KIND=ADDRESS")
    );
}

#[test]
fn a_plug_of_the_users_own_file_is_read_with_its_secret() {
    let dir = directory();
    let table = format!(
        "[power.desk]\nkind = \"tasmota\"\naddress = \"{}\"\nuser = \"admin\"\npassword_env = \"PLUG\"\nuncertainty = \"1 %\"\n",
        plug()
    );
    std::fs::write(dir.path().join("targets.toml"), table).expect("a file");
    let output = run_in(&dir, &["--for", "10ms"]);
    let answer = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{answer}{}", text(&output.stderr));
    for part in ["desk", "wall", "62.0 W", "±1 %"] {
        assert!(answer.contains(part), "{part} is not in {answer}");
    }
    assert!(!answer.contains("hunter2") && !answer.contains("network:"), "{answer}");
    let watched = run_in(&dir, &["--watch", "--for", "1s", "--format", "json"]);
    let lines = text(&watched.stdout);
    assert_eq!(watched.status.code(), Some(0), "{lines}");
    let first = json(lines.lines().next().expect("a line"));
    let sources = first["sources"].as_array().expect("a list");
    let desk = sources.iter().find(|source| source["name"] == "desk").expect("the plug");
    assert_eq!((desk["watts"].as_f64(), desk["boundary"].as_str()), (Some(62.0), Some("wall")));
}

#[test]
fn a_source_that_was_named_and_fails_is_a_failure_with_a_reason() {
    let address = plug();
    let output = run(&["--for", "10ms", "--source", &format!("tasmota={address}")]);
    let (answer, line) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{answer}{line}");
    assert!(answer.contains("refuses access (Need user="), "{answer}");
    assert!(line.contains("tasmota gave no watts"), "{line}");
    let unset = run(&["--source", &format!("tasmota={address},user=admin,password_env=SHOWDOWN_UNSET")]);
    assert_eq!(unset.status.code(), Some(1));
    assert!(text(&unset.stdout).contains("the variable SHOWDOWN_UNSET is not set: export it"));
}

#[test]
fn mistakes_are_one_line_and_exit_code_2() {
    let dir = directory();
    std::fs::write(dir.path().join("wrong.toml"), "[power.a]\nkind = \"shelly\"\noutlet = 1\n")
        .expect("a file");
    for (args, part) in [
        (&["--source", "10.0.0.31"][..], "--source: write it as KIND=ADDRESS"),
        (&["--source", "shelly=http://10.0.0.31,password=x"], "every user sees a command line"),
        (&["--targets", "missing.toml"], "cannot read missing.toml"),
        (&["--targets", "wrong.toml"], "wrong.toml:1: power.a: address is missing"),
        (&["--for", "5 apples"], "5 apples"),
    ] {
        let output = run_in(&dir, args);
        let line = text(&output.stderr);
        assert_eq!((output.status.code(), line.lines().count()), (Some(2), 1), "{args:?}: {line}");
        assert!(line.contains(part) && output.stdout.is_empty(), "{args:?}: {line}");
    }
}

#[test]
fn a_watch_ends_with_its_reader() {
    let dir = directory();
    let source = format!("tasmota={},user=admin,password_env=PLUG", plug());
    let mut watch = showdown(&dir, &["--watch", "--source", &source]);
    let mut child = watch.stdout(Stdio::piped()).spawn().expect("showdown runs");
    let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    let head = lines.next().expect("a line").expect("text");
    assert!(head.starts_with("UTC") && head.contains("tasmota (wall)"), "{head}");
    drop(lines);
    assert_eq!(child.wait().expect("its end").code(), Some(0));
}

#[test]
fn ctrl_c_ends_a_watch() {
    let dir = directory();
    let source = format!("tasmota={},user=admin,password_env=PLUG", plug());
    let mut watch = showdown(&dir, &["--watch", "--format", "json", "--source", &source]);
    let mut child = watch.stdout(Stdio::piped()).spawn().expect("showdown runs");
    let mut lines = BufReader::new(child.stdout.take().expect("its output"));
    let mut first = String::new();
    lines.read_line(&mut first).expect("a line");
    assert_eq!(json(&first)["sources"].as_array().map(Vec::is_empty), Some(false));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it runs");
    let mut rest = String::new();
    lines.read_to_string(&mut rest).expect("the end of the output");
    assert!(rest.lines().all(|line| json(line).is_object()), "{rest}");
    assert_eq!(child.wait().expect("its end").code(), Some(130));
}
