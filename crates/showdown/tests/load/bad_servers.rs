//! Whatever a server does is counted as the kind of error it is: nothing hangs, nothing panics, and a broken
//! reply is never a fast success.

use std::io::{BufRead, Write};
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::client::{load, measure, number};
use crate::villains::{endless, linger, read_request, replies, replies_and_closes, serve};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";

/// Loads a server with a few operations that may take 300 ms each.
fn attack(scheme: &str, address: SocketAddr) -> Value {
    let url = format!("{scheme}://{address}");
    measure(&[&url, "-c", "2", "-n", "6", "-d", "20s", "--timeout", "300ms", "--progress", "none"])
}

/// Every operation fails, and with this kind of error alone.
fn assert_fails(scheme: &str, address: SocketAddr, kind: &str) {
    let told = attack(scheme, address);
    let errors = told["errors"].as_object().expect("errors by kind");
    assert_eq!(errors.keys().collect::<Vec<_>>(), [kind], "{told}");
    assert_eq!((number(&told, "/requests"), number(&told, "/failed")), (0, 6), "{told}");
    assert!(told["error_examples"][kind].as_str().is_some_and(|example| !example.is_empty()), "{told}");
    assert_eq!(told["valid"], false);
}

/// Every operation succeeds.
fn assert_succeeds(scheme: &str, address: SocketAddr) {
    let told = attack(scheme, address);
    assert_eq!((number(&told, "/requests"), number(&told, "/failed")), (6, 0), "{told}");
}

#[test]
fn a_connection_that_is_reset_is_a_reset() {
    // Closing with bytes unread resets (RFC 9293, 3.6).
    let address = serve(|stream| {
        let _ = stream.peek(&mut [0]);
    });
    assert_fails("http", address, "reset");
}

#[test]
fn a_server_that_never_answers_or_stalls_is_a_timeout() {
    assert_fails("http", serve(|mut stream| linger(&mut stream)), "timeout");
    let stalls = replies("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
    assert_fails("http", stalls, "timeout");
    assert_fails("memcache", replies("VALUE key-0000 0 9\r\n1234"), "timeout");
}

#[test]
fn garbage_is_a_breach_of_the_protocol() {
    assert_fails("http", replies(b"\x00\xff\xfe\r\n\r\n"), "protocol");
    assert_fails("http", replies("220 mail.example ESMTP\r\n"), "protocol");
    assert_fails("memcache", replies("HTTP/1.1 400 Bad Request\r\n\r\n"), "protocol");
    assert_fails("redis", replies("HTTP/1.1 400 Bad Request\r\n\r\n"), "protocol");
    assert_fails("memcache", replies("VALUE key-0000 0 99999999999999999999\r\n"), "protocol");
    assert_fails("redis", replies("$99999999999999999999\r\n"), "protocol");
}

#[test]
fn a_body_shorter_than_announced_was_cut_off_by_the_close() {
    assert_fails("http", replies_and_closes("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhi"), "closed");
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n";
    assert_fails("http", replies_and_closes(chunked), "closed");
}

#[test]
fn a_body_longer_than_announced_breaks_the_protocol() {
    assert_fails("http", replies("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi and more"), "protocol");
}

#[test]
fn a_reply_that_is_not_the_one_expected_is_unexpected() {
    assert_fails("http", replies("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"), "unexpected_reply");
    assert_fails("memcache", replies("SERVER_ERROR out of memory\r\n"), "unexpected_reply");
    assert_fails("redis", replies("-LOADING Redis is loading the dataset in memory\r\n"), "unexpected_reply");
}

/// A store that takes every value and gives another of the same length.
#[test]
fn a_value_that_is_not_the_one_stored_is_unexpected() {
    let forgetful = serve(|mut stream| {
        let mut lines = std::io::BufReader::new(stream.try_clone().expect("a socket")).lines();
        // The second line of a set is its value.
        while let Some(Ok(command)) = lines.next() {
            let reply = match command.split(' ').collect::<Vec<_>>()[..] {
                ["set", ..] => {
                    lines.next();
                    "STORED\r\n".to_owned()
                }
                ["get", key] => format!("VALUE {key} 0 8\r\nxxxxxxxx\r\nEND\r\n"),
                _ => return,
            };
            if stream.write_all(reply.as_bytes()).is_err() {
                return;
            }
        }
    });
    let url = format!("memcache://{forgetful}");
    let told = measure(&[&url, "--keys", "10", "--value-size", "8", "--populate", "-c", "2", "-n", "6"]);
    assert_eq!(told["errors"], serde_json::json!({ "unexpected_reply": 6 }), "{told}");
    let unchecked = measure(&[&url, "--keys", "10", "-c", "2", "-n", "6"]);
    assert_eq!(number(&unchecked, "/requests"), 6, "what was never stored is held against nothing");
}

#[test]
fn an_announced_close_after_each_reply_is_no_error() {
    let closing = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi";
    assert_succeeds("http", replies_and_closes(closing));
    assert_succeeds("http", replies_and_closes("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nto the end"));
    assert_succeeds("http", replies_and_closes("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi"));
}

#[test]
fn a_close_that_is_not_announced_costs_the_request_that_was_under_way() {
    let told = attack("http", replies_and_closes(OK));
    // Whether the next request or the close comes first is a race.
    let errors = told["errors"].as_object().expect("errors by kind");
    assert!(errors.keys().all(|kind| kind == "closed" || kind == "reset"), "{told}");
    assert!(number(&told, "/requests") >= 2, "{told}");
    assert_eq!(number(&told, "/requests") + number(&told, "/failed"), 6, "{told}");
}

#[test]
fn a_connection_closed_at_once_is_closed() {
    let told =
        load(&[&format!("http://{}", serve(drop)), "-c", "2", "-n", "6", "-d", "2s", "--format", "json"]);
    // Whether the close or the request comes first is a race that the client must survive either way.
    match told.code() {
        3 => {
            let told = told.json();
            let errors = told["errors"].as_object().expect("errors by kind");
            assert!(errors.keys().all(|kind| kind == "closed" || kind == "reset"), "{told}");
            assert_eq!(number(&told, "/requests"), 0, "{told}");
        }
        1 => assert!(told.stderr.contains("closed the connection"), "{told:?}"),
        _ => panic!("{told:?}"),
    }
}

#[test]
fn a_reply_that_trickles_in_byte_by_byte_is_a_success() {
    let trickles = serve(|mut stream| {
        let _ = stream.set_nodelay(true);
        while read_request(&mut stream) {
            for byte in OK.bytes() {
                if stream.write_all(&[byte]).is_err() {
                    return;
                }
                thread::sleep(Duration::from_millis(1));
            }
        }
    });
    assert_succeeds("http", trickles);
}

#[test]
fn a_header_without_measure_or_end_breaks_the_protocol() {
    let giant = format!("HTTP/1.1 200 OK\r\nX: {}\r\nContent-Length: 0\r\n\r\n", "x".repeat(4 << 20));
    assert_fails("http", replies(giant), "protocol");
    assert_fails("http", endless("HTTP/1.1 200 OK\r\nX: ", [b'x'; 4096]), "protocol");
    assert_fails("http", endless("HTTP/1.1 200 OK\r\n", "X: y\r\n"), "protocol");
    assert_fails("http", endless("", [b'x'; 4096]), "protocol");
}

#[test]
fn a_body_without_end_is_a_timeout_and_takes_no_memory() {
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    assert_fails("http", endless("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", chunk), "timeout");
    assert_fails("http", endless("HTTP/1.1 200 OK\r\n\r\n", vec![b'x'; 0x10000]), "timeout");
}

#[test]
fn interim_replies_without_end_are_told_apart_from_the_reply() {
    let told = attack("http", endless("", "HTTP/1.1 100 Continue\r\n\r\n"));
    assert_eq!(number(&told, "/requests"), 0, "{told}");
    assert_eq!(number(&told, "/failed"), 6, "{told}");
}

/// Nothing opens: the command fails with one line that says why.
fn assert_nothing_opens(address: SocketAddr, why: &str) {
    let url = format!("https://{address}");
    let ended = load(&[&url, "-c", "2", "-n", "6", "--timeout", "300ms"]);
    assert_eq!((ended.code(), ended.stdout.as_str()), (1, ""), "{ended:?}");
    assert!(ended.stderr.lines().count() == 1 && ended.stderr.contains(why), "{ended:?}");
}

#[test]
fn a_server_that_does_not_speak_tls_is_told_as_one() {
    assert_nothing_opens(replies(OK), "TLS");
    assert_nothing_opens(replies_and_closes(""), "closed the connection in the handshake");
    assert_nothing_opens(serve(|mut stream| linger(&mut stream)), "no connection within 300ms");
    let slow_garbage = serve(|mut stream| {
        while stream.write_all(b"?").is_ok() {
            thread::sleep(Duration::from_millis(2));
        }
    });
    assert_nothing_opens(slow_garbage, "TLS");
}

#[test]
fn a_server_that_speaks_unasked_breaks_the_protocol() {
    let address = serve(|mut stream| {
        let _ = stream.write_all(b"220 mail.example ESMTP\r\n");
        linger(&mut stream);
    });
    let url = format!("http://{address}");
    let ended = load(&[&url, "-c", "2", "-n", "6", "-d", "2s", "--timeout", "300ms", "--format", "json"]);
    // The words may come before the load begins, before a request, or in the place of its reply.
    match ended.code() {
        1 => assert!(ended.stderr.contains("bytes that no operation asked for"), "{ended:?}"),
        3 => {
            let told = ended.json();
            let errors = told["errors"].as_object().expect("errors by kind");
            assert_eq!(errors.keys().collect::<Vec<_>>(), ["protocol"], "{told}");
            assert_eq!(number(&told, "/requests"), 0, "{told}");
        }
        _ => panic!("{ended:?}"),
    }
}
