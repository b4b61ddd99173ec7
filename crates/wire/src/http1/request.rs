//! Renders requests. Checks every part that a user can supply, so that no part can smuggle in a header
//! or a second request; leaves methods with a meaning of their own (CONNECT, upgrades) out.

use super::chunked::is_token;
use super::error::RequestError;
use crate::decimal;

/// A request, borrowed from wherever its parts live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// The method, such as `GET`; case matters (RFC 9110, section 9.1).
    pub method: &'a str,
    /// Path and query as they go on the wire, percent-encoded: `/search?q=a%20b`. Or `*` for OPTIONS, or
    /// an absolute URI for a proxy.
    pub target: &'a str,
    /// The value of `Host`, unless `headers` has one: a name or address, with the port if it is not the
    /// scheme's default.
    pub host: &'a str,
    /// Further fields, sent in this order after `Host`.
    pub headers: &'a [(&'a str, &'a str)],
    /// The body. `Content-Length` is set from it when it is not empty, or the method is one that
    /// announces a body (POST, PUT, PATCH; RFC 9110, section 8.6).
    pub body: &'a [u8],
}

impl<'a> Request<'a> {
    /// A GET without further headers.
    pub const fn get(target: &'a str, host: &'a str) -> Self {
        Self { method: "GET", target, host, headers: &[], body: &[] }
    }

    /// What to tell [`ResponseDecoder::expect`](super::ResponseDecoder::expect): whether this is a HEAD.
    pub fn is_head(&self) -> bool {
        self.method == "HEAD"
    }

    /// Appends the request to `out`, which is left as it was when a part is refused. Allocates nothing if
    /// `out` has room.
    pub fn render_into(&self, out: &mut Vec<u8>) -> Result<(), RequestError> {
        self.check()?;
        for part in [self.method, " ", self.target, " HTTP/1.1\r\n"] {
            out.extend_from_slice(part.as_bytes());
        }
        if !self.headers.iter().any(|(name, _)| is_host(name)) {
            push_header(out, "Host", self.host);
        }
        for (name, value) in self.headers {
            push_header(out, name, value);
        }
        if !self.body.is_empty() || matches!(self.method, "POST" | "PUT" | "PATCH") {
            out.extend_from_slice(b"Content-Length: ");
            decimal::push(out, self.body.len());
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(self.body);
        Ok(())
    }

    /// The request as bytes of its own.
    pub fn render(&self) -> Result<Vec<u8>, RequestError> {
        let mut out = Vec::new();
        self.render_into(&mut out)?;
        Ok(out)
    }

    /// Checks all parts without rendering.
    pub fn check(&self) -> Result<(), RequestError> {
        if !is_token_string(self.method) {
            return Err(RequestError::Method(self.method.to_owned()));
        }
        if self.method == "CONNECT" {
            return Err(RequestError::Connect);
        }
        check_target(self.target)?;
        let mut hosts = 0;
        for (name, value) in self.headers {
            check_header(name, value)?;
            if is_host(name) {
                check_host(value)?;
                hosts += 1;
            }
        }
        match hosts {
            0 => check_host(self.host),
            1 => Ok(()),
            _ => Err(RequestError::DuplicateHost),
        }
    }
}

fn is_host(name: &str) -> bool {
    name.eq_ignore_ascii_case("host")
}

fn push_header(out: &mut Vec<u8>, name: &str, value: &str) {
    for part in [name, ": ", value, "\r\n"] {
        out.extend_from_slice(part.as_bytes());
    }
}

fn is_token_string(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(is_token)
}

/// RFC 9112, section 3.2, as far as safety and servers need: the form, and no character that would end
/// the request line or that servers read differently. Others that RFC 3986 would have encoded (`|`, `"`)
/// pass: what a server does with them may be what is tested.
fn check_target(target: &str) -> Result<(), RequestError> {
    let known_form = ["/", "http://", "https://"].iter().any(|start| target.starts_with(start));
    if !known_form && target != "*" {
        return Err(RequestError::TargetForm(target.to_owned()));
    }
    match target.char_indices().find(|(_, found)| !found.is_ascii_graphic() || *found == '#') {
        Some((at, found)) => Err(RequestError::TargetCharacter { target: target.to_owned(), found, at }),
        None => Ok(()),
    }
}

/// Not the whole of RFC 3986's `host`, but nothing that could end the line or the host.
fn check_host(host: &str) -> Result<(), RequestError> {
    let fits =
        |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'/' | b'?' | b'#' | b'@' | b'\\' | b',');
    if !host.is_empty() && host.bytes().all(fits) { Ok(()) } else { Err(RequestError::Host(host.to_owned())) }
}

/// RFC 9110, sections 5.1 and 5.5.
fn check_header(name: &str, value: &str) -> Result<(), RequestError> {
    if !is_token_string(name) {
        return Err(RequestError::HeaderName(name.to_owned()));
    }
    if ["content-length", "transfer-encoding"].iter().any(|framing| name.eq_ignore_ascii_case(framing)) {
        return Err(RequestError::FramingHeader(name.to_owned()));
    }
    match value.char_indices().find(|(_, found)| found.is_ascii_control() && *found != '\t') {
        Some((at, found)) => Err(RequestError::HeaderValue { name: name.to_owned(), found, at }),
        None => Ok(()),
    }
}
