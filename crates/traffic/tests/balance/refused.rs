//! What cannot be shifted rightly is refused in one line, with the remedy, and before anything is changed.

use std::net::SocketAddr;
use std::os::unix::net::UnixListener;

use traffic::live::{LiveBalancer, LiveError};

use crate::lab::{Lab, name};

fn refusal(lab: &Lab) -> String {
    let error = LiveBalancer::open(lab.settings()).map(drop).expect_err("it is refused");
    let text = error.to_string();
    assert!(!text.contains('\n'), "{text}");
    assert!(!lab.ask("show servers state b").contains("cand"));
    text
}

#[test]
fn algorithms_that_do_not_follow_weights_are_refused() {
    for (line, words) in [
        ("balance leastconn", "balance leastconn"),
        ("balance source", "balance source"),
        ("balance static-rr", "balance static-rr"),
        ("balance random(1)", "such as random"),
        ("balance first", "balance first"),
    ] {
        let text = refusal(&Lab::with(line, ""));
        assert!(text.contains(words) && text.contains("set `balance roundrobin`"), "{text}");
    }
}

#[test]
fn what_binds_clients_or_changes_weights_is_refused() {
    for (backend, server, words) in [
        ("cookie SRV insert", "cookie a", "by the cookie SRV"),
        ("stick-table type ip size 10\nstick on src", "", "has stick: it binds clients"),
        ("option prefer-last-server", "", "option prefer-last-server"),
        ("load-server-state-from-file global", "", "load-server-state-from-file: a reload would bring"),
        ("", "check slowstart 10s", "has slowstart"),
        ("", "check agent-check agent-port 1", "old1 has an agent-check"),
        ("use-server old1 if { src 10.0.0.1 }", "", "has use-server"),
    ] {
        let text = refusal(&Lab::with(&format!("balance roundrobin\n{backend}"), server));
        assert!(text.contains(words) && text.contains("remove") | text.contains("none"), "{text}");
    }
}

#[test]
fn sockets_that_cannot_change_weights_are_refused() {
    let lab = Lab::start();
    let mut settings = lab.settings();
    settings.socket = lab.path().join("operator.sock");
    let text = LiveBalancer::open(settings.clone()).map(drop).unwrap_err().to_string();
    assert!(text.contains("has level operator: add `level admin`"), "{text}");
    settings.socket = lab.path().join("other.sock");
    let other = UnixListener::bind(&settings.socket).unwrap();
    std::thread::spawn(move || {
        for stream in other.incoming() {
            let _ = std::io::Write::write_all(&mut stream.unwrap(), b"220 mail ESMTP\r\n");
        }
    });
    let text = LiveBalancer::open(settings.clone()).map(drop).unwrap_err().to_string();
    assert!(text.contains("is no admin socket of HAProxy"), "{text}");
    settings.socket = lab.path().join("nothing.sock");
    let text = LiveBalancer::open(settings).map(drop).unwrap_err().to_string();
    assert!(text.contains("check the path of its admin socket"), "{text}");
    let unknown = traffic::live::LiveSettings { backend: name("x"), ..lab.settings() };
    let text = LiveBalancer::open(unknown).map(drop).unwrap_err().to_string();
    assert!(text.contains("HAProxy has no backend x: it has b"), "{text}");
}

#[test]
fn a_second_run_a_taken_name_and_a_dead_candidate_are_refused() {
    let mut lab = Lab::start();
    let mut live = LiveBalancer::open(lab.settings()).unwrap();
    let second = LiveBalancer::open(lab.settings()).map(drop).unwrap_err().to_string();
    assert!(second.contains("is in use by pid") && second.contains("--abort"), "{second}");
    lab.ask("add server b/taken 127.0.0.1:1 weight 3");
    let taken = live.join(&[traffic::live::Joining { name: name("taken"), ..lab.joining("cand") }]);
    let text = taken.unwrap_err().to_string();
    assert!(text.contains("has a server taken already, with weight 3: use another name"), "{text}");
    let address: SocketAddr = lab.address("cand");
    lab.stop_server("cand");
    let text = live.join(&[lab.joining("cand")]).unwrap_err().to_string();
    assert!(text.contains(&format!("cand does not accept connections at {address}")), "{text}");
    assert!(lab.reading("cand").is_none());
    let unreadable =
        traffic::live::LiveSettings { configuration: Some("/nowhere/haproxy.cfg".into()), ..lab.settings() };
    drop(live);
    let text = LiveBalancer::open(unreadable).map(drop).unwrap_err();
    assert!(
        matches!(text, LiveError::Refused(_)) && text.to_string().contains("/nowhere/haproxy.cfg"),
        "{text}"
    );
}
