//! A running load in figures that other programs read: a scraper of `OpenMetrics`, and a collector of `OpenTelemetry`.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::client::{command, number, start};
use crate::misbehaving::replies;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";

/// A port that nothing listens on.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

/// Asks as a scraper does; none while nothing listens.
fn scrape(port: u16, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").ok()?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply).ok()?;
    Some(reply)
}

#[test]
fn a_scraper_reads_the_figures_of_a_running_load() {
    let (url, port) = (format!("http://{}", replies(OK)), free_port());
    let text = port.to_string();
    let running = start(command(&[
        &url,
        "-c",
        "2",
        "-r",
        "200",
        "-d",
        "4s",
        "--metrics-listen",
        &text,
        "--format",
        "json",
    ]));
    let counted = |reply: &String| {
        let line =
            reply.lines().find(|line| line.contains("outcome=\"succeeded\"")).unwrap_or_default().to_owned();
        line.rsplit(' ').next().and_then(|count| count.parse::<u64>().ok()).is_some_and(|count| count > 0)
    };
    let mut reply = None;
    for _ in 0..400 {
        reply = scrape(port, "/metrics").filter(counted);
        if reply.is_some() {
            break;
        }
        thread::sleep(Duration::from_millis(10));
    }
    let other = scrape(port, "/");
    let ended = running.wait();
    let reply = reply.unwrap_or_else(|| panic!("no figures while it ran: {ended:?}"));
    assert!(
        reply.contains("Content-Type: application/openmetrics-text") && reply.ends_with("# EOF\n"),
        "{reply}"
    );
    assert!(
        reply.contains("showdown_response_time_seconds_bucket{operation=\"GET /\",le=\"+Inf\"}"),
        "{reply}"
    );
    // The load may have ended meanwhile.
    assert!(other.is_none_or(|other| other.is_empty() || other.starts_with("HTTP/1.1 404")));
    assert!(scrape(port, "/metrics").is_none(), "nobody listens after the load");
    assert!(number(&ended.measured(), "/requests") > 0);
}

#[test]
fn a_collector_gets_the_last_figures() {
    let (url, collector) =
        (format!("http://{}", replies(OK)), TcpListener::bind("127.0.0.1:0").expect("a port"));
    let address = format!("http://{}", collector.local_addr().expect("an address"));
    let (sent, got) = mpsc::channel();
    thread::spawn(move || {
        for mut stream in collector.incoming().flatten() {
            let mut request = Vec::new();
            let mut buffer = [0; 8192];
            while !has_whole_body(&request) {
                match stream.read(&mut buffer) {
                    Ok(count) if count > 0 => request.extend_from_slice(&buffer[..count]),
                    _ => break,
                }
            }
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}");
            let _ = sent.send(String::from_utf8_lossy(&request).into_owned());
        }
    });
    let ended = start(command(&[&url, "-c", "2", "-n", "50", "--otlp", &address, "--format", "json"])).wait();
    let request = got.recv_timeout(Duration::from_secs(20)).expect("the collector got figures");
    assert!(request.starts_with("POST /v1/metrics HTTP/1.1\r\n"), "{request}");
    let (_, body) = request.split_once("\r\n\r\n").expect("a body");
    let document: Value = serde_json::from_str(body).expect("JSON");
    let metrics = &document["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
    assert_eq!(metrics[0]["sum"]["dataPoints"][0]["asInt"], "50", "{document}");
    assert_eq!(number(&ended.measured(), "/requests"), 50);
}

/// Whether the head and as many bytes as it announces are there.
fn has_whole_body(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head
        .lines()
        .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ").map(str::to_owned));
    length.and_then(|length| length.parse().ok()).is_some_and(|length: usize| body.len() >= length)
}

#[test]
fn a_collector_that_does_not_answer_is_named_and_the_load_goes_on() {
    let (url, collector) = (format!("http://{}", replies(OK)), format!("http://127.0.0.1:{}", free_port()));
    let ended =
        start(command(&[&url, "-c", "2", "-n", "20", "--otlp", &collector, "--format", "json"])).wait();
    assert!(
        ended.stderr.contains("--otlp") && ended.stderr.contains("check that a collector listens there"),
        "{ended:?}"
    );
    assert_eq!(number(&ended.measured(), "/requests"), 20);
}
