//! Answers that are garbage, huge, slow, or of somebody else: each is one line, and none hangs.

use super::http_server::{Answer, HttpServer, json};
use super::{error, silence};

/// What a Tasmota that answers so amounts to.
fn refusal(answer: Answer) -> String {
    let server = HttpServer::start(vec![("/cm?cmnd=Status%2010", answer)]);
    error(&mut *server.source("tasmota", ""))
}

fn raw(text: &str) -> Answer {
    Answer::Raw(text.as_bytes().to_vec())
}

#[test]
fn each_bad_answer_has_its_line() {
    let deep = format!("HTTP/1.1 200 OK\r\n\r\n{}", "[".repeat(10_000));
    for (answer, part) in [
        (json("watts: 5"), "it is not JSON"),
        (json(""), "it is not JSON"),
        (raw(&deep), "it is not JSON"),
        (json("[1,2]"), "this is no Tasmota"),
        (raw("SSH-2.0-OpenSSH_9.2\r\n"), "it is not HTTP"),
        (raw("HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n"), "status 500"),
        (raw("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n"), "refuses access (status 403)"),
        (
            raw("HTTP/1.1 302 Found\r\nLocation: http://192.0.2.1/\r\nContent-Length: 0\r\n\r\n"),
            "status 302 leads to http://192.0.2.1/, and redirects are not followed",
        ),
    ] {
        let line = refusal(answer);
        assert!(line.contains(part), "{part:?} is not in {line:?}");
    }
}

#[test]
fn an_answer_that_ends_early_is_none() {
    for cut in ["", "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{}"] {
        let server = HttpServer::start(vec![("/cm?cmnd=Status%2010", raw(cut))]);
        silence(&mut *server.source("tasmota", ""));
    }
}

#[test]
fn a_huge_answer_is_not_read_to_its_end() {
    let mut huge = b"HTTP/1.1 200 OK\r\n\r\n[".to_vec();
    huge.extend(std::iter::repeat_n(b' ', 4 << 20));
    let line = refusal(Answer::Raw(huge));
    assert!(line.contains("larger than 512 kB"), "{line}");
}

#[test]
fn a_slow_answer_ends_at_the_time_limit() {
    let server = HttpServer::start(vec![("/cm?cmnd=Status%2010", Answer::Slow)]);
    let line = silence(&mut *server.source("tasmota", ""));
    assert!(line.contains("nothing complete within 4 s"), "{line}");
}

#[test]
fn nobody_at_the_address_is_told() {
    // The port was free a moment ago, and nobody listens there.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    silence(&mut *super::open(&format!("shelly=http://{address}")));
}

#[test]
fn negative_and_impossible_watts_are_refused_by_the_meter() {
    for (power, is_accepted) in [("-3.5", false), ("1e9", false), ("0", true)] {
        let status = format!(r#"{{"StatusSNS":{{"ENERGY":{{"Power":{power}}}}}}}"#);
        let server = HttpServer::start(vec![("/cm?cmnd=Status%2010", json(&status))]);
        let mut meter = power::PowerMeter::new(server.source("tasmota", ""));
        match meter.sample() {
            Ok(_) => assert!(is_accepted, "{power}"),
            Err(error) => {
                let line = error.to_string();
                assert!(!is_accepted && line.contains("which no machine takes"), "{line}");
            }
        }
    }
}
