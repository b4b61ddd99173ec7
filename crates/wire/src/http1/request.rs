//! Renders requests. Checks every part that a user can supply, so that no part can inject a header or a second request.
//! CONNECT and upgrades are not supported.

use super::error::RequestError;
use super::head::is_token;
use crate::decimal;

/// A request with borrowed parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// The method, such as `GET`; case matters (RFC 9110, section 9.1).
    pub method: &'a str,
    /// Path and query, percent-encoded: `/search?q=a%20b`. Or `*` for OPTIONS, or
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

    /// Whether the method is HEAD: the argument for [`ResponseDecoder::expect`](super::ResponseDecoder::expect).
    pub fn is_head(&self) -> bool {
        self.method == "HEAD"
    }

    /// Appends the request to `out`, which stays unchanged if a part is refused. Allocates nothing if `out` has room.
    pub fn render_into(&self, out: &mut Vec<u8>) -> Result<(), RequestError> {
        self.check()?;
        self.push_method(out);
        out.extend_from_slice(self.target.as_bytes());
        self.push_fields(out);
        push_body(out, self.announces_body(), self.body);
        Ok(())
    }

    /// Checks and renders the fixed parts once, for requests that differ only in target, body and the values of some
    /// headers: `varying` has their places in `headers`, in ascending order.
    pub fn prepare(&self, varying: &[usize]) -> Result<PreparedRequest, RequestError> {
        self.check()?;
        let (mut method, mut fields, mut gaps) = (Vec::new(), Vec::new(), Vec::new());
        self.push_method(&mut method);
        self.push_start(&mut fields);
        for (place, (name, value)) in self.headers.iter().enumerate() {
            if varying.contains(&place) {
                push_header_name(&mut fields, name);
                gaps.push(Gap { at: fields.len(), is_host: is_host(name), name: (*name).to_owned() });
                fields.extend_from_slice(b"\r\n");
            } else {
                push_header(&mut fields, name, value);
            }
        }
        Ok(PreparedRequest { method, fields, gaps, announces_body: self.announces_body() })
    }

    /// The request as bytes.
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

    fn push_method(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.method.as_bytes());
        out.push(b' ');
    }

    /// The part between target and the first of `headers`.
    fn push_start(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b" HTTP/1.1\r\n");
        if !self.headers.iter().any(|(name, _)| is_host(name)) {
            push_header(out, "Host", self.host);
        }
    }

    /// The part between target and `Content-Length`.
    fn push_fields(&self, out: &mut Vec<u8>) {
        self.push_start(out);
        for (name, value) in self.headers {
            push_header(out, name, value);
        }
    }

    /// Whether the method announces its body even if the body is empty.
    fn announces_body(&self) -> bool {
        matches!(self.method, "POST" | "PUT" | "PATCH")
    }
}

/// A request without its target, its body and some values, checked and rendered: see [`Request::prepare`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedRequest {
    /// The method and a space.
    method: Vec<u8>,
    /// The part between target and `Content-Length`.
    fields: Vec<u8>,
    /// Where values are missing in it.
    gaps: Vec<Gap>,
    announces_body: bool,
}

/// The place of a value that differs between renderings.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Gap {
    at: usize,
    is_host: bool,
    name: String,
}

/// The values of headers that differ between renderings, one after the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct HeaderValues<'a> {
    /// All of them in one text.
    pub text: &'a str,
    /// Where each ends.
    pub ends: &'a [usize],
}

impl PreparedRequest {
    /// Appends the request for a target, a body, and as many values as places were named, as [`Request::render_into`] does.
    /// `out` stays unchanged if a part is refused.
    #[inline]
    pub fn render_into(
        &self,
        out: &mut Vec<u8>,
        target: &str,
        values: HeaderValues<'_>,
        body: &[u8],
    ) -> Result<(), RequestError> {
        check_target(target)?;
        let before = out.len();
        for part in [&self.method, target.as_bytes()] {
            out.extend_from_slice(part);
        }
        let filled = if self.gaps.is_empty() { 0 } else { self.fill(out, before, values)? };
        out.extend_from_slice(&self.fields[filled..]);
        push_body(out, self.announces_body, body);
        Ok(())
    }

    /// Appends the fields up to the last gap. Returns how much of them.
    fn fill(
        &self,
        out: &mut Vec<u8>,
        before: usize,
        values: HeaderValues<'_>,
    ) -> Result<usize, RequestError> {
        let (mut filled, mut begin) = (0, 0);
        for (gap, end) in self.gaps.iter().zip(values.ends) {
            let value = &values.text[begin..*end];
            let checked = if gap.is_host { check_host(value) } else { check_value(&gap.name, value) };
            if let Err(refused) = checked {
                out.truncate(before);
                return Err(refused);
            }
            out.extend_from_slice(&self.fields[filled..gap.at]);
            out.extend_from_slice(value.as_bytes());
            (filled, begin) = (gap.at, *end);
        }
        Ok(filled)
    }
}

fn push_body(out: &mut Vec<u8>, announced: bool, body: &[u8]) {
    if announced || !body.is_empty() {
        out.extend_from_slice(b"Content-Length: ");
        decimal::push(out, body.len());
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(body);
}

fn is_host(name: &str) -> bool {
    name.eq_ignore_ascii_case("host")
}

fn push_header_name(out: &mut Vec<u8>, name: &str) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
}

fn push_header(out: &mut Vec<u8>, name: &str, value: &str) {
    push_header_name(out, name);
    out.extend_from_slice(value.as_bytes());
    out.extend_from_slice(b"\r\n");
}

fn is_token_string(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(is_token)
}

/// RFC 9112, section 3.2, as far as safety needs it: the form, and no character that ends the request line or that servers
/// parse differently. Other characters that RFC 3986 wants encoded (`|`, `"`) are allowed: a user may test them.
fn check_target(target: &str) -> Result<(), RequestError> {
    let known_form = ["/", "http://", "https://"].iter().any(|start| target.starts_with(start));
    if !known_form && target != "*" {
        return Err(RequestError::TargetForm(target.to_owned()));
    }
    let is_bad = |byte: u8| !byte.is_ascii_graphic() || byte == b'#';
    match target.bytes().position(is_bad).and_then(|at| Some((at, target[at..].chars().next()?))) {
        Some((at, found)) => Err(RequestError::TargetCharacter { target: target.to_owned(), found, at }),
        None => Ok(()),
    }
}

/// A part of RFC 3986's `host`: no character that ends the line or the host.
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
    check_value(name, value)
}

fn check_value(name: &str, value: &str) -> Result<(), RequestError> {
    match value.char_indices().find(|(_, found)| found.is_ascii_control() && *found != '\t') {
        Some((at, found)) => Err(RequestError::HeaderValue { name: name.to_owned(), found, at }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_with_headers_and_a_body() {
        let request = Request {
            method: "POST",
            target: "/items?page=1",
            host: "shop:8080",
            headers: &[("Accept", "*/*"), ("X-Empty", "")],
            body: b"{}",
        };
        let expected = "POST /items?page=1 HTTP/1.1\r\nHost: shop:8080\r\nAccept: */*\r\nX-Empty: \r\n\
                        Content-Length: 2\r\n\r\n{}";
        assert_eq!(request.render(), Ok(expected.into()));
    }

    #[test]
    fn an_empty_body_is_announced_where_a_body_is_usual() {
        for (method, announced) in
            [("GET", false), ("DELETE", false), ("POST", true), ("PUT", true), ("PATCH", true)]
        {
            let bytes = Request { method, ..Request::get("/", "h") }.render().expect("valid");
            assert_eq!(bytes.ends_with(b"Content-Length: 0\r\n\r\n"), announced, "{method}");
        }
    }

    #[test]
    fn a_host_header_of_the_user_replaces_the_default() {
        let request = Request { headers: &[("host", "virtual")], ..Request::get("/", "127.0.0.1") };
        assert_eq!(request.render(), Ok(b"GET / HTTP/1.1\r\nhost: virtual\r\n\r\n".to_vec()));
        let twice = Request { headers: &[("host", "a"), ("Host", "b")], ..request };
        assert_eq!(twice.render(), Err(RequestError::DuplicateHost));
    }

    #[test]
    fn a_prepared_request_renders_the_same_bytes() {
        let request = Request {
            headers: &[("Accept", "*/*")],
            method: "PUT",
            body: b"{}",
            ..Request::get("/a", "host")
        };
        let (mut out, prepared) = (Vec::new(), request.prepare(&[]).expect("valid"));
        let none = HeaderValues::default();
        prepared.render_into(&mut out, request.target, none, request.body).expect("valid");
        assert_eq!(Ok(&out), request.render().as_ref());
        assert!(prepared.render_into(&mut out, "/a b", none, b"").is_err());
        assert_eq!(out.len(), request.render().expect("valid").len());
    }

    #[test]
    fn values_of_headers_differ_between_renderings() {
        let request = Request {
            headers: &[("Host", "x"), ("Accept", "*/*"), ("Key", "x")],
            ..Request::get("/a", "box")
        };
        let (mut out, prepared) = (Vec::new(), request.prepare(&[0, 2]).expect("valid"));
        let values = HeaderValues { text: "shop41", ends: &[4, 6] };
        prepared.render_into(&mut out, "/a", values, b"").expect("valid");
        assert_eq!(out, b"GET /a HTTP/1.1\r\nHost: shop\r\nAccept: */*\r\nKey: 41\r\n\r\n");
        out.truncate(3);
        for (text, ends) in [("a\r\nb1", &[4, 5]), ("shopa\r\nEvil: 1", &[4, 13])] {
            assert!(
                prepared.render_into(&mut out, "/a", HeaderValues { text, ends }, b"").is_err(),
                "{text}"
            );
            assert_eq!(out, b"GET");
        }
    }

    #[test]
    fn no_part_can_inject_another_line() {
        let get = Request::get("/", "h");
        let bad = "x\r\nEvil: 1";
        for request in [
            Request { method: bad, ..get },
            Request { method: "", ..get },
            Request { method: "CONNECT", ..get },
            Request { target: "/a b", ..get },
            Request { target: "/a\r\nEvil: 1", ..get },
            Request { target: "/ü", ..get },
            Request { target: "/a#b", ..get },
            Request { target: "a", ..get },
            Request { target: "", ..get },
            Request { host: bad, ..get },
            Request { host: "", ..get },
            Request { host: "h/path", ..get },
            Request { headers: &[("A", bad)], ..get },
            Request { headers: &[("A", "nul\0")], ..get },
            Request { headers: &[("A: 1\r\nEvil", "1")], ..get },
            Request { headers: &[("A ", "1")], ..get },
            Request { headers: &[("", "1")], ..get },
            Request { headers: &[("Host", bad)], ..get },
            Request { headers: &[("Content-length", "0")], ..get },
            Request { headers: &[("Transfer-Encoding", "chunked")], ..get },
        ] {
            let mut out = b"before".to_vec();
            assert!(request.render_into(&mut out).is_err(), "{request:?}");
            assert_eq!(out, b"before");
        }
    }

    #[test]
    fn a_refusal_names_the_position() {
        let error = Request::get("/a?q=é", "h").render().expect_err("not encoded");
        assert_eq!(error.to_string(), r#"target "/a?q=é" has 'é' at byte 5: percent-encode it"#);
        let error =
            Request { headers: &[("X", "a\nb")], ..Request::get("/", "h") }.render().expect_err("two lines");
        assert_eq!(error.to_string(), r"header X: the value has '\n' at byte 1: remove it");
    }
}
