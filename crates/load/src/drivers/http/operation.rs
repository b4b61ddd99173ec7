//! One kind of request, ready to send any number of times, and the check of its replies.

use std::borrow::Cow;
use std::collections::BTreeSet;

use memchr::memmem::Finder;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use wire::http1::{HeadCache, HeaderValues, PreparedRequest, Request};

use super::reply::HttpReply;
use super::spec::HttpOperation;
use crate::driver::{Fault, Step};
use crate::drivers::error::OperationError;
use crate::drivers::protocol::WorkerShare;
use crate::inputs::template::{Template, parse_literal};
use crate::inputs::units::UnitError;
use crate::inputs::values::{DeclaredValues, ValuePlace, ValueRows};

/// How the bytes of a request are made.
#[derive(Debug)]
enum Rendering {
    /// They are the same each time.
    Fixed(Vec<u8>),
    /// Some parts differ; the rest is ready.
    Varying(Box<VaryingRequest>),
}

/// The parts of a request that differ each time.
#[derive(Debug)]
struct VaryingRequest {
    request: PreparedRequest,
    target: Template,
    /// The values of those headers that differ, in their order.
    headers: Vec<Template>,
    body: Template,
    /// The files whose next line each request takes.
    sources: Vec<usize>,
}

/// Memory for the parts that differ, shared by the operations of a worker.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    target: Vec<u8>,
    headers: Vec<u8>,
    header_ends: Vec<usize>,
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
    /// Checks everything that a user may have written. Where each request has a connection, it asks the server to close
    /// that.
    /// Values of files are declared in `values`, which the caller opens before the first request.
    pub fn new(
        spec: &HttpOperation,
        authority: &str,
        share: WorkerShare,
        values: &mut DeclaredValues,
    ) -> Result<Self, OperationError> {
        let name = spec.name.clone().unwrap_or_else(|| format!("{} {}", spec.method, spec.path));
        let refused = |reason: String| OperationError::about(&format!("operation {name:?}"), reason);
        if spec.expect.contains.as_ref().is_some_and(String::is_empty) {
            return Err(refused("every body contains an empty text: leave `contains` out".to_owned()));
        }
        let contains = spec.expect.contains.as_deref().map(parse_literal).transpose();
        let contains = contains.map_err(|e| refused(format!("contains: {e}")))?;
        let rendering = Rendering::new(spec, authority, share, values).map_err(|e| refused(e.to_string()))?;
        Ok(Self {
            is_head: spec.method == "HEAD",
            cache: HeadCache::new(),
            finder: contains.map(|text| Finder::new(&text).into_owned()),
            usual_body: 0,
            spec: spec.clone(),
            rendering,
            name,
        })
    }

    /// Appends one request to `out`, with the next lines of the files that it uses.
    #[inline]
    pub fn render(
        &mut self,
        rng: &mut impl Rng,
        values: &mut ValueRows,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) {
        match &mut self.rendering {
            Rendering::Fixed(bytes) => out.extend_from_slice(bytes),
            Rendering::Varying(varying) => varying.render(rng, values, scratch, out),
        }
    }

    /// Checks a complete reply.
    #[inline]
    pub fn check(&self, reply: &HttpReply, reuse: bool) -> Step {
        let expected = &self.spec.expect;
        let reason: Cow<'static, str> = if !expected.accepts(reply.status) {
            let wanted = expected.wanted_status();
            format!("{}: status {} where {wanted} is expected", self.name, reply.status).into()
        } else if let Some(bytes) = expected.bytes.filter(|b| *b != reply.body_bytes) {
            format!("{}: a body of {} bytes where {bytes} are expected", self.name, reply.body_bytes).into()
        } else if self.finder.is_some() && !reply.found {
            let text = expected.contains.as_deref().unwrap_or_default();
            let why =
                reply.coding.why_not_found().unwrap_or_else(|| format!("the body does not contain {text:?}"));
            format!("{}: {why}", self.name).into()
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

impl VaryingRequest {
    #[inline]
    fn render(
        &mut self,
        rng: &mut impl Rng,
        values: &mut ValueRows,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) {
        for source in &self.sources {
            values.advance(*source, rng);
        }
        scratch.target.clear();
        scratch.headers.clear();
        scratch.header_ends.clear();
        scratch.body.clear();
        self.target.render_with(rng, values, &mut scratch.target);
        for header in &mut self.headers {
            header.render_with(rng, values, &mut scratch.headers);
            scratch.header_ends.push(scratch.headers.len());
        }
        self.body.render_with(rng, values, &mut scratch.body);
        let text = |bytes| std::str::from_utf8(bytes).expect("a text, with values that were checked");
        let headers = HeaderValues { text: text(&scratch.headers), ends: &scratch.header_ends };
        let rendered = self.request.render_into(out, text(&scratch.target), headers, &scratch.body);
        rendered.expect("a rendering of this template, and the values of its files, were checked");
    }
}

impl Rendering {
    fn new(
        spec: &HttpOperation,
        authority: &str,
        share: WorkerShare,
        values: &mut DeclaredValues,
    ) -> Result<Self, RenderingError> {
        let mut parse = |text: &str, place| {
            let template = Template::parse_with(text, values, place)?;
            Ok::<_, UnitError>(template.for_worker(share.worker, share.workers))
        };
        let target = parse(&spec.path, ValuePlace::TargetStart)?;
        let body = parse(spec.body.as_deref().unwrap_or_default(), ValuePlace::Body)?;
        let mut headers = Vec::new();
        for (name, value) in &spec.headers {
            let is_host = name.eq_ignore_ascii_case("host");
            let value = parse(value, if is_host { ValuePlace::Host } else { ValuePlace::Header })?;
            headers.push((name.as_str(), value));
        }
        if share.is_one_per_connection
            && !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("connection"))
        {
            headers.push(("Connection", Template::parse("close")?));
        }
        // Random parts are letters and digits, and values of files are checked by their places, so one valid rendering
        // means that all are valid.
        let sample = |template: &Template| {
            let mut text = Vec::new();
            template.clone().render(&mut Pcg64Mcg::seed_from_u64(0), &mut text);
            text
        };
        let target_text = String::from_utf8(sample(&target))?;
        let header_texts = headers
            .iter()
            .map(|(_, value)| String::from_utf8(sample(value)))
            .collect::<Result<Vec<_>, _>>()?;
        let sampled: Vec<(&str, &str)> =
            headers.iter().zip(&header_texts).map(|((name, _), value)| (*name, value.as_str())).collect();
        let request = Request {
            method: &spec.method,
            target: &target_text,
            host: authority,
            headers: &sampled,
            body: &sample(&body),
        };
        let varies = |template: &Template| template.as_literal().is_none();
        let varying: Vec<usize> = (0..headers.len()).filter(|at| varies(&headers[*at].1)).collect();
        if varying.is_empty() && !varies(&target) && !varies(&body) {
            return Ok(Self::Fixed(request.render()?));
        }
        let request = request.prepare(&varying)?;
        let headers: Vec<Template> = headers.into_iter().map(|(_, value)| value).filter(varies).collect();
        let used = headers.iter().chain([&target, &body]).flat_map(Template::sources);
        let sources = used.collect::<BTreeSet<_>>().into_iter().collect();
        Ok(Self::Varying(Box::new(VaryingRequest { request, target, headers, body, sources })))
    }
}
