//! HTTP/1.1: requests from a mix, replies held against what is expected of them.

use std::borrow::Cow;

use memchr::memmem::Finder;
use serde::{Deserialize, Serialize};
use wire::http1::{Event, HeadCache, Request, ResponseDecoder};

use super::OperationError;
use super::choice::Choice;
use crate::driver::{Driver, Fault, OperationId, Step, Turn};
use crate::inputs::template::Template;

/// A mix of requests to one host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HttpSpec {
    /// The value of `Host`.
    pub authority: String,
    /// The requests.
    pub operations: Vec<HttpOperation>,
}

/// One kind of request. `path` and `body` may hold templates (see [`Template`]).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpOperation {
    /// Its name in tables; the method and path if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its share of the mix, relative to the others.
    #[serde(default = "one")]
    pub weight: f64,
    /// `GET` if not said.
    #[serde(default = "get")]
    pub method: String,
    /// Path and query, a template.
    pub path: String,
    /// Further header fields.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "header_table")]
    pub headers: Vec<(String, String)>,
    /// The request's body, a template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// What the reply must be.
    #[serde(default)]
    pub expect: Expected,
}

fn one() -> f64 {
    1.0
}

fn get() -> String {
    "GET".to_owned()
}

impl HttpOperation {
    /// A plain GET.
    pub fn get(path: &str) -> Self {
        Self {
            name: None,
            weight: one(),
            method: get(),
            path: path.to_owned(),
            headers: Vec::new(),
            body: None,
            expect: Expected::default(),
        }
    }
}

/// What a reply must be to count as a success.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// The status, or one of several; any from 200 to 399 if not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Statuses>,
    /// Exactly so many bytes of body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// This text somewhere in the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
}

/// One status or several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Statuses {
    /// Only this one.
    One(u16),
    /// Any of these.
    Several(Vec<u16>),
}

impl Expected {
    fn accepts(&self, status: u16) -> bool {
        match &self.status {
            None => (200..400).contains(&status),
            Some(Statuses::One(one)) => *one == status,
            Some(Statuses::Several(several)) => several.contains(&status),
        }
    }
}

/// Headers as a table in TOML and JSON, in the order written.
mod header_table {
    use serde::de::{MapAccess, Visitor};
    use serde::{Deserializer, Serializer};

    type Headers = Vec<(String, String)>;

    pub fn serialize<S: Serializer>(headers: &Headers, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(headers.iter().map(|(name, value)| (name, value)))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Headers, D::Error> {
        struct Table;
        impl<'de> Visitor<'de> for Table {
            type Value = Headers;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a table of header names and values")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Headers, A::Error> {
                let mut headers = Headers::new();
                while let Some(entry) = map.next_entry()? {
                    headers.push(entry);
                }
                Ok(headers)
            }
        }
        deserializer.deserialize_map(Table)
    }
}

/// How the bytes of a request come about.
#[derive(Debug)]
enum Rendering {
    /// The same each time.
    Fixed(Vec<u8>),
    /// Rendered anew: target and body are drawn.
    Drawn { target: Template, body: Template },
}

#[derive(Debug)]
struct Operation {
    spec: HttpOperation,
    name: String,
    is_head: bool,
    rendering: Rendering,
    cache: HeadCache,
    contains: Option<Finder<'static>>,
}

/// Speaks HTTP/1.1 for one worker.
#[derive(Debug)]
pub struct HttpDriver {
    authority: String,
    operations: Vec<Operation>,
    choice: Choice,
    target: Vec<u8>,
    body: Vec<u8>,
}

/// One connection.
#[derive(Debug)]
pub struct HttpDialogue {
    decoder: ResponseDecoder,
    operation: OperationId,
    status: u16,
    found: bool,
    body_bytes: u64,
    /// The end of the body so far, where a text that is looked for may have begun.
    carry: Vec<u8>,
}

impl HttpDriver {
    /// A driver for a mix. With `close_after_each` every request asks the server to close.
    pub fn new(spec: &HttpSpec, close_after_each: bool) -> Result<Self, OperationError> {
        let weights: Vec<f64> = spec.operations.iter().map(|op| op.weight).collect();
        let choice = Choice::new(&weights)?;
        let operations: Result<Vec<Operation>, _> =
            spec.operations.iter().map(|op| Operation::new(op, &spec.authority, close_after_each)).collect();
        Ok(Self {
            authority: spec.authority.clone(),
            operations: operations?,
            choice,
            target: Vec::new(),
            body: Vec::new(),
        })
    }
}

impl Operation {
    fn new(spec: &HttpOperation, authority: &str, close_after_each: bool) -> Result<Self, OperationError> {
        let mut spec = spec.clone();
        let name = spec.name.clone().unwrap_or_else(|| format!("{} {}", spec.method, spec.path));
        let refused = |reason: String| OperationError(format!("operation {name:?}: {reason}"));
        if close_after_each && !spec.headers.iter().any(|(n, _)| n.eq_ignore_ascii_case("connection")) {
            spec.headers.push(("Connection".to_owned(), "close".to_owned()));
        }
        let target = Template::parse(&spec.path).map_err(|e| refused(e.to_string()))?;
        let body =
            Template::parse(spec.body.as_deref().unwrap_or_default()).map_err(|e| refused(e.to_string()))?;
        // A template gives letters and digits in the place of its drawn parts, so what holds for one
        // rendering holds for all.
        let mut sample = (target.clone(), body.clone(), Vec::new());
        let mut operation = Self {
            is_head: spec.method == "HEAD",
            contains: spec.expect.contains.as_ref().map(|text| Finder::new(text).into_owned()),
            cache: HeadCache::new(),
            rendering: Rendering::Drawn { target, body },
            name: name.clone(),
            spec,
        };
        let mut rng = <rand_pcg::Pcg64Mcg as rand::SeedableRng>::seed_from_u64(0);
        let (mut target_text, mut body_text) = (Vec::new(), Vec::new());
        sample.0.render(&mut rng, &mut target_text);
        sample.1.render(&mut rng, &mut body_text);
        operation
            .render(authority, &target_text, &body_text, &mut sample.2)
            .map_err(|e| refused(e.to_string()))?;
        if sample.0.as_literal().is_some() && sample.1.as_literal().is_some() {
            operation.rendering = Rendering::Fixed(sample.2);
        }
        Ok(operation)
    }

    fn render(
        &self,
        authority: &str,
        target: &[u8],
        body: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), wire::http1::RequestError> {
        let headers: Vec<(&str, &str)> =
            self.spec.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let target = std::str::from_utf8(target).unwrap_or("");
        Request { method: &self.spec.method, target, host: authority, headers: &headers, body }
            .render_into(out)
    }

    /// A reply that is whole: is it the one expected?
    fn judge(&self, dialogue: &HttpDialogue, reuse: bool) -> Step {
        let expected = &self.spec.expect;
        let complaint: Cow<'static, str> = if !expected.accepts(dialogue.status) {
            let wanted = match &expected.status {
                None => "200 to 399".to_owned(),
                Some(Statuses::One(status)) => status.to_string(),
                Some(Statuses::Several(several)) => format!("one of {several:?}"),
            };
            format!("{}: status {} where {wanted} is expected", self.name, dialogue.status).into()
        } else if let Some(bytes) = expected.bytes.filter(|b| *b != dialogue.body_bytes) {
            format!("{}: a body of {} bytes where {bytes} are expected", self.name, dialogue.body_bytes)
                .into()
        } else if self.contains.is_some() && !dialogue.found {
            let text = expected.contains.as_deref().unwrap_or_default();
            format!("{}: the body does not contain {text:?}", self.name).into()
        } else {
            return Step::Done { reuse };
        };
        Step::Failed(Fault::unexpected(complaint, reuse))
    }
}

impl Driver for HttpDriver {
    type Dialogue = HttpDialogue;

    fn operations(&self) -> Vec<String> {
        self.operations.iter().map(|op| op.name.clone()).collect()
    }

    fn dialogue(&mut self) -> HttpDialogue {
        HttpDialogue {
            decoder: ResponseDecoder::new(),
            operation: 0,
            status: 0,
            found: false,
            body_bytes: 0,
            carry: Vec::new(),
        }
    }

    fn begin(&mut self, dialogue: &mut HttpDialogue, turn: Turn<'_>) -> OperationId {
        let id = self.choice.draw(turn.rng);
        let operation = &mut self.operations[id as usize];
        dialogue.operation = id;
        dialogue.body_bytes = 0;
        dialogue.found = false;
        dialogue.carry.clear();
        dialogue.decoder.expect(operation.is_head);
        match &mut operation.rendering {
            Rendering::Fixed(bytes) => turn.out.extend_from_slice(bytes),
            Rendering::Drawn { target, body } => {
                self.target.clear();
                self.body.clear();
                target.render(turn.rng, &mut self.target);
                body.render(turn.rng, &mut self.body);
                operation
                    .render(&self.authority, &self.target, &self.body, turn.out)
                    .expect("a rendering of this template was checked when the driver was made");
            }
        }
        id
    }

    fn receive(&mut self, dialogue: &mut HttpDialogue, mut input: &[u8], _turn: Turn<'_>) -> Step {
        let operation = &mut self.operations[dialogue.operation as usize];
        loop {
            match dialogue.decoder.decode(&mut operation.cache, &mut input) {
                Ok(Some(Event::Head(head))) => dialogue.status = head.status,
                Ok(Some(Event::Body(data))) => {
                    dialogue.body_bytes += data.len() as u64;
                    if let Some(finder) = &operation.contains {
                        dialogue.look_for(finder, data);
                    }
                }
                Ok(Some(Event::End { keep_alive })) => {
                    if !input.is_empty() {
                        let extra = input.len();
                        return Step::Failed(Fault::protocol(format!(
                            "{extra} bytes after the end of the reply: a body longer than announced"
                        )));
                    }
                    return operation.judge(dialogue, keep_alive);
                }
                Ok(None) => return Step::Wait,
                Err(error) => return Step::Failed(Fault::protocol(error.to_string())),
            }
        }
    }

    fn closed(&mut self, dialogue: &mut HttpDialogue) -> Step {
        match dialogue.decoder.eof() {
            Ok(_) => self.operations[dialogue.operation as usize].judge(dialogue, false),
            Err(error) => Step::Failed(Fault::closed(error.to_string())),
        }
    }
}

impl HttpDialogue {
    /// Looks for a text that may lie across pieces of the body.
    fn look_for(&mut self, finder: &Finder<'_>, data: &[u8]) {
        if self.found {
            return;
        }
        let overlap = finder.needle().len().saturating_sub(1);
        let head = &data[..data.len().min(overlap)];
        self.carry.extend_from_slice(head);
        self.found = finder.find(data).is_some() || finder.find(&self.carry).is_some();
        self.carry.extend_from_slice(&data[head.len()..][data[head.len()..].len().saturating_sub(overlap)..]);
        let excess = self.carry.len().saturating_sub(overlap);
        self.carry.drain(..excess);
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    use super::*;
    use crate::record::ErrorKind;

    /// Does one operation against a reply that arrives in the given pieces.
    fn converse(operation: HttpOperation, pieces: &[&[u8]]) -> (String, Step) {
        let spec = HttpSpec { authority: "box".to_owned(), operations: vec![operation] };
        let mut driver = HttpDriver::new(&spec, false).expect("a driver");
        let mut dialogue = driver.dialogue();
        let (mut out, mut rng) = (Vec::new(), Pcg64Mcg::seed_from_u64(1));
        driver.begin(&mut dialogue, Turn { out: &mut out, rng: &mut rng, tallies: &mut [] });
        let request = String::from_utf8(out.clone()).expect("ASCII");
        let mut step = Step::Wait;
        for piece in pieces {
            step =
                driver.receive(&mut dialogue, piece, Turn { out: &mut out, rng: &mut rng, tallies: &mut [] });
        }
        if step == Step::Wait {
            step = driver.closed(&mut dialogue);
        }
        (request, step)
    }

    fn expecting(contains: &str) -> HttpOperation {
        let expect = Expected { contains: Some(contains.to_owned()), ..Expected::default() };
        HttpOperation { expect, ..HttpOperation::get("/") }
    }

    fn kind_of(step: Step) -> Option<ErrorKind> {
        match step {
            Step::Failed(fault) => Some(fault.kind),
            _ => None,
        }
    }

    #[test]
    fn a_reply_as_expected_is_a_success() {
        let (request, step) =
            converse(HttpOperation::get("/1k"), &[b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"]);
        assert_eq!(request, "GET /1k HTTP/1.1\r\nHost: box\r\n\r\n");
        assert_eq!(step, Step::Done { reuse: true });
    }

    #[test]
    fn a_reply_that_is_not_the_one_expected_is_an_error_and_never_a_fast_success() {
        let not_found: &[u8] = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
        let (_, step) = converse(HttpOperation::get("/"), &[not_found]);
        assert_eq!(kind_of(step), Some(ErrorKind::UnexpectedReply));
        let exact = Expected { bytes: Some(3), ..Expected::default() };
        let (_, step) = converse(
            HttpOperation { expect: exact, ..HttpOperation::get("/") },
            &[b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"],
        );
        assert_eq!(kind_of(step), Some(ErrorKind::UnexpectedReply));
    }

    #[test]
    fn a_text_is_found_across_pieces_of_the_body() {
        let head: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n";
        for pieces in [&[head, b"xxneed", b"lexxxx"][..], &[head, b"xn", b"ee", b"d", b"le", b"xxxxx"]] {
            assert_eq!(converse(expecting("needle"), pieces).1, Step::Done { reuse: true }, "{pieces:?}");
        }
        let (_, step) = converse(expecting("needle"), &[head, b"needxxxxlexx"]);
        assert_eq!(kind_of(step), Some(ErrorKind::UnexpectedReply));
    }

    #[test]
    fn what_breaks_the_protocol_or_ends_early_is_told_apart() {
        let long: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhixx";
        assert_eq!(kind_of(converse(HttpOperation::get("/"), &[long]).1), Some(ErrorKind::Protocol));
        let short: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi";
        assert_eq!(kind_of(converse(HttpOperation::get("/"), &[short]).1), Some(ErrorKind::Closed));
        let until_close: &[u8] = b"HTTP/1.1 200 OK\r\n\r\nhi";
        assert_eq!(converse(HttpOperation::get("/"), &[until_close]).1, Step::Done { reuse: false });
    }

    #[test]
    fn a_drawn_path_and_body_keep_their_framing() {
        let operation = HttpOperation {
            method: "POST".to_owned(),
            body: Some("id={{ uniform(10, 99) }}".to_owned()),
            ..HttpOperation::get("/items?page={{ uniform(1, 9) }}")
        };
        let (request, _) = converse(operation, &[]);
        assert!(
            request.starts_with("POST /items?page=") && request.contains("Content-Length: 5\r\n"),
            "{request}"
        );
    }

    #[test]
    fn an_operation_that_cannot_be_sent_is_refused_by_name() {
        let injected =
            HttpOperation { name: Some("bad".to_owned()), ..HttpOperation::get("/ HTTP/1.1\r\nX: y") };
        let spec = HttpSpec { authority: "box".to_owned(), operations: vec![injected] };
        let error = HttpDriver::new(&spec, false).expect_err("refused").to_string();
        assert!(error.starts_with("operation \"bad\": target"), "{error}");
    }
}
