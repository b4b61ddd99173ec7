//! One kind of request, ready to send any number of times, and the check of its replies.

use std::borrow::Cow;

use memchr::memmem::Finder;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use wire::http1::{HeadCache, PreparedRequest, Request};

use super::reply::HttpReply;
use super::spec::{HttpOperation, Statuses};
use crate::driver::{Fault, Step};
use crate::drivers::error::OperationError;
use crate::inputs::template::Template;
use crate::inputs::units::UnitError;

/// How the bytes of a request are made.
#[derive(Debug)]
enum Rendering {
    /// They are the same each time.
    Fixed(Vec<u8>),
    /// Target and body are random; the rest is ready.
    Random { request: PreparedRequest, target: Template, body: Template },
}

/// Memory for the random parts, shared by the operations of a worker.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    target: Vec<u8>,
    body: Vec<u8>,
}

/// One operation of a mix.
#[derive(Debug)]
pub(super) struct HttpRequest {
    pub name: String,
    pub is_head: bool,
    /// Heads of earlier replies, for the decoder.
    pub cache: HeadCache,
    /// Searches the expected text in the body.
    pub finder: Option<Finder<'static>>,
    /// Length of the body of its last complete reply.
    pub usual_body: u64,
    spec: HttpOperation,
    rendering: Rendering,
}

impl HttpRequest {
    /// Checks everything that a user may have written. With `close_after_each` the request asks the server to
    /// close the connection.
    pub fn new(
        spec: &HttpOperation,
        authority: &str,
        close_after_each: bool,
    ) -> Result<Self, OperationError> {
        let name = spec.name.clone().unwrap_or_else(|| format!("{} {}", spec.method, spec.path));
        let refused = |reason: String| OperationError::about(&format!("operation {name:?}"), reason);
        if spec.expect.contains.as_ref().is_some_and(String::is_empty) {
            return Err(refused("every body contains an empty text: leave `contains` out".to_owned()));
        }
        let rendering =
            Rendering::new(spec, authority, close_after_each).map_err(|e| refused(e.to_string()))?;
        Ok(Self {
            is_head: spec.method == "HEAD",
            cache: HeadCache::new(),
            finder: spec.expect.contains.as_ref().map(|text| Finder::new(text).into_owned()),
            usual_body: 0,
            spec: spec.clone(),
            rendering,
            name,
        })
    }

    /// Appends one request to `out`.
    #[inline]
    pub fn render(&mut self, rng: &mut impl Rng, scratch: &mut Scratch, out: &mut Vec<u8>) {
        match &mut self.rendering {
            Rendering::Fixed(bytes) => out.extend_from_slice(bytes),
            Rendering::Random { request, target, body } => {
                scratch.target.clear();
                scratch.body.clear();
                target.render(rng, &mut scratch.target);
                body.render(rng, &mut scratch.body);
                let target = std::str::from_utf8(&scratch.target)
                    .expect("a text in which letters and digits were drawn");
                request
                    .render_into(out, target, &scratch.body)
                    .expect("a rendering of this template was checked in new()");
            }
        }
    }

    /// Checks a complete reply.
    #[inline]
    pub fn check(&self, reply: &HttpReply, reuse: bool) -> Step {
        let expected = &self.spec.expect;
        let reason: Cow<'static, str> = if !expected.accepts(reply.status) {
            let wanted = match &expected.status {
                None => "200 to 399".to_owned(),
                Some(Statuses::One(status)) => status.to_string(),
                Some(Statuses::Several(several)) => format!("one of {several:?}"),
            };
            format!("{}: status {} where {wanted} is expected", self.name, reply.status).into()
        } else if let Some(bytes) = expected.bytes.filter(|b| *b != reply.body_bytes) {
            format!("{}: a body of {} bytes where {bytes} are expected", self.name, reply.body_bytes).into()
        } else if self.finder.is_some() && !reply.found {
            let text = expected.contains.as_deref().unwrap_or_default();
            format!("{}: the body does not contain {text:?}", self.name).into()
        } else {
            return Step::Done { reuse };
        };
        Step::Failed(Fault::unexpected(reason, reuse))
    }
}

/// Why an operation makes no request.
#[derive(Debug, thiserror::Error)]
enum RenderingError {
    /// A template does not parse.
    #[error(transparent)]
    Template(#[from] UnitError),
    /// The path is no text.
    #[error(transparent)]
    Path(#[from] std::string::FromUtf8Error),
    /// HTTP does not allow the request.
    #[error(transparent)]
    Request(#[from] wire::http1::RequestError),
}

impl Rendering {
    fn new(spec: &HttpOperation, authority: &str, close_after_each: bool) -> Result<Self, RenderingError> {
        let mut headers: Vec<(&str, &str)> =
            spec.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        if close_after_each && !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("connection")) {
            headers.push(("Connection", "close"));
        }
        let target = Template::parse(&spec.path)?;
        let body = Template::parse(spec.body.as_deref().unwrap_or_default())?;
        // The random parts of a template are letters and digits, so one valid rendering means that all are valid.
        let sample = |template: &Template| {
            let mut text = Vec::new();
            template.clone().render(&mut Pcg64Mcg::seed_from_u64(0), &mut text);
            text
        };
        let (target_text, body_text) = (sample(&target), sample(&body));
        let target_text = String::from_utf8(target_text)?;
        let request = Request {
            method: &spec.method,
            target: &target_text,
            host: authority,
            headers: &headers,
            body: &body_text,
        };
        Ok(if target.as_literal().is_some() && body.as_literal().is_some() {
            Self::Fixed(request.render()?)
        } else {
            Self::Random { request: request.prepare()?, target, body }
        })
    }
}
