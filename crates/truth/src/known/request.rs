//! Parses the requests of a known server: HTTP/1 and memcached's text protocol, distinguished by their first byte.
//! Bytes in, requests out; no I/O.

use memchr::memmem;

/// Longest accepted request, bytes.
const MAX_REQUEST_BYTES: usize = 1 << 20;
const MAX_HEADERS: usize = 64;

/// A request to the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// An HTTP request for anything but the account and the log.
    Http(KeepAlive),
    /// memcached's `get` of a key.
    Get(Vec<u8>),
    /// memcached's `set`.
    Set,
    /// memcached's `delete`.
    Delete,
    /// The account, over HTTP, as JSON.
    Account,
    /// The log of all requests, over HTTP, as CSV.
    Log,
    /// The account, with memcached's `stats`.
    Stats,
}

/// Whether a connection stays open after a reply (RFC 9112, §9.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeepAlive {
    /// It does, by the default of HTTP/1.1.
    Implicit,
    /// It does, because an HTTP/1.0 client asks for it. The reply must confirm it.
    Explicit,
    /// It does not.
    No,
}

/// Bytes that are not a request of either protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedRequest;

/// Removes the first complete request from the buffer; `None` if more bytes are needed.
pub fn take(buffer: &mut Vec<u8>) -> Result<Option<Request>, MalformedRequest> {
    let parsed = match buffer.first() {
        None => return Ok(None),
        Some(first) if first.is_ascii_uppercase() => http(buffer)?,
        Some(_) => memcached(buffer)?,
    };
    match parsed {
        Some((request, length)) => {
            buffer.drain(..length);
            Ok(Some(request))
        }
        None if buffer.len() > MAX_REQUEST_BYTES => Err(MalformedRequest),
        None => Ok(None),
    }
}

fn http(bytes: &[u8]) -> Result<Option<(Request, usize)>, MalformedRequest> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut head = httparse::Request::new(&mut headers);
    let httparse::Status::Complete(length) = head.parse(bytes).map_err(|_| MalformedRequest)? else {
        return Ok(None);
    };
    let value = |name: &str| {
        let header = head.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name))?;
        std::str::from_utf8(header.value).ok()
    };
    let body: usize =
        value("content-length").map_or(Ok(0), |text| text.trim().parse().map_err(|_| MalformedRequest))?;
    let length = length.checked_add(body).ok_or(MalformedRequest)?;
    if bytes.len() < length {
        return Ok(None);
    }
    let connection_is =
        |word: &str| value("connection").is_some_and(|value| value.eq_ignore_ascii_case(word));
    let keep_alive = match head.version {
        Some(0) if connection_is("keep-alive") => KeepAlive::Explicit,
        Some(0) => KeepAlive::No,
        _ if connection_is("close") => KeepAlive::No,
        _ => KeepAlive::Implicit,
    };
    let request = match head.path {
        Some("/account") => Request::Account,
        Some("/log") => Request::Log,
        _ => Request::Http(keep_alive),
    };
    Ok(Some((request, length)))
}

fn memcached(bytes: &[u8]) -> Result<Option<(Request, usize)>, MalformedRequest> {
    let Some(end) = memmem::find(bytes, b"\r\n") else { return Ok(None) };
    let length = end + 2;
    let mut words = bytes[..end].split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    let request = match (words.next(), words.next()) {
        (Some(b"get"), Some(key)) => Request::Get(key.to_vec()),
        (Some(b"delete"), Some(_)) => Request::Delete,
        (Some(b"stats"), None) => Request::Stats,
        (Some(b"set"), Some(_)) => {
            let size = words.nth(2).and_then(|word| std::str::from_utf8(word).ok()?.parse::<usize>().ok());
            let length =
                size.and_then(|size| length.checked_add(size)?.checked_add(2)).ok_or(MalformedRequest)?;
            return Ok((bytes.len() >= length).then_some((Request::Set, length)));
        }
        _ => return Err(MalformedRequest),
    };
    Ok(Some((request, length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<Request> {
        let mut buffer = text.as_bytes().to_vec();
        let requests = std::iter::from_fn(|| take(&mut buffer).expect("requests")).collect();
        assert!(buffer.is_empty(), "{buffer:?} is left");
        requests
    }

    #[test]
    fn both_protocols_are_parsed() {
        let http = "GET / HTTP/1.1\r\nHost: x\r\n\r\nGET /account HTTP/1.1\r\n\r\n";
        assert_eq!(all(http), [Request::Http(KeepAlive::Implicit), Request::Account]);
        let memcached = "get key-7\r\nset key 0 0 3\r\nabc\r\ndelete key\r\nstats\r\n";
        let expected = [Request::Get(b"key-7".to_vec()), Request::Set, Request::Delete, Request::Stats];
        assert_eq!(all(memcached), expected);
    }

    #[test]
    fn old_clients_ask_for_an_open_connection() {
        let ab = "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n";
        assert_eq!(all(ab), [Request::Http(KeepAlive::Explicit)]);
        assert_eq!(all("GET / HTTP/1.0\r\n\r\n"), [Request::Http(KeepAlive::No)]);
        assert_eq!(all("GET / HTTP/1.1\r\nConnection: close\r\n\r\n"), [Request::Http(KeepAlive::No)]);
    }

    #[test]
    fn an_incomplete_request_stays_in_the_buffer() {
        for text in
            ["GET / HTT", "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nabc", "get k", "set k 0 0 9\r\nab"]
        {
            let mut buffer = text.as_bytes().to_vec();
            assert_eq!(take(&mut buffer), Ok(None), "{text:?}");
            assert_eq!(buffer, text.as_bytes());
        }
    }

    #[test]
    fn malformed_requests_are_refused() {
        for text in ["GET\r\n\r\n", "hello\r\n", "set k 0 0 x\r\n", "\u{1}\r\n"] {
            assert_eq!(take(&mut text.as_bytes().to_vec()), Err(MalformedRequest), "{text:?}");
        }
    }
}
