//! A browser without eyes: requests with the cookie and the token of a session, and replies as they came.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ureq::Agent;
use ureq::http::{HeaderMap, Request};

/// The boundary of multipart forms; no part contains it.
const BOUNDARY: &str = "olio-boundary-7f3a";

/// A reply that takes longer is none, as under the load of the workload.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Header fields by which a browser or a proxy keeps a page. Pages have none.
const CACHING: [&str; 6] = ["age", "cache-control", "etag", "expires", "last-modified", "pragma"];

/// One visitor of one site.
#[derive(Clone)]
pub struct Client {
    /// Where the site listens.
    pub address: SocketAddr,
    agent: Agent,
    cookie: Option<String>,
    /// The token of the session's forms; empty if nobody is logged in.
    pub token: String,
    /// Replies are without the names of their cookies, so that these are not compared.
    pub ignores_cookies: bool,
}

/// What came back.
pub struct Reply {
    pub status: u16,
    pub location: String,
    pub content_type: String,
    /// Names of the header fields by which browsers keep a page.
    pub caching: Vec<&'static str>,
    /// Names and attributes of cookies, without their values.
    pub cookies: Vec<String>,
    pub body: String,
}

/// A request for both sites. `{token}` in a field is the token of the client's session.
#[derive(Clone, Debug)]
pub struct Ask {
    pub path: String,
    pub body: Body,
}

/// What a request sends.
#[derive(Clone, Debug)]
pub enum Body {
    None,
    Form(Vec<(&'static str, String)>),
    /// Fields, and files with their names.
    Multipart(Vec<(&'static str, String)>, Vec<(&'static str, &'static str, Vec<u8>)>),
}

impl Ask {
    pub fn get(path: impl Into<String>) -> Self {
        Self { path: path.into(), body: Body::None }
    }

    pub fn post(path: impl Into<String>, fields: Vec<(&'static str, String)>) -> Self {
        Self { path: path.into(), body: Body::Form(fields) }
    }

    pub fn log_in(username: &str, password: &str) -> Self {
        Self::post("/login", vec![("username", username.to_owned()), ("password", password.to_owned())])
    }

    /// For messages.
    pub fn name(&self) -> String {
        let method = if matches!(self.body, Body::None) { "GET" } else { "POST" };
        format!("{method} {}", self.path)
    }
}

impl Client {
    /// A visitor of a site on the loopback address.
    pub fn new(port: u16) -> Self {
        Self::of((Ipv4Addr::LOCALHOST, port).into())
    }

    /// A visitor of the site at this address.
    pub fn of(address: SocketAddr) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .timeout_global(Some(TIMEOUT))
            .build();
        Self { address, agent: config.into(), cookie: None, token: String::new(), ignores_cookies: false }
    }

    pub fn send(&mut self, ask: &Ask) -> Result<Reply> {
        let url = format!("http://{}{}", self.address, ask.path);
        let builder = Request::builder().uri(&url).header("Cookie", self.cookie.clone().unwrap_or_default());
        let sent = match &ask.body {
            Body::None => self.agent.run(builder.method("GET").body(())?),
            Body::Form(fields) => {
                let body = self.encoded(fields);
                let builder =
                    builder.method("POST").header("Content-Type", "application/x-www-form-urlencoded");
                self.agent.run(builder.body(body)?)
            }
            Body::Multipart(fields, files) => {
                let body = self.multipart(fields, files);
                let form = format!("multipart/form-data; boundary={BOUNDARY}");
                self.agent.run(builder.method("POST").header("Content-Type", form).body(body)?)
            }
        };
        let mut response = sent.with_context(|| format!("no reply to {}", ask.name()))?;
        let location = field(response.headers(), "location");
        let content_type = field(response.headers(), "content-type");
        let caching = CACHING.into_iter().filter(|name| response.headers().contains_key(*name)).collect();
        let mut cookies = Vec::new();
        for cookie in response.headers().get_all("set-cookie") {
            cookies.push(self.keep(cookie.to_str()?));
        }
        if self.ignores_cookies {
            cookies.clear();
        }
        let body = response.body_mut().with_config().limit(16 << 20).read_to_string()?;
        Ok(Reply { status: response.status().as_u16(), location, content_type, caching, cookies, body })
    }

    /// Logs a loaded person in.
    pub fn log_in(&mut self, person: u32) -> Result<()> {
        let reply = self.send(&Ask::log_in(&crate::data::username(person), &person.to_string()))?;
        ensure!(reply.status == 303, "person {person} cannot log in: status {}", reply.status);
        self.find_token()
    }

    /// Takes the token from a page.
    pub fn find_token(&mut self) -> Result<()> {
        let page = self.send(&Ask::get("/persons/new"))?.body;
        let (_, rest) =
            page.split_once("name=\"token\" value=\"").context("no token in the frame of a visitor")?;
        rest.split('"').next().unwrap_or_default().clone_into(&mut self.token);
        Ok(())
    }

    /// Keeps a cookie, and returns it without its value.
    fn keep(&mut self, cookie: &str) -> String {
        let (pair, attributes) = cookie.split_once(';').unwrap_or((cookie, ""));
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let is_end = value.is_empty() || value == "deleted";
        self.cookie = (!is_end).then(|| pair.to_owned());
        let mut attributes: Vec<String> =
            attributes.split(';').map(|text| text.trim().to_lowercase()).collect();
        // The end of a cookie has several forms.
        attributes
            .retain(|attribute| !attribute.starts_with("expires=") && !attribute.starts_with("max-age="));
        attributes.sort();
        format!("{name}{} {}", if is_end { " ended" } else { "" }, attributes.join(" "))
    }

    fn encoded(&self, fields: &[(&str, String)]) -> String {
        let mut body = String::new();
        for (name, value) in fields {
            let value = value.replace("{token}", &self.token);
            let value = percent_encoding::utf8_percent_encode(&value, percent_encoding::NON_ALPHANUMERIC);
            let _ = write!(body, "{}{name}={value}", if body.is_empty() { "" } else { "&" });
        }
        body
    }

    fn multipart(&self, fields: &[(&str, String)], files: &[(&str, &str, Vec<u8>)]) -> Vec<u8> {
        let mut body = Vec::new();
        for (name, value) in fields {
            let value = value.replace("{token}", &self.token);
            body.extend(
                format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
                    .bytes(),
            );
        }
        for (name, file, bytes) in files {
            body.extend(
                format!(
                    "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"{file}\"\r\n\
                     Content-Type: application/octet-stream\r\n\r\n"
                )
                .bytes(),
            );
            body.extend(bytes);
            body.extend(b"\r\n");
        }
        body.extend(format!("--{BOUNDARY}--\r\n").bytes());
        body
    }
}

/// A header field; empty if there is none.
pub fn field(headers: &HeaderMap, name: &str) -> String {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
}
