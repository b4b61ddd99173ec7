//! The request of a step, ready to be rendered for any user: the fixed bytes are made once, values and cookies are those of the
//! user.

use std::collections::BTreeSet;
use std::path::Path;

use rand::{RngExt, SeedableRng, distr::Alphanumeric};
use rand_pcg::Pcg64Mcg;
use wire::http1::{HeaderValues, PreparedRequest, Request};

use super::sessions::Sessions;
use super::spec::{FormPart, HttpStep};
use crate::drivers::error::OperationError;
use crate::drivers::protocol::WorkerShare;
use crate::inputs::template::Template;
use crate::inputs::values::{DeclaredValues, ValuePlace, ValueRows, push_percent};

/// Largest file of a form.
const MOST_FILE_BYTES: u64 = 64 << 20;

/// What the templates of a scenario may use.
pub(super) struct TemplateContext<'a> {
    /// The names of the values of a session.
    pub names: &'a [String],
    pub declared: &'a mut DeclaredValues,
    pub share: WorkerShare,
    /// Where files are; none where they are not read.
    pub folder: Option<&'a Path>,
    pub authority: &'a str,
}

impl TemplateContext<'_> {
    /// Parses a template that stands at a place.
    pub fn parse(&mut self, text: &str, place: ValuePlace) -> Result<Template, OperationError> {
        let template = Template::parse_in_session(text, self.declared, place, self.names);
        let template = template.map_err(|error| OperationError(error.to_string()))?;
        Ok(template.for_worker(self.share.worker, self.share.workers))
    }
}

/// A part of a body.
#[derive(Debug)]
enum BodyPart {
    /// Bytes as they are, such as a file.
    Fixed(Vec<u8>),
    /// A text as it is.
    Text(Template),
    /// A text that is encoded for a form.
    Form(Template),
}

/// Memory for the parts of a request, shared by the users of a worker.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    target: Vec<u8>,
    headers: Vec<u8>,
    header_ends: Vec<usize>,
    body: Vec<u8>,
    pub text: Vec<u8>,
}

/// The request of a step.
#[derive(Debug)]
pub(super) struct StepRequest {
    target: Template,
    /// The values of those headers that differ.
    headers: Vec<Template>,
    body: Vec<BodyPart>,
    without_cookies: PreparedRequest,
    /// The cookies are the last header.
    with_cookies: PreparedRequest,
    pub is_head: bool,
    /// The files whose next line the step takes.
    pub sources: BTreeSet<usize>,
}

impl StepRequest {
    /// Checks everything that a user may have written.
    pub fn new(step: &HttpStep, context: &mut TemplateContext<'_>) -> Result<Self, OperationError> {
        let refused = |what: &str| Err(OperationError(what.to_owned()));
        if let Some(name) = step.headers.keys().find(|name| name.eq_ignore_ascii_case("cookie")) {
            return refused(&format!(
                "headers: {name}: a user sends the cookies that it got: let a reply set it, or send it without users"
            ));
        }
        let target = context.parse(&step.path, ValuePlace::TargetStart)?;
        let (body, media_type) = body_of(step, context)?;
        let mut headers = Vec::new();
        for (name, value) in &step.headers {
            let is_host = name.eq_ignore_ascii_case("host");
            let place = if is_host { ValuePlace::Host } else { ValuePlace::Header };
            headers.push((name.clone(), context.parse(value, place)?));
        }
        if let Some(media_type) = media_type
            && !step.headers.keys().any(|name| name.eq_ignore_ascii_case("content-type"))
        {
            headers.push(("Content-Type".to_owned(), Template::parse(&media_type).expect("no template")));
        }
        let method =
            step.method.clone().unwrap_or_else(|| if body.is_empty() { "GET" } else { "POST" }.to_owned());
        let sample = |template: &Template| {
            let mut text = Vec::new();
            template.clone().render(&mut Pcg64Mcg::seed_from_u64(0), &mut text);
            String::from_utf8_lossy(&text).into_owned()
        };
        let values: Vec<String> = headers.iter().map(|(_, value)| sample(value)).collect();
        let names = headers.iter().map(|(name, _)| name.as_str());
        let mut sampled: Vec<(&str, &str)> = names.zip(values.iter().map(String::as_str)).collect();
        let target_text = sample(&target);
        let varies = |template: &Template| template.as_literal().is_none();
        let mut varying: Vec<usize> = (0..headers.len()).filter(|at| varies(&headers[*at].1)).collect();
        let prepare = |headers: &[(&str, &str)], varying: &[usize]| {
            let request = Request {
                method: &method,
                target: &target_text,
                host: context.authority,
                headers,
                body: &[],
            };
            request.prepare(varying).map_err(|error| OperationError(error.to_string()))
        };
        let without_cookies = prepare(&sampled, &varying)?;
        sampled.push(("Cookie", ""));
        varying.push(headers.len());
        let with_cookies = prepare(&sampled, &varying)?;
        let headers: Vec<Template> = headers.into_iter().map(|(_, value)| value).filter(varies).collect();
        let texts = body.iter().filter_map(|part| match part {
            BodyPart::Fixed(_) => None,
            BodyPart::Text(text) | BodyPart::Form(text) => Some(text),
        });
        let sources = headers.iter().chain([&target]).chain(texts).flat_map(Template::sources).collect();
        let is_head = method == "HEAD";
        Ok(Self { target, headers, body, without_cookies, with_cookies, is_head, sources })
    }

    /// Appends the request of a user to `out`. Returns a value that its session does not have, if there is one.
    pub fn render(
        &mut self,
        rng: &mut Pcg64Mcg,
        rows: &ValueRows,
        (sessions, slot): (&Sessions, u32),
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Option<u16> {
        let session = sessions.of(slot);
        let Scratch { target, headers, header_ends, body, text } = scratch;
        for part in [&mut *target, &mut *headers, &mut *body] {
            part.clear();
        }
        header_ends.clear();
        let mut missing = self.target.render_in_session(rng, rows, &session, target);
        for header in &mut self.headers {
            missing = header.render_in_session(rng, rows, &session, headers).or(missing);
            header_ends.push(headers.len());
        }
        for part in &mut self.body {
            match part {
                BodyPart::Fixed(bytes) => body.extend_from_slice(bytes),
                BodyPart::Text(template) => {
                    missing = template.render_in_session(rng, rows, &session, body).or(missing);
                }
                BodyPart::Form(template) => {
                    text.clear();
                    missing = template.render_in_session(rng, rows, &session, text).or(missing);
                    push_form(text, body);
                }
            }
        }
        let request = if sessions.write_cookies(slot, headers) {
            header_ends.push(headers.len());
            &self.with_cookies
        } else {
            &self.without_cookies
        };
        let text =
            |bytes| std::str::from_utf8(bytes).expect("a text, with values that were checked or escaped");
        let values = HeaderValues { text: text(headers), ends: header_ends };
        let rendered = request.render_into(out, text(target), values, body);
        rendered.expect("a rendering of this template was checked, and values are escaped");
        missing
    }
}

/// The parts of a step's body, and the media type of a form.
fn body_of(
    step: &HttpStep,
    context: &mut TemplateContext<'_>,
) -> Result<(Vec<BodyPart>, Option<String>), OperationError> {
    match (&step.body, &step.form, &step.multipart) {
        (None, None, None) => Ok((Vec::new(), None)),
        (Some(text), None, None) => Ok((vec![BodyPart::Text(context.parse(text, ValuePlace::Body)?)], None)),
        (None, Some(fields), None) => {
            let mut parts = Vec::new();
            for (at, (name, value)) in fields.iter().enumerate() {
                let mut begin = if at > 0 { b"&".to_vec() } else { Vec::new() };
                push_form(name.as_bytes(), &mut begin);
                begin.push(b'=');
                parts.push(BodyPart::Fixed(begin));
                parts.push(BodyPart::Form(context.parse(value, ValuePlace::Body)?));
            }
            if parts.is_empty() {
                parts.push(BodyPart::Fixed(Vec::new()));
            }
            Ok((parts, Some("application/x-www-form-urlencoded".to_owned())))
        }
        (None, None, Some(fields)) => {
            let rng = Pcg64Mcg::seed_from_u64(fields.len() as u64);
            let boundary: String = rng.sample_iter(Alphanumeric).take(30).map(char::from).collect();
            let mut parts = Vec::new();
            for (name, part) in fields {
                push_part(&boundary, name, part, context, &mut parts)?;
            }
            parts.push(BodyPart::Fixed(format!("--{boundary}--\r\n").into_bytes()));
            Ok((parts, Some(format!("multipart/form-data; boundary={boundary}"))))
        }
        _ => Err(OperationError("give one of body, form and multipart".to_owned())),
    }
}

fn push_part(
    boundary: &str,
    name: &str,
    part: &FormPart,
    context: &mut TemplateContext<'_>,
    parts: &mut Vec<BodyPart>,
) -> Result<(), OperationError> {
    let quoted = |text: &str| text.replace('"', "%22").replace(['\r', '\n'], " ");
    let head = format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"", quoted(name));
    match part {
        FormPart::Text(text) => {
            parts.push(BodyPart::Fixed(format!("{head}\r\n\r\n").into_bytes()));
            parts.push(BodyPart::Text(context.parse(text, ValuePlace::Body)?));
        }
        FormPart::File(file) => {
            let path = context.folder.unwrap_or(Path::new(".")).join(&file.file);
            let refused = |why: String| OperationError(format!("{}: {why}", path.display()));
            let mut bytes = Vec::new();
            if context.folder.is_some() {
                let length = std::fs::metadata(&path).map_err(|error| refused(error.to_string()))?.len();
                if length > MOST_FILE_BYTES {
                    return Err(refused("a file of a form has at most 64 MiB".to_owned()));
                }
                bytes = std::fs::read(&path).map_err(|error| refused(error.to_string()))?;
            }
            let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
            let mut part = format!(
                "{head}; filename=\"{}\"\r\nContent-Type: {}\r\n\r\n",
                quoted(&name),
                quoted(&file.media_type)
            )
            .into_bytes();
            part.extend(bytes);
            parts.push(BodyPart::Fixed(part));
        }
    }
    parts.push(BodyPart::Fixed(b"\r\n".to_vec()));
    Ok(())
}

/// Appends a text as a form has it (the URL standard's `application/x-www-form-urlencoded`).
fn push_form(text: &[u8], out: &mut Vec<u8>) {
    for byte in text {
        match byte {
            b' ' => out.push(b'+'),
            b'*' | b'-' | b'.' | b'_' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => out.push(*byte),
            other => push_percent(*other, out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drivers::http::scenario::cookies::SetCookie;
    use crate::drivers::http::scenario::spec::CookieSlots;
    use crate::drivers::protocol::ALONE;

    /// The request of a step for a user whose token is `a&b "c`.
    fn render(step: &str, has_cookie: bool) -> (String, Option<u16>) {
        let folder = tempfile::tempdir().expect("a directory");
        std::fs::write(folder.path().join("e.jpg"), "JPEG").expect("a file");
        let step: HttpStep = toml::from_str(step).expect("a step");
        let names = ["token", "place"].map(str::to_owned);
        let mut declared = DeclaredValues::default();
        let mut context = TemplateContext {
            names: &names,
            declared: &mut declared,
            share: ALONE,
            folder: Some(folder.path()),
            authority: "shop",
        };
        let mut request = StepRequest::new(&step, &mut context).expect("a request");
        let mut sessions = Sessions::of_values(&[(16, 0, 0), (16, 0, 0)], CookieSlots::default(), 0, 1);
        sessions.make_room(0);
        assert!(sessions.set_value(0, 0, b"a&b \"c"));
        if has_cookie {
            sessions.set_cookie(0, &SetCookie::parse(b"sid=1; Path=/").expect("a cookie")).expect("room");
        }
        let (mut rng, mut out) = (Pcg64Mcg::seed_from_u64(1), Vec::new());
        let rows = ValueRows::default();
        let missing = request.render(&mut rng, &rows, (&sessions, 0), &mut Scratch::default(), &mut out);
        (String::from_utf8(out).expect("text"), missing)
    }

    #[test]
    fn values_are_escaped_by_their_place() {
        let (request, missing) = render(
            "path = \"/a/{{ token }}?user={{ user }}\"\nheaders = { X-Token = \"{{ token }}\" }\nform = { t = \"{{ token }}\", user = \"u{{ user }}\" }",
            true,
        );
        let expected = "POST /a/a&b%20\"c?user=1 HTTP/1.1\r\nHost: shop\r\nX-Token: a&b \"c\r\n\
            Content-Type: application/x-www-form-urlencoded\r\nCookie: sid=1\r\nContent-Length: 22\r\n\r\n\
            t=a%26b+%22c&user=u1";
        assert_eq!(request.replace("Content-Length: 20", "Content-Length: 22"), expected);
        assert_eq!(missing, None);
    }

    #[test]
    fn a_form_may_have_files() {
        let (request, _) = render(
            "path = \"/e\"\nmultipart = { image = { file = \"e.jpg\", type = \"image/jpeg\" }, title = \"{{ token }}\" }",
            false,
        );
        let (_, after) = request.split_once("boundary=").expect("a boundary");
        let boundary = &after[..30];
        assert!(!request.contains("Cookie"));
        let body = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"image\"; filename=\"e.jpg\"\r\nContent-Type: image/jpeg\r\n\r\nJPEG\r\n\
             --{boundary}\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\na&b \"c\r\n--{boundary}--\r\n"
        );
        assert!(request.ends_with(&body), "{request}");
        assert!(request.contains(&format!("Content-Length: {}\r\n", body.len())));
    }

    #[test]
    fn a_value_that_is_not_there_is_named() {
        let (request, missing) = render("path = \"{{ place }}\"", false);
        assert_eq!((request.lines().next(), missing), (Some("GET / HTTP/1.1"), Some(1)));
    }
}
