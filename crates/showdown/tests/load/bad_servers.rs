//! Misbehaving servers: every misbehaviour is counted as the right kind of error. The client never hangs or panics, and
//! a broken reply is never a fast success.

use std::io::{BufRead, Write};
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::client::{load, measure, number};
use crate::misbehaving::{
    endless, linger, read_request, replies, replies_and_closes, replies_in_two_parts, serve,
};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";

/// Loads a server with six operations, each with a timeout of 300 ms.
fn attack(scheme: &str, address: SocketAddr) -> Value {
    let url = format!("{scheme}://{address}");
    measure(&[&url, "-c", "2", "-n", "6", "-d", "20s", "--timeout", "300ms", "--progress", "none"])
}

/// Asserts that every operation fails with this kind of error and no other.
fn assert_fails(scheme: &str, address: SocketAddr, kind: &str) {
    let result = attack(scheme, address);
    let errors = result["errors"].as_object().expect("errors by kind");
    assert_eq!(errors.keys().collect::<Vec<_>>(), [kind], "{result}");
    assert_eq!((number(&result, "/requests"), number(&result, "/failed")), (0, 6), "{result}");
    assert!(result["error_examples"][kind].as_str().is_some_and(|example| !example.is_empty()), "{result}");
    assert_eq!(result["valid"], false);
}

/// Asserts that every operation succeeds.
fn assert_succeeds(scheme: &str, address: SocketAddr) {
    let result = attack(scheme, address);
    assert_eq!((number(&result, "/requests"), number(&result, "/failed")), (6, 0), "{result}");
}

#[test]
fn a_connection_that_is_reset_is_a_reset() {
    // A close with unread bytes resets the connection (RFC 9293, 3.6).
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
fn garbage_is_a_protocol_error() {
    assert_fails("http", replies(b"\x00\xff\xfe\r\n\r\n"), "protocol");
    assert_fails("http", replies("220 mail.example ESMTP\r\n"), "protocol");
    assert_fails("memcache", replies("HTTP/1.1 400 Bad Request\r\n\r\n"), "protocol");
    assert_fails("redis", replies("HTTP/1.1 400 Bad Request\r\n\r\n"), "protocol");
    assert_fails("memcache", replies("VALUE key-0000 0 99999999999999999999\r\n"), "protocol");
    assert_fails("redis", replies("$99999999999999999999\r\n"), "protocol");
}

#[test]
fn a_body_shorter_than_announced_is_a_closed_connection() {
    assert_fails("http", replies_and_closes("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhi"), "closed");
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n";
    assert_fails("http", replies_and_closes(chunked), "closed");
}

#[test]
fn a_body_longer_than_announced_is_a_protocol_error() {
    assert_fails("http", replies("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi and more"), "protocol");
}

#[test]
fn an_error_reply_is_an_unexpected_reply() {
    assert_fails("http", replies("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"), "unexpected_reply");
    assert_fails("memcache", replies("SERVER_ERROR out of memory\r\n"), "unexpected_reply");
    assert_fails("redis", replies("-LOADING Redis is loading the dataset in memory\r\n"), "unexpected_reply");
}

/// A store that accepts every value and returns another one of the same length.
#[test]
fn a_value_that_differs_from_the_stored_one_is_an_unexpected_reply() {
    let forgetful = serve(|mut stream| {
        let mut lines = std::io::BufReader::new(stream.try_clone().expect("a socket")).lines();
        // The second line of a `set` is its value.
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
    let result = measure(&[&url, "--keys", "10", "--value-size", "8", "--populate", "-c", "2", "-n", "6"]);
    assert_eq!(result["errors"], serde_json::json!({ "unexpected_reply": 6 }), "{result}");
    let unchecked = measure(&[&url, "--keys", "10", "-c", "2", "-n", "6"]);
    assert_eq!(number(&unchecked, "/requests"), 6, "without --populate there is no value to compare with");
}

#[test]
fn an_announced_close_after_each_reply_is_no_error() {
    let closing = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi";
    assert_succeeds("http", replies_and_closes(closing));
    assert_succeeds("http", replies_and_closes("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nto the end"));
    assert_succeeds("http", replies_and_closes("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi"));
}

#[test]
fn an_unannounced_close_fails_the_request_in_flight() {
    let result = attack("http", replies_and_closes(OK));
    // The next request and the close race each other.
    let errors = result["errors"].as_object().expect("errors by kind");
    assert!(errors.keys().all(|kind| kind == "closed" || kind == "reset"), "{result}");
    assert!(number(&result, "/requests") >= 2, "{result}");
    assert_eq!(number(&result, "/requests") + number(&result, "/failed"), 6, "{result}");
}

#[test]
fn a_connection_closed_at_once_is_a_closed_connection() {
    let result =
        load(&[&format!("http://{}", serve(drop)), "-c", "2", "-n", "6", "-d", "2s", "--format", "json"]);
    // The close and the request race each other; the client must survive both orders.
    match result.code() {
        3 => {
            let result = result.json();
            let errors = result["errors"].as_object().expect("errors by kind");
            assert!(errors.keys().all(|kind| kind == "closed" || kind == "reset"), "{result}");
            assert_eq!(number(&result, "/requests"), 0, "{result}");
        }
        1 => assert!(result.stderr.contains("closed the connection"), "{result:?}"),
        _ => panic!("{result:?}"),
    }
}

#[test]
fn a_reply_that_arrives_byte_by_byte_is_a_success() {
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
fn an_endless_header_is_a_protocol_error() {
    let giant = format!("HTTP/1.1 200 OK\r\nX: {}\r\nContent-Length: 0\r\n\r\n", "x".repeat(4 << 20));
    assert_fails("http", replies(giant), "protocol");
    assert_fails("http", endless("HTTP/1.1 200 OK\r\nX: ", [b'x'; 4096]), "protocol");
    assert_fails("http", endless("HTTP/1.1 200 OK\r\n", "X: y\r\n"), "protocol");
    assert_fails("http", endless("", [b'x'; 4096]), "protocol");
}

#[test]
fn an_endless_body_is_a_timeout_and_takes_no_memory() {
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    assert_fails("http", endless("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", chunk), "timeout");
    assert_fails("http", endless("HTTP/1.1 200 OK\r\n\r\n", vec![b'x'; 0x10000]), "timeout");
}

#[test]
fn endless_interim_replies_are_no_reply() {
    let result = attack("http", endless("", "HTTP/1.1 100 Continue\r\n\r\n"));
    assert_eq!(number(&result, "/requests"), 0, "{result}");
    assert_eq!(number(&result, "/failed"), 6, "{result}");
}

/// Asserts that no connection opens, and that the command prints one line with the reason.
fn assert_nothing_opens(address: SocketAddr, why: &str) {
    let url = format!("https://{address}");
    let ended = load(&[&url, "-c", "2", "-n", "6", "--timeout", "300ms"]);
    assert_eq!((ended.code(), ended.stdout.as_str()), (1, ""), "{ended:?}");
    assert!(ended.stderr.lines().count() == 1 && ended.stderr.contains(why), "{ended:?}");
}

#[test]
fn a_server_without_tls_is_reported() {
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
fn a_server_that_sends_unasked_is_a_protocol_error() {
    let address = serve(|mut stream| {
        let _ = stream.write_all(b"220 mail.example ESMTP\r\n");
        linger(&mut stream);
    });
    let url = format!("http://{address}");
    let ended = load(&[&url, "-c", "2", "-n", "6", "-d", "2s", "--timeout", "300ms", "--format", "json"]);
    // The bytes may arrive before the load begins, before a request, or instead of its reply.
    match ended.code() {
        1 => assert!(ended.stderr.contains("sent bytes without a request"), "{ended:?}"),
        3 => {
            let result = ended.json();
            let errors = result["errors"].as_object().expect("errors by kind");
            assert_eq!(errors.keys().collect::<Vec<_>>(), ["protocol"], "{result}");
            assert_eq!(number(&result, "/requests"), 0, "{result}");
        }
        _ => panic!("{ended:?}"),
    }
}

#[test]
fn a_reply_in_two_parts_without_tcp_nodelay_is_noted() {
    let address = replies_in_two_parts("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", "hi");
    let result = measure(&[&format!("http://{address}"), "-c", "2", "-n", "120", "-d", "30s"]);
    let notes = result["notes"].to_string();
    assert!(notes.contains("Nagle's algorithm") && notes.contains("TCP_NODELAY"), "{result}");
}
