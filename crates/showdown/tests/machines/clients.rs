//! `showdown load --clients`: the load of several hosts is one load, counted exactly, and a client that is lost is named.

use std::fs;
use std::process::{Child, Output, Stdio};

use serde_json::Value;

use super::lab::Lab;
use super::{SHOWDOWN, command, json, kill_those_with, nothing_is_left, run, stderr, wait_for};

/// Two names of this machine.
const TWO: &str = "[host.a]\naddress = \"127.0.0.1\"\n[host.b]\naddress = \"127.0.0.2\"\n";

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// A server of known behaviour on this machine, which ends with the test.
struct KnownServer {
    child: Child,
    port: u16,
}

impl KnownServer {
    fn start() -> Self {
        let port =
            std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port").port();
        let words = strings(&[SHOWDOWN, "__known-server", "--port", &port.to_string()]);
        let child = command(&words).spawn().expect("showdown runs");
        wait_for("the server", || std::net::TcpStream::connect(("127.0.0.1", port)).ok());
        Self { child, port }
    }

    /// `showdown load` by two clients that are this machine.
    fn load(&self, options: &[&str]) -> Vec<String> {
        let url = format!("http://127.0.0.1:{}/", self.port);
        strings(&[&[SHOWDOWN, "load", &url, "--clients", "a,b", "--progress", "none"], options].concat())
    }
}

impl Drop for KnownServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The options for a hosts file with this text.
fn hosts_file(directory: &tempfile::TempDir, text: &str) -> [String; 2] {
    let file = directory.path().join("hosts.toml");
    fs::write(&file, text).expect("a file of this test");
    ["--hosts".to_owned(), file.display().to_string()]
}

/// The requests that a known server has answered, by its own account.
fn replies(account: &str) -> u64 {
    let (_, body) = account.split_once("\r\n\r\n").expect("a body");
    serde_json::from_str::<Value>(body).expect("an account")["replies"].as_u64().expect("a count")
}

fn account_of(port: u16) -> String {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).expect("a connection");
    stream.write_all(b"GET /account HTTP/1.1\r\n\r\n").expect("a request");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("a reply");
    text
}

/// Name and requests of each client.
fn by_client(load: &Value) -> Vec<(String, u64)> {
    let clients = load["clients"].as_array().expect("clients");
    let of = |client: &Value| {
        (client["name"].as_str().expect("a name").to_owned(), client["requests"].as_u64().expect("a count"))
    };
    clients.iter().map(of).collect()
}

/// Measured, whatever a busy machine makes of its validity.
fn is_measured(output: &Output) -> bool {
    matches!(output.status.code(), Some(0 | 3))
}

#[test]
fn two_clients_make_one_load_that_is_counted_exactly() {
    let (server, directory) = (KnownServer::start(), tempfile::tempdir().expect("a directory"));
    let file = hosts_file(&directory, TWO);
    let hlog = directory.path().join("load.hlog").display().to_string();
    let options = ["-n", "1001", "-c", "10", "--format", "json", "--hlog", &hlog];
    let output = run(&[server.load(&options), file.to_vec()].concat());
    assert!(is_measured(&output), "{output:?}");
    let load = json(&output);
    assert_eq!((&load["requests"], &load["failed"]), (&1001.into(), &0.into()));
    assert_eq!(by_client(&load), [("a".to_owned(), 501), ("b".to_owned(), 500)]);
    assert_eq!(replies(&account_of(server.port)), 1001);
    assert!(load["clients"][0]["clock_error_us"].as_f64().expect("a time") > 0.0);
    assert_eq!((&load["client"]["processes"], &load["clients"][1]["connections"]), (&2.into(), &5.into()));
    let log = fs::read_to_string(&hlog).expect("a log");
    for tag in ["Tag=GET_/.response_time,", "Tag=GET_/.response_time@a,", "Tag=client.lag@b,"] {
        assert!(log.contains(tag), "no {tag} in:\n{log}");
    }
    assert!(stderr(&output).contains("client a is also the server's host"), "{output:?}");
    // An open loop: each client has every other arrival of the one schedule.
    let options = ["-r", "500", "--arrivals", "constant", "-d", "1s", "-c", "10", "--format", "json"];
    let load = json(&run(&[server.load(&options), file.to_vec()].concat()));
    assert_eq!((&load["offered_per_s"], &load["duration_s"]), (&500.0.into(), &1.0.into()));
    for client in load["clients"].as_array().expect("clients") {
        assert_eq!(client["offered_per_s"], 250.0);
    }
    let all = load["requests"].as_u64().expect("a count") + load["failed"].as_u64().expect("a count");
    assert_eq!(all, 500);
    assert_eq!(1001 + load["requests"].as_u64().expect("a count"), replies(&account_of(server.port)));
}

/// What a busy machine cannot change: the counts.
#[test]
fn the_selftest_of_clients_counts_exactly_what_the_known_server_counts() {
    let directory = tempfile::tempdir().expect("a directory");
    let words = [SHOWDOWN, "selftest", "--clients", "a,b", "--only", "counts", "--format", "json"];
    let output = run(&[strings(&words), hosts_file(&directory, TWO).to_vec()].concat());
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
    let report = json(&output);
    assert_eq!(report["fitness"], "fit");
    for (client, name) in report["clients"].as_array().expect("clients").iter().zip(["a", "b"]) {
        assert_eq!((&client["name"], &client["report"]["fitness"]), (&name.into(), &"fit".into()));
    }
    let findings = report["findings"].as_array().expect("findings");
    let of = |case: &str| {
        let found = findings.iter().find(|finding| finding["case"] == case);
        found.unwrap_or_else(|| panic!("no {case}: {report}"))["measured"].as_f64().expect("a count") as u64
    };
    assert_eq!(of("HTTP, closed loop: replies"), 20_011);
    assert_eq!(of("HTTP, open loop: arrivals of b"), 1_000);
    assert_eq!(
        of("HTTP, with failures: replies")
            + of("HTTP, with failures: errors")
            + of("HTTP, with failures: drops"),
        20_011
    );
    assert!(findings.iter().all(|finding| finding["passed"] == true), "{report}");
}

#[test]
fn what_is_wrong_with_clients_is_one_line() {
    let (server, directory) = (KnownServer::start(), tempfile::tempdir().expect("a directory"));
    let elsewhere = "[host.a]\naddress = \"127.0.0.1\"\n[host.b]\nssh = \"b\"\naddress = \"10.77.0.2\"\n";
    for (text, options, code, line) in [
        (TWO, &["--clients", "a,x"][..], 2, "the hosts file has no host x: it has a, b"),
        (TWO, &["--clients", "b,b"][..], 2, "client b is named twice: name each once"),
        (
            TWO,
            &["-c", "1"][..],
            2,
            "2 threads on all clients for 1 connection: give each thread one connection at least",
        ),
        (
            elsewhere,
            &[][..],
            2,
            "127.0.0.1 is another machine on each client, such as b: give the server's address in their network",
        ),
    ] {
        let mut words = server.load(&[]);
        if let Some(place) =
            words.iter().position(|word| word == "--clients").filter(|_| options.contains(&"--clients"))
        {
            words.drain(place..place + 2);
        }
        let output = run(&[words, strings(options), hosts_file(&directory, text).to_vec()].concat());
        assert_eq!((output.status.code(), stderr(&output)), (Some(code), format!("showdown: {line}\n")));
    }
    let missing = run(&[server.load(&["--hosts"]), vec!["/nowhere/hosts.toml".to_owned()]].concat());
    assert_eq!(missing.status.code(), Some(2));
    assert!(stderr(&missing).starts_with("showdown: cannot read /nowhere/hosts.toml"), "{missing:?}");
}

/// A load of c1 and c2 on a server of the lab's controller.
const SERVER: &str = "10.77.0.254";

fn load_in(lab: &Lab, options: &[&str]) -> std::process::Command {
    let hosts = lab.directory().join("hosts.toml").display().to_string();
    let url = format!("http://{SERVER}:18080/");
    let words = [SHOWDOWN, "load", &url, "--clients", "c1,c2", "--hosts", &hosts, "--progress", "none"];
    let mut command = lab.exec(&[&words, options].concat());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn server_in(lab: &Lab) -> Child {
    let server = lab.exec(&[SHOWDOWN, "__known-server", "--host", SERVER, "--port", "18080"]).spawn();
    wait_for("the server", || lab.output(&["ss", "-Hltn"]).contains(":18080 ").then_some(()));
    server.expect("it starts")
}

fn replies_in(lab: &Lab) -> u64 {
    let ask =
        format!("exec 3<> /dev/tcp/{SERVER}/18080; printf 'GET /account HTTP/1.1\\r\\n\\r\\n' >&3; cat <&3");
    replies(&lab.output(&["bash", "-c", &ask]))
}

/// The hosts of the lab have other clocks, and connections from their own addresses.
#[test]
fn clients_behind_ssh_count_what_the_server_counts_and_losing_one_is_one_line() {
    let Some(lab) = Lab::up(2) else { return };
    let mut server = server_in(&lab);
    let output = load_in(&lab, &["-n", "2001", "-c", "8", "--format", "json"]).output().expect("it runs");
    assert!(is_measured(&output), "{output:?}");
    let load = json(&output);
    assert_eq!((&load["requests"], &load["failed"]), (&2001.into(), &0.into()));
    assert_eq!(by_client(&load), [("c1".to_owned(), 1001), ("c2".to_owned(), 1000)]);
    assert_eq!(replies_in(&lab), 2001);
    for client in load["clients"].as_array().expect("clients") {
        let (error, trip) = (client["clock_error_us"].as_f64(), client["round_trip_us"].as_f64());
        assert!(error > Some(0.0) && error <= trip, "{client}");
    }

    let before = replies_in(&lab);
    let running = load_in(&lab, &["-r", "200", "-d", "10m", "-c", "8", "--format", "json"]).spawn();
    wait_for("the load", || (replies_in(&lab) > before + 100).then_some(()));
    kill_those_with(&lab, None, "ssh -T ");
    let output = running.expect("it starts").wait_with_output().expect("it ends");
    let load = json(&output);
    assert_eq!((output.status.code(), &load["valid"]), (Some(3), &false.into()), "{}", stderr(&output));
    let reason = load["reasons"][0].as_str().expect("a reason");
    assert!(reason.ends_with(" was lost: ssh was killed by signal 9: start again"), "{reason}");
    assert!(
        load["rules_broken"][0]["rule"] == "client_lost" && load["rules_broken"][0]["client"].is_string()
    );
    nothing_is_left(&lab, &["c1", "c2"]);
    let _ = server.kill();
    let _ = server.wait();
}
