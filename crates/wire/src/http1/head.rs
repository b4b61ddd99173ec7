//! Parses the head of a reply: its end, its status, the framing of its body, and whether the connection may be used again.
//! All are pure functions of the head's bytes. `cache` keeps a head; `response` knows whether the request was HEAD.

use std::mem::MaybeUninit;

use memchr::memchr;

use super::error::Violation;
use super::limits::{MAX_HEAD_BYTES, MAX_HEADERS};
use crate::decimal;

/// The head of a final reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The status code, 200 to 999 (1xx are skipped).
    pub status: u16,
    /// Whether the connection may carry another request after this reply.
    pub keep_alive: bool,
    /// How the body is delimited.
    pub framing: Framing,
    /// The size of the head with the empty line.
    pub head_bytes: u32,
}

/// How a body is delimited (RFC 9112, section 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// No body: the reply to HEAD, or status 204 or 304.
    None,
    /// This many bytes.
    Length(u64),
    /// `Transfer-Encoding: chunked`.
    Chunked,
    /// All bytes until the server closes.
    UntilClose,
}

/// The first bytes of every head.
const START: &[u8] = b"HTTP/1.";

/// The meaning of the bytes of a head, independent of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Meaning {
    pub status: u16,
    /// Whether version and `Connection` let the connection persist (RFC 9112, section 9.3).
    pub persistent: bool,
    /// The framing if the request was not HEAD. A violation in it does not matter where there can be no body.
    pub framing: Result<Framing, Violation>,
}

impl Meaning {
    /// Whether this is an interim reply (1xx), which the final one follows.
    pub fn is_interim(&self) -> bool {
        self.status < 200
    }

    /// Parses the head at the front of `bytes` and returns its size; `None` if its end has not arrived.
    ///
    /// Errors depend on the bytes alone, not on how many have arrived, so that every split of a stream
    /// fails in the same way.
    pub fn parse_front(bytes: &[u8]) -> Result<Option<(Self, usize)>, Violation> {
        let window = &bytes[..bytes.len().min(MAX_HEAD_BYTES)];
        // The parser itself would skip empty lines before the status line.
        if window.starts_with(START)
            && let Ok(found) = Self::parse(window)
        {
            return Ok(Some(found));
        }
        match find_end(bytes, 0)? {
            Some(end) => Self::parse(&bytes[..end]).map(Some),
            None => Ok(None),
        }
    }

    /// Parses the head at the front of `bytes`, which must contain all of it, and returns its size.
    pub fn parse(bytes: &[u8]) -> Result<(Self, usize), Violation> {
        let mut headers = [const { MaybeUninit::uninit() }; MAX_HEADERS];
        let mut response = httparse::Response::new(&mut []);
        let mut config = httparse::ParserConfig::default();
        // RFC 9112, section 5.2: a user agent must read a folded line as one with spaces.
        config.allow_obsolete_multiline_headers_in_responses(true);
        // Section 4: recipients may split the status line at white space. Section 5.1: in a reply, white space between the
        // name of a field and its colon is removed.
        config.allow_multiple_spaces_in_response_status_delimiters(true);
        config.allow_spaces_after_header_name_in_responses(true);
        let length = match config.parse_response_with_uninit_headers(&mut response, bytes, &mut headers) {
            Ok(httparse::Status::Complete(length)) => length,
            Err(httparse::Error::TooManyHeaders) => return Err(Violation::TooManyHeaders),
            Err(httparse::Error::Version) if is_later_minor(bytes) => {
                return Self::parse(&as_version_1_1(bytes));
            }
            Ok(httparse::Status::Partial) | Err(_) => return Err(Violation::MalformedHead),
        };
        let (Some(status @ 100..), Some(minor)) = (response.code, response.version) else {
            return Err(Violation::MalformedHead);
        };

        let mut fields = Fields::default();
        for header in response.headers.iter() {
            fields.add(header);
        }
        let bodiless = matches!(status, 100..=199 | 204 | 304);
        let framing = if bodiless { Ok(Framing::None) } else { fields.framing() };
        Ok((Self { status, persistent: fields.persistent(minor), framing }, length))
    }
}

/// Whether the version is one after HTTP/1.1, which is read as the highest that is known (RFC 9110, section 2.5).
fn is_later_minor(bytes: &[u8]) -> bool {
    matches!(bytes.get(START.len()..START.len() + 2), Some([b'2'..=b'9', b' ']))
}

fn as_version_1_1(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[START.len()] = b'1';
    bytes
}

/// Finds the end of the head at the front of `bytes`: after the first empty line. An earlier call has found no end in the
/// first `scanned` bytes.
pub(super) fn find_end(bytes: &[u8], scanned: usize) -> Result<Option<usize>, Violation> {
    let start = START.len().min(bytes.len());
    if bytes[..start] != START[..start] {
        return Err(Violation::NotHttp1);
    }
    let bytes = &bytes[..bytes.len().min(MAX_HEAD_BYTES)];
    // The line feed before the empty line may be up to two bytes back.
    let mut at = scanned.saturating_sub(2);
    while let Some(found) = memchr(b'\n', &bytes[at..]) {
        at += found + 1;
        match bytes[at..] {
            [b'\n', ..] => return Ok(Some(at + 1)),
            [b'\r', b'\n', ..] => return Ok(Some(at + 2)),
            _ => {}
        }
    }
    if bytes.len() == MAX_HEAD_BYTES { Err(Violation::HeadTooLarge) } else { Ok(None) }
}

/// Finds the values of the fields called `name` in a head that has been parsed before.
pub(super) fn values<'a>(head: &'a [u8], name: &str) -> impl Iterator<Item = &'a [u8]> {
    head.split(|&byte| byte == b'\n').skip(1).filter_map(move |line| {
        let colon = memchr(b':', line)?;
        line[..colon]
            .trim_ascii_end()
            .eq_ignore_ascii_case(name.as_bytes())
            .then(|| line[colon + 1..].trim_ascii())
    })
}

/// The fields that decide framing and persistence, collected over all their lines.
#[derive(Default)]
struct Fields {
    content_length: Option<Result<u64, Violation>>,
    /// The last transfer coding; `None` without `Transfer-Encoding`.
    coding: Option<Coding>,
    close: bool,
    keep_alive: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Coding {
    Chunked,
    Other,
    /// Another one came after `chunked`: the body ends when the server closes.
    ChunkedWithin,
    /// `chunked` came twice.
    Repeated,
}

impl Fields {
    fn add(&mut self, header: &httparse::Header<'_>) {
        // The length of the name excludes almost every field without a comparison.
        match header.name.len() {
            10 if header.name.eq_ignore_ascii_case("connection") => self.add_connection(header.value),
            14 if header.name.eq_ignore_ascii_case("content-length") => self.add_content_length(header.value),
            17 if header.name.eq_ignore_ascii_case("transfer-encoding") => {
                self.add_transfer_encoding(header.value);
            }
            _ => {}
        }
    }

    fn add_connection(&mut self, value: &[u8]) {
        for option in list(value) {
            self.close |= option.eq_ignore_ascii_case(b"close");
            self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
        }
    }

    /// RFC 9112, section 6.3, item 5: a list of equal numbers counts as that number.
    fn add_content_length(&mut self, value: &[u8]) {
        for element in value.split(|&byte| byte == b',') {
            let length = decimal::parse(element.trim_ascii()).ok_or(Violation::InvalidContentLength);
            self.content_length = Some(match (self.content_length, length) {
                (None, new) => new,
                (Some(Ok(old)), Ok(new)) if old == new => Ok(old),
                (Some(Ok(_)), Ok(_)) => Err(Violation::ConflictingContentLength),
                (Some(Err(error)), _) | (_, Err(error)) => Err(error),
            });
        }
    }

    /// RFC 9112, section 6.1: `chunked` must not be applied more than once. `identity` is no coding: old servers send it beside
    /// `Content-Length` (RFC 2616, section 4.4).
    fn add_transfer_encoding(&mut self, value: &[u8]) {
        if list(value).next().is_none() {
            self.coding.get_or_insert(Coding::Other);
        }
        for name in list(value).filter(|name| !name.eq_ignore_ascii_case(b"identity")) {
            let is_chunked = name.eq_ignore_ascii_case(b"chunked");
            self.coding = Some(match (self.coding, is_chunked) {
                (Some(Coding::Repeated), _) | (Some(Coding::Chunked | Coding::ChunkedWithin), true) => {
                    Coding::Repeated
                }
                (Some(Coding::Chunked | Coding::ChunkedWithin), false) => Coding::ChunkedWithin,
                (_, true) => Coding::Chunked,
                (_, false) => Coding::Other,
            });
        }
    }

    /// RFC 9112, section 9.3. HTTP/1.0 has no transfer codings: a reply with one is the last on its connection
    /// (section 6.1).
    fn persistent(&self, minor: u8) -> bool {
        !self.close && (minor >= 1 || self.keep_alive && self.coding.is_none())
    }

    /// RFC 9112, section 6.3, items 3 to 8, for replies that may have a body.
    fn framing(&self) -> Result<Framing, Violation> {
        match (self.coding, self.content_length) {
            (Some(_), Some(_)) => Err(Violation::ConflictingFraming),
            (Some(Coding::Repeated), None) => Err(Violation::InvalidTransferEncoding),
            (Some(Coding::Chunked), None) => Ok(Framing::Chunked),
            (None, Some(length)) => length.map(Framing::Length),
            (Some(Coding::Other | Coding::ChunkedWithin) | None, None) => Ok(Framing::UntilClose),
        }
    }
}

/// The elements of a comma-separated list, empty ones left out (RFC 9110, section 5.6.1).
fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii).filter(|element| !element.is_empty())
}

/// RFC 9110, section 5.6.2: `tchar`.
pub(super) const fn is_token(byte: u8) -> bool {
    matches!(byte,
        b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+' | b'-' | b'.' | b'^' | b'_' | b'`' | b'|' | b'~'
        | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framing(status: u16, fields: &str) -> Result<Framing, Violation> {
        Meaning::parse(format!("HTTP/1.1 {status} X\r\n{fields}\r\n\r\n").as_bytes())?.0.framing
    }

    #[test]
    fn the_framing_follows_from_the_fields() {
        for (fields, expected) in [
            ("Content-Length: 7", Framing::Length(7)),
            ("content-length:7", Framing::Length(7)),
            ("Content-Length \t: 7", Framing::Length(7)),
            ("Content-Length: 7\r\nContent-Length: 7", Framing::Length(7)),
            ("Content-Length: 7, 7", Framing::Length(7)),
            ("Content-Length: 18446744073709551615", Framing::Length(u64::MAX)),
            ("Transfer-Encoding: chunked", Framing::Chunked),
            ("Transfer-Encoding: gzip,\r\n CHUNKED", Framing::Chunked),
            ("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked", Framing::Chunked),
            ("Transfer-Encoding: gzip", Framing::UntilClose),
            ("Transfer-Encoding: chunked, gzip", Framing::UntilClose),
            ("Transfer-Encoding: ,", Framing::UntilClose),
            ("Transfer-Encoding: identity\r\nContent-Length: 7", Framing::Length(7)),
            ("Transfer-Encoding: identity, chunked", Framing::Chunked),
            ("Server: x", Framing::UntilClose),
        ] {
            assert_eq!(framing(200, fields), Ok(expected), "{fields}");
        }
    }

    #[test]
    fn violations_in_the_framing_are_refused() {
        for (fields, expected) in [
            ("Content-Length: 7\r\nContent-Length: 8", Violation::ConflictingContentLength),
            ("Content-Length: 7, 8", Violation::ConflictingContentLength),
            ("Content-Length: +7", Violation::InvalidContentLength),
            ("Content-Length: 7 7", Violation::InvalidContentLength),
            ("Content-Length:", Violation::InvalidContentLength),
            ("Content-Length: 18446744073709551616", Violation::InvalidContentLength),
            ("Content-Length: 7\r\nTransfer-Encoding: chunked", Violation::ConflictingFraming),
            ("Transfer-Encoding: chunked, chunked", Violation::InvalidTransferEncoding),
            ("Transfer-Encoding: chunked, gzip, chunked", Violation::InvalidTransferEncoding),
            ("Content-Length: 7\r\nTransfer-Encoding:", Violation::ConflictingFraming),
            ("A: b\rc", Violation::MalformedHead),
            ("No colon", Violation::MalformedHead),
            ("Nul: \0", Violation::MalformedHead),
        ] {
            assert_eq!(framing(200, fields), Err(expected), "{fields}");
        }
    }

    #[test]
    fn some_statuses_have_no_body() {
        for status in [204, 304] {
            for fields in ["Content-Length: 7", "Transfer-Encoding: chunked", "Content-Length: x"] {
                assert_eq!(framing(status, fields), Ok(Framing::None), "{status} {fields}");
            }
        }
    }

    #[test]
    fn version_and_connection_field_decide_persistence() {
        for (version, fields, expected) in [
            ("1.1", "Server: x", true),
            ("1.1", "Connection: close", false),
            ("1.1", "connection: Keep-Alive, CLOSE", false),
            ("1.1", "Connection: closed", true),
            ("1.0", "Server: x", false),
            ("1.0", "Connection: keep-alive", true),
            ("1.0", "Connection: foo\r\nConnection: Keep-Alive", true),
            ("1.0", "Connection: keep-alive\r\nTransfer-Encoding: chunked", false),
        ] {
            let head = format!("HTTP/{version} 200 OK\r\n{fields}\r\n\r\n");
            let (meaning, _) = Meaning::parse(head.as_bytes()).expect("the head is valid");
            assert_eq!(meaning.persistent, expected, "{version} {fields}");
        }
    }

    #[test]
    fn a_head_ends_after_its_first_empty_line() {
        for (bytes, end) in [
            (&b"HTTP/1.1 200 OK\r\n\r\nbody"[..], Some(19)),
            (b"HTTP/1.1 200 OK\n\nbody", Some(17)),
            (b"HTTP/1.1 200 OK\r\na:b\n\r\n\r\n", Some(23)),
            (b"HTTP/1.1 200 OK\r\na:b\r\n\r", None),
        ] {
            assert_eq!(find_end(bytes, 0), Ok(end), "{}", bytes.escape_ascii());
            for scanned in 0..end.unwrap_or(bytes.len()) {
                assert_eq!(find_end(bytes, scanned), Ok(end), "{} from {scanned}", bytes.escape_ascii());
            }
        }
    }

    /// What RFC 9112 lets recipients of replies accept.
    #[test]
    fn a_status_line_is_read_as_real_servers_write_it() {
        for line in [
            "HTTP/1.1 200 OK",
            "HTTP/1.1 200 ",
            "HTTP/1.1 200",
            "HTTP/1.1   200   OK",
            "HTTP/1.1 200 A\tB",
            "HTTP/1.1 200 Geglückt",
            "HTTP/1.2 200 OK",
            "HTTP/1.9 200 OK",
        ] {
            for end in ["\r\n", "\n"] {
                let head = format!("{line}{end}Content-Length: 7{end}{end}");
                let (meaning, length) = Meaning::parse(head.as_bytes()).expect(line);
                assert_eq!((meaning.status, meaning.framing), (200, Ok(Framing::Length(7))), "{line}");
                assert_eq!((meaning.persistent, length), (true, head.len()), "{line}");
            }
        }
        for line in [
            "HTTP/1.1\t200 OK",
            "HTTP/1.10 200 OK",
            "HTTP/1. 200 OK",
            "HTTP/1.1 200 A\rB",
            "HTTP/1.1 200 OK\r\n ",
        ] {
            let head = format!("{line}\r\nContent-Length: 7\r\n\r\n");
            assert_eq!(Meaning::parse(head.as_bytes()), Err(Violation::MalformedHead), "{line:?}");
        }
    }

    #[test]
    fn a_head_has_a_status_and_not_too_many_fields() {
        let many = |count| format!("HTTP/1.1 200 OK\r\n{}\r\n", "a: b\r\n".repeat(count));
        assert!(Meaning::parse(many(MAX_HEADERS).as_bytes()).is_ok());
        assert_eq!(Meaning::parse(many(MAX_HEADERS + 1).as_bytes()), Err(Violation::TooManyHeaders));
        for status in ["099", "20", "2000", "abc", ""] {
            let head = format!("HTTP/1.1 {status} X\r\n\r\n");
            assert_eq!(Meaning::parse(head.as_bytes()), Err(Violation::MalformedHead), "{status}");
        }
    }

    #[test]
    fn the_values_of_a_field_are_found() {
        let head = b"HTTP/1.1 302 Found\r\nSet-Cookie: a=1\r\nLocation: /next\r\nset-cookie:b=2 \r\n\r\n";
        assert_eq!(values(head, "Set-Cookie").collect::<Vec<_>>(), [b"a=1", b"b=2"]);
        assert_eq!(values(head, "location").next(), Some(&b"/next"[..]));
        assert_eq!(values(head, "HTTP/1.1 302 Found").next(), None);
    }
}
