//! Short comparisons with TLS: resumption, bulk transfer, and that no private key is left behind.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::home::{SHORT, TestHome, json, only_run, text, trials};

/// The handshakes of all phases of a trial, and the resumed ones among them.
fn handshakes(record: &Value) -> (u64, u64) {
    let phases = record["phases"].as_array().expect("phases").iter();
    let count = |phase: &Value, name: &str| phase["tls"][name].as_u64().expect("a count");
    phases.fold((0, 0), |(all, resumed), phase| {
        (all + count(phase, "handshakes"), resumed + count(phase, "resumed"))
    })
}

fn contains_a_key(directory: &Path) -> bool {
    let found = Command::new("grep").args(["-rqs", "PRIVATE KEY"]).arg(directory).status().expect("grep");
    found.success()
}

fn compare(variants: &[&str], further: &[&str]) -> (TestHome, Vec<Value>) {
    let home = TestHome::new();
    let plan = home.longer_plan(&[variants, &["--workload", "tls"], further].concat());
    let output = home.run(&["run", &plan]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{} {}", text(&output.stdout), text(&output.stderr));
    home.assert_nothing_runs();
    let run = only_run(&home);
    assert!(!contains_a_key(&run) && !contains_a_key(&home.path("tmp")), "a key is left behind");
    let records = trials(&run).iter().map(|trial| json(&trial.join("trial.json"))).collect();
    (home, records)
}

#[test]
fn every_operation_on_nginx_is_a_full_or_a_resumed_handshake() {
    check_handshakes(["nginx", "nginx:resumption=off"], Tickets::Always);
}

#[test]
fn every_operation_on_apache_is_a_full_or_a_resumed_handshake() {
    check_handshakes(["apache:certificate=ecdsa", "apache:resumption=off"], Tickets::Always);
}

#[test]
fn every_operation_on_lighttpd_is_a_full_or_a_resumed_handshake() {
    check_handshakes(["lighttpd:certificate=ecdsa", "lighttpd:resumption=off"], Tickets::TwoWhenFull);
}

#[test]
fn every_operation_on_caddy_is_a_full_or_a_resumed_handshake() {
    check_handshakes(["caddy:certificate=ecdsa,metrics=on", "caddy:resumption=off"], Tickets::Always);
}

#[test]
fn every_operation_on_h2o_is_a_full_or_a_resumed_handshake() {
    check_handshakes(["h2o:neverbleed=on", "h2o:certificate=ecdsa,resumption=off"], Tickets::TwoWhenFull);
}

/// When a server hands out tickets. A client uses each ticket once.
#[derive(Clone, Copy)]
enum Tickets {
    /// After each handshake: only the first is full.
    Always,
    /// Two after a full handshake, none after a resumed one: every third is full.
    TwoWhenFull,
}

fn check_handshakes(variants: [&str; 2], tickets: Tickets) {
    let (home, records) = compare(&variants, &["--connections", "8"]);
    assert_eq!(records.len(), 6);
    for record in records {
        let phases = record["phases"].as_array().expect("phases");
        let requests: u64 = phases.iter().map(|phase| phase["requests"].as_u64().expect("a count")).sum();
        let (all, resumed) = handshakes(&record);
        // At its begin and at its end, a slice has handshakes of operations that are not counted: some on each connection.
        let slices: u64 = phases.iter().map(|phase| phase["slices"]["count"].as_u64().unwrap_or(1)).sum();
        let at_ends = 5 * 8 * slices;
        assert!(
            requests > 20 && all.abs_diff(requests) <= at_ends,
            "{all} handshakes, {requests} requests in {slices} slices: {}",
            record["reasons"]
        );
        let is_resuming = !record["variant"].as_str().expect("a name").contains("resumption=off");
        // The first handshake of each connection has no ticket yet.
        assert_eq!(resumed > 0, is_resuming, "{resumed} of {all}: {}", record["variant"]);
        let full = match tickets {
            Tickets::Always => 0,
            Tickets::TwoWhenFull => all.div_ceil(3),
        };
        assert!(!is_resuming || resumed + full + at_ends >= all, "{resumed} of {all}: {}", record["variant"]);
        assert_eq!(record["counts"][0]["client"], record["counts"][0]["server"]);
    }
    let facts = json(&only_run(&home).join("facts.json"));
    assert_eq!(facts["variants"][1]["knobs"]["resumption"], false, "{facts}");
}

#[test]
fn bulk_transfer_is_measured_in_bytes_over_kept_connections() {
    let home = TestHome::new();
    let bulk = ["compare", "nginx", "apache", "--workload", "tls", "--on-op", "bulk", "--connections", "2"];
    let planned = |options: &[&str]| {
        let plan = home.plan(&[&bulk[..], options].concat(), SHORT);
        assert!(std::fs::read_to_string(&plan).expect("a plan").contains("metric = \"max_bytes\""));
        plan
    };
    planned(&[]);
    // A measure that was asked for stays, also beside other programs.
    let plan = planned(&["--blocks", "3", "--measure", "bytes"]);
    let output = home.run(&["run", &plan]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", text(&output.stderr));
    for trial in trials(&only_run(&home)) {
        let record = json(&trial.join("trial.json"));
        assert_eq!(record["measured"]["unit"], "MB/s");
        assert!(record["measured"]["value"].as_f64().is_some_and(|rate| rate > 1.0), "{record}");
        // All phases share the connections.
        assert_eq!(handshakes(&record), (2, 0), "one handshake for each connection");
    }
}
