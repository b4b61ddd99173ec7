//! Replies of a known server, as bytes.

use std::io::Write;

use super::account::Account;
use super::request::{Lasting, Request};

/// Writes the replies of one server: their bodies are of one size.
#[derive(Debug)]
pub(super) struct Replies {
    body: Vec<u8>,
}

impl Replies {
    pub fn new(bytes: usize) -> Self {
        Self { body: vec![b'x'; bytes] }
    }

    /// The request was served. Says whether the connection lasts.
    pub fn served(&self, request: &Request, out: &mut Vec<u8>) -> bool {
        match request {
            Request::Http(lasting) => return http("200 OK", *lasting, &self.body, out),
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

    /// The request was refused, for this reason in one word. Says whether the connection lasts.
    pub fn refused(request: &Request, word: &str, out: &mut Vec<u8>) -> bool {
        if let Request::Http(lasting) = request {
            return http("503 Service Unavailable", *lasting, word.as_bytes(), out);
        }
        let _ = write!(out, "SERVER_ERROR {word}\r\n");
        true
    }
}

/// A question about the server itself. The connection does not last.
pub(super) fn document(kind: &str, text: &str, out: &mut Vec<u8>) {
    let _ = write!(
        out,
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
        text.len()
    );
}

/// The counts of the account in memcached's words.
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

fn http(status: &str, lasting: Lasting, body: &[u8], out: &mut Vec<u8>) -> bool {
    let connection = match lasting {
        Lasting::Yes => "",
        Lasting::IfSaid => "Connection: keep-alive\r\n",
        Lasting::No => "Connection: close\r\n",
    };
    let _ = write!(out, "HTTP/1.1 {status}\r\n{connection}Content-Length: {}\r\n\r\n", body.len());
    out.extend_from_slice(body);
    lasting != Lasting::No
}
