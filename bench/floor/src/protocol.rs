//! The requests, and the length of their replies. Only the first reply is parsed.

use std::io::{self, Error, ErrorKind, Read, Write};
use std::net::{SocketAddrV4, TcpStream};

/// A fixed request, and how to find the length of its reply.
pub struct Exchange {
    /// The bytes of the request.
    pub request: Vec<u8>,
    length_of_reply: fn(&[u8]) -> Option<usize>,
}

impl Exchange {
    /// GET of a path, with a reply that carries a `Content-Length` (RFC 9112, section 6).
    pub fn http(host: &str, path: &str) -> Self {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").into_bytes();
        Self { request, length_of_reply: http_length }
    }

    /// Text get of a key (memcached's `doc/protocol.txt`, "Retrieval command").
    pub fn memcached(key: &str) -> Self {
        Self { request: format!("get {key}\r\n").into_bytes(), length_of_reply: memcached_length }
    }

    /// Sends the request once and returns the length of the whole reply in bytes. Every later reply must have this length.
    pub fn probe(&self, server: SocketAddrV4) -> io::Result<usize> {
        let mut stream = TcpStream::connect(server)?;
        stream.write_all(&self.request)?;
        let mut reply = Vec::new();
        let mut chunk = [0; 4096];
        loop {
            if let Some(length) = (self.length_of_reply)(&reply) {
                return Ok(length);
            }
            match stream.read(&mut chunk)? {
                0 => {
                    return Err(Error::new(
                        ErrorKind::UnexpectedEof,
                        "the server closed the connection before its first reply was complete",
                    ));
                }
                n => reply.extend_from_slice(&chunk[..n]),
            }
        }
    }
}

/// Length of head and body of a reply with status 200; `None` until its head is complete.
fn http_length(reply: &[u8]) -> Option<usize> {
    let head_bytes = reply.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = str::from_utf8(&reply[..head_bytes]).ok()?;
    head.starts_with("HTTP/1.1 200 ").then_some(())?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    })?;
    Some(head_bytes + length)
}

/// `VALUE <key> <flags> <bytes>\r\n<data>\r\nEND\r\n`: its length; `None` until its first line is complete.
fn memcached_length(reply: &[u8]) -> Option<usize> {
    let line_bytes = reply.windows(2).position(|two| two == b"\r\n")? + 2;
    let line = str::from_utf8(&reply[..line_bytes]).ok()?;
    line.starts_with("VALUE ").then_some(())?;
    let data_bytes: usize = line.split_ascii_whitespace().nth(3)?.parse().ok()?;
    Some(line_bytes + data_bytes + "\r\nEND\r\n".len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_a_reply_is_that_of_its_head_and_body() {
        assert_eq!(http_length(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n012"), Some(39 + 10));
        assert_eq!(memcached_length(b"VALUE key 0 1024\r\n...."), Some(18 + 1024 + 7));
    }

    #[test]
    fn an_unsuccessful_reply_has_no_length() {
        assert_eq!(http_length(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n"), None);
        assert_eq!(http_length(b"HTTP/1.1 404 Not Found\r\nContent-Length: 10\r\n\r\n"), None);
        assert_eq!(memcached_length(b"END\r\n"), None);
    }
}
