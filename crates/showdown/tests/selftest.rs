//! The selftest from end to end, as far as a busy machine allows: exact counts, and a long freeze. Times are only checked
//! against a lower bound.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;

fn showdown(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_showdown"))
        .args(args)
        .stdin(Stdio::null())
        .output()
        .expect("showdown runs")
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// A server of known behaviour, which stops with the test.
struct KnownServer {
    child: Child,
    port: u16,
}

impl KnownServer {
    fn start(options: &[&str]) -> Self {
        let port =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|l| l.local_addr()).expect("a port").port();
        let child = Command::new(env!("CARGO_BIN_EXE_showdown"))
            .args(["__known-server", "--port", &port.to_string()])
            .args(options)
            .spawn()
            .expect("showdown runs");
        let known = Self { child, port };
        let is_up = (0..1_000).any(|_| {
            thread::sleep(Duration::from_millis(10));
            TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
        });
        assert!(is_up, "the server does not listen on port {port}");
        known
    }

    fn account(&self) -> Value {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).expect("a connection");
        stream.write_all(b"GET /account HTTP/1.1\r\n\r\n").expect("a request");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("a reply");
        let (_, body) = text.split_once("\r\n\r\n").expect("a body");
        serde_json::from_str(body).expect("an account")
    }

    fn load(&self, scheme: &str, args: &[&str]) -> Value {
        let url = format!("{scheme}://127.0.0.1:{}", self.port);
        json(&showdown(&[&["load", &url, "--format", "json", "--progress", "none"], args].concat()))
    }
}

impl Drop for KnownServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn client_and_server_count_the_same() {
    let output = showdown(&["selftest", "--only", "counts", "--format", "json"]);
    let report = json(&output);
    assert_eq!(report["fitness"], "fit", "{report}");
    assert!(output.status.success());
    let findings = report["findings"].as_array().expect("findings");
    assert_eq!(findings.len(), 14);
    assert!(findings.iter().all(|finding| finding["known"] == finding["measured"]), "{report}");
}

#[test]
fn client_and_server_count_the_same_refusals_of_a_full_queue() {
    for scheme in ["http", "memcache"] {
        let known = KnownServer::start(&["--service", "fixed:20ms", "--slots", "2", "--queue", "3"]);
        let measured = known.load(scheme, &["-c", "16", "-n", "500"]);
        let account = known.account();
        assert_eq!(measured["requests"], account["replies"], "{scheme}");
        assert_eq!(measured["errors"]["unexpected_reply"], account["refused"], "{scheme}");
        assert!(
            account["refused"].as_u64() > Some(0),
            "sixteen connections overflow two slots and a queue of three"
        );
    }
}

#[test]
fn a_freeze_is_in_the_response_times_for_any_number_of_connections() {
    for connections in ["1", "8", "64"] {
        let known = KnownServer::start(&["--freeze", "400ms/2s"]);
        let even = ["-r", "200", "--arrivals", "constant", "-d", "2s", "-c", connections];
        let measured = known.load("http", &even);
        let account = known.account();
        assert_eq!(measured["requests"].as_u64(), Some(400));
        // A load that a busy machine delays meets the next freeze as well.
        assert!(account["freezes"].as_u64() >= Some(1), "{account}");
        assert_eq!(account["replies"], 400);
        // An operation is due every 5 ms. A fifth of them is due during the freeze, and one in twenty waits for three quarters of
        // it. Half of both allows for a server that waits for a CPU when its freeze is to begin. Without the wait of operations
        // that are due and not sent, one connection would have one operation that waits.
        let at = |quantile: &str| measured["response_time_us"][quantile].as_u64().expect("a time");
        assert!(at("max") >= 200_000, "{connections}: {measured}");
        assert!(at("p95") >= 150_000, "{connections}: {measured}");
    }
}

#[test]
fn an_unknown_part_is_a_usage_error() {
    let output = showdown(&["selftest", "--only", "everything"]);
    assert_eq!(output.status.code(), Some(2));
}

/// Each pause of 40 ms is later than the objective for all that falls due in it. No time or rate is checked.
#[test]
fn a_search_of_a_server_that_pauses_ends_with_soaks_and_says_what_its_answer_is() {
    let server = KnownServer::start(&["--work", "20us", "--pauses", "40ms/2000"]);
    let found =
        server.load("http", &["--find-capacity", "p99<5ms", "-c", "16", "-d", "1s", "--warmup", "50ms"]);
    let reasons = found["reasons"].as_array().expect("reasons");
    let is_upper = found["bound"] == "upper";
    match found["soak"].as_object() {
        Some(soak) => {
            assert!(soak["soaks"].as_u64().is_some_and(|soaks| soaks > 0), "{found}");
            assert_eq!(soak["is_sustained"] == false, is_upper, "{found}");
            assert_eq!(found["capacity_per_s"], soak["rate_per_s"], "{found}");
        }
        // The client was the limit, or each rate was too high: on a busy machine both can be.
        None => assert!(!reasons.is_empty() || found["capacity_per_s"].is_null(), "{found}"),
    }
    assert!(
        !is_upper || reasons.iter().any(|why| why.as_str().is_some_and(|why| why.contains("lower"))),
        "{found}"
    );
}
