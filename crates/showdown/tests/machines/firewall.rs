//! Networks between hosts that do not work.

use super::lab::Lab;
use super::{SHOWDOWN, json, stderr};

#[test]
fn what_is_blocked_between_hosts_is_said_with_what_to_open() {
    let Some(lab) = Lab::up(3) else { return };
    // c2 answers c1 no more: c1 waits in vain, and c2 cannot send. c3 reaches both.
    assert!(lab.on("c2", &["ip", "route", "add", "blackhole", "10.77.0.1"]).status.success());
    let output = lab.hosts(&lab.read("hosts.toml"), &["--for", "20ms", "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "all hosts can be used: {output:?}");
    let report = json(&output);
    let [blocked, one, two] = &report["network"].as_array().expect("paths")[..] else { panic!("{report}") };
    assert_eq!(
        (&blocked["from"], &blocked["to"], &blocked["path"]),
        (&"c1".into(), &"c2".into(), &().into())
    );
    let [there, back] = &blocked["problems"].as_array().expect("lines")[..] else { panic!("{blocked}") };
    let there = there.as_str().expect("a line");
    assert!(there.starts_with("c1 cannot reach c2 at 10.77.0.2 port "), "{there}");
    assert!(
        there.contains("allow TCP from 10.77.0.1 to 10.77.0.2, ports 10000 and above, in the firewalls"),
        "{there}"
    );
    let back = back.as_str().expect("a line");
    assert!(
        back.starts_with("c2 cannot reach c1 at 10.77.0.1 port ") && back.contains("check the routes of c2"),
        "{back}"
    );
    for path in [one, two] {
        assert!(path["path"].is_object() && path["problems"] == serde_json::json!([]), "{path}");
    }
}

#[test]
fn a_client_whose_connections_are_dropped_is_named_with_what_to_check() {
    let Some(lab) = Lab::up(2) else { return };
    // The answers of c1 do not reach c2.
    assert!(lab.on("c1", &["ip", "route", "add", "blackhole", "10.77.0.2"]).status.success());
    let hosts = lab.directory().join("hosts.toml").display().to_string();
    let words = [SHOWDOWN, "load", "http://10.77.0.1:22/", "--clients", "c2", "--hosts", &hosts, "-n", "8"];
    let output = lab.exec(&[&words[..], &["-c", "2", "--progress", "none"]].concat()).output();
    let output = output.expect("it runs");
    let line = "showdown: none of 2 connections of c2 to 10.77.0.1:22 could be opened: no connection within 10s: \
                check that the server is up, and that firewalls and routes let TCP through to it\n";
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(1), line));
}
