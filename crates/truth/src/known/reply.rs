//! The replies of a known server, as bytes.

use std::io::Write;

use super::account::Account;
use super::request::{KeepAlive, Request};

/// Writes the replies of one server. Their bodies have one size.
#[derive(Debug)]
pub(super) struct Replies {
    body: Vec<u8>,
}

impl Replies {
    pub fn new(bytes: usize) -> Self {
        Self { body: vec![b'x'; bytes] }
    }

    /// Writes a successful reply. Returns whether the connection stays open.
    pub fn served(&self, request: &Request, out: &mut Vec<u8>) -> bool {
        match request {
            Request::Http(keep_alive) => return http("200 OK", *keep_alive, &self.body, out),
            Request::Get(key) => {
                out.extend_from_slice(b"VALUE ");
                out.extend_from_slice(key);
                let _ = write!(out, " 0 {}\r\n", self.body.len());
                out.extend_from_slice(&self.body);
                out.extend_from_slice(b"\r\nEND\r\n");
            }
            Request::Set => out.extend_from_slice(b"STORED\r\n"),
            Request::Delete => out.extend_from_slice(b"DELETED\r\n"),
            Request::Account | Request::Log | Request::Stats => {}
        }
        true
    }

    /// Writes a refusal with its reason in one word. Returns whether the connection stays open.
    pub fn refused(request: &Request, word: &str, out: &mut Vec<u8>) -> bool {
        if let Request::Http(keep_alive) = request {
            return http("503 Service Unavailable", *keep_alive, word.as_bytes(), out);
        }
        let _ = write!(out, "SERVER_ERROR {word}\r\n");
        true
    }
}

/// Writes a document about the server itself. The connection is closed afterwards.
pub(super) fn document(kind: &str, text: &str, out: &mut Vec<u8>) {
    let _ = write!(
        out,
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
        text.len()
    );
}

/// Writes the counts of the account as a reply to memcached's `stats`.
pub(super) fn stats(account: &Account, out: &mut Vec<u8>) {
    let Account { requests, replies, errors, refused, dropped, .. } = account;
    let counts = [
        ("requests", requests),
        ("replies", replies),
        ("errors", errors),
        ("refused", refused),
        ("dropped", dropped),
    ];
    for (name, count) in counts {
        let _ = write!(out, "STAT {name} {count}\r\n");
    }
    out.extend_from_slice(b"END\r\n");
}

fn http(status: &str, keep_alive: KeepAlive, body: &[u8], out: &mut Vec<u8>) -> bool {
    let connection = match keep_alive {
        KeepAlive::Implicit => "",
        KeepAlive::Explicit => "Connection: keep-alive\r\n",
        KeepAlive::No => "Connection: close\r\n",
    };
    let _ = write!(out, "HTTP/1.1 {status}\r\n{connection}Content-Length: {}\r\n\r\n", body.len());
    out.extend_from_slice(body);
    keep_alive != KeepAlive::No
}
