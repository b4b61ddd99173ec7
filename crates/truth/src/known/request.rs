//! Requests as a known server reads them: HTTP/1 and memcached's text protocol, told apart by their first
//! byte. Pure: bytes in, requests out.

use memchr::memmem;

/// Longest request that is waited for, bytes.
const LONGEST: usize = 1 << 20;
const MOST_HEADERS: usize = 64;

/// What somebody asks of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// An HTTP request for anything but the account; and whether the connection lasts.
    Http(Lasting),
    /// memcached's `get` of a key.
    Get(Vec<u8>),
    /// memcached's `set`.
    Set,
    /// memcached's `delete`.
    Delete,
    /// What the server knows of itself, over HTTP, as JSON.
    Account,
    /// Every request and its reply, over HTTP, as CSV.
    Log,
    /// The account in the words of memcached's `stats`.
    Stats,
}

/// Whether a connection goes on after a reply (RFC 9112, §9.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasting {
    /// It does, as HTTP/1.1 has it.
    Yes,
    /// It does because an HTTP/1.0 client asks for it, who wants to be told so.
    IfSaid,
    /// It does not.
    No,
}

/// Bytes that are no request that this server knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotARequest;

/// Takes the first whole request off the buffer; none if more bytes are needed.
pub fn take(buffer: &mut Vec<u8>) -> Result<Option<Request>, NotARequest> {
    let found = match buffer.first() {
        None => return Ok(None),
        Some(first) if first.is_ascii_uppercase() => http(buffer)?,
        Some(_) => memcached(buffer)?,
    };
    match found {
        Some((request, length)) => {
            buffer.drain(..length);
            Ok(Some(request))
        }
        None if buffer.len() > LONGEST => Err(NotARequest),
        None => Ok(None),
    }
}

fn http(bytes: &[u8]) -> Result<Option<(Request, usize)>, NotARequest> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut head = httparse::Request::new(&mut headers);
    let httparse::Status::Complete(length) = head.parse(bytes).map_err(|_| NotARequest)? else {
        return Ok(None);
    };
    let value = |name: &str| {
        let header = head.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name))?;
        std::str::from_utf8(header.value).ok()
    };
    let body: usize =
        value("content-length").map_or(Ok(0), |text| text.trim().parse().map_err(|_| NotARequest))?;
    let length = length.checked_add(body).ok_or(NotARequest)?;
    if bytes.len() < length {
        return Ok(None);
    }
    let says = |word: &str| value("connection").is_some_and(|said| said.eq_ignore_ascii_case(word));
    let lasting = match head.version {
        Some(0) if says("keep-alive") => Lasting::IfSaid,
        Some(0) => Lasting::No,
        _ if says("close") => Lasting::No,
        _ => Lasting::Yes,
    };
    let request = match head.path {
        Some("/account") => Request::Account,
        Some("/log") => Request::Log,
        _ => Request::Http(lasting),
    };
    Ok(Some((request, length)))
}

fn memcached(bytes: &[u8]) -> Result<Option<(Request, usize)>, NotARequest> {
    let Some(end) = memmem::find(bytes, b"\r\n") else { return Ok(None) };
    let length = end + 2;
    let mut words = bytes[..end].split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    let request = match (words.next(), words.next()) {
        (Some(b"get"), Some(key)) => Request::Get(key.to_vec()),
        (Some(b"delete"), Some(_)) => Request::Delete,
        (Some(b"stats"), None) => Request::Stats,
        (Some(b"set"), Some(_)) => {
            let size = words.nth(2).and_then(|word| std::str::from_utf8(word).ok()?.parse::<usize>().ok());
            let length = size.and_then(|size| length.checked_add(size)?.checked_add(2)).ok_or(NotARequest)?;
            return Ok((bytes.len() >= length).then_some((Request::Set, length)));
        }
        _ => return Err(NotARequest),
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
    fn both_protocols_are_known_by_their_words() {
        let http = "GET / HTTP/1.1\r\nHost: x\r\n\r\nGET /account HTTP/1.1\r\n\r\n";
        assert_eq!(all(http), [Request::Http(Lasting::Yes), Request::Account]);
        let memcached = "get key-7\r\nset key 0 0 3\r\nabc\r\ndelete key\r\nstats\r\n";
        let expected = [Request::Get(b"key-7".to_vec()), Request::Set, Request::Delete, Request::Stats];
        assert_eq!(all(memcached), expected);
    }

    #[test]
    fn old_clients_say_whether_a_connection_lasts() {
        let ab = "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n";
        assert_eq!(all(ab), [Request::Http(Lasting::IfSaid)]);
        assert_eq!(all("GET / HTTP/1.0\r\n\r\n"), [Request::Http(Lasting::No)]);
        assert_eq!(all("GET / HTTP/1.1\r\nConnection: close\r\n\r\n"), [Request::Http(Lasting::No)]);
    }

    #[test]
    fn a_part_of_a_request_is_waited_for() {
        for text in
            ["GET / HTT", "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nabc", "get k", "set k 0 0 9\r\nab"]
        {
            let mut buffer = text.as_bytes().to_vec();
            assert_eq!(take(&mut buffer), Ok(None), "{text:?}");
            assert_eq!(buffer, text.as_bytes());
        }
    }

    #[test]
    fn nonsense_is_told_apart() {
        for text in ["GET\r\n\r\n", "hello\r\n", "set k 0 0 x\r\n", "\u{1}\r\n"] {
            assert_eq!(take(&mut text.as_bytes().to_vec()), Err(NotARequest), "{text:?}");
        }
    }
}
