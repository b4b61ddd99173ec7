//! Implementations that only seem to work: a proxy before a good one that spoils one thing. Each must be found, or the proofs prove
//! nothing.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use anyhow::Result;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Method, Response, Uri};
use clap::ValueEnum;
use ureq::Agent;
use ureq::http::Request;

use super::client::field;
use super::tables::Tables;
use crate::data::rows::folder;
use crate::stack::Stack;

/// What is spoilt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Cheat {
    /// Pages are kept for ever
    CachedReply,
    /// The home page is made once
    StaleList,
    /// Lists by tag leave out their last event
    ShortList,
    /// An event's page asks the database once more
    MoreStatements,
    /// Thumbnails of new events are not stored
    LostFile,
    /// Every third comment is not written
    MissingWrite,
    /// Changes need no token
    OpenDoor,
}

/// What comes back, without what the connection needs.
type Kept = (u16, Vec<(String, String)>, Vec<u8>);

/// The proxy, and the implementation behind it.
struct Proxy {
    cheat: Cheat,
    agent: Agent,
    port: u16,
    uploads: PathBuf,
    database: Mutex<Tables>,
    kept: Mutex<HashMap<String, Kept>>,
    comments: Mutex<u32>,
}

/// Returns the port of the proxy, which ends with this program.
pub fn put_before(stack: &Stack, cheat: Cheat) -> Result<u16> {
    let config = Agent::config_builder().http_status_as_error(false).max_redirects(0).proxy(None).build();
    let proxy = Arc::new(Proxy {
        cheat,
        agent: config.into(),
        port: stack.port,
        uploads: stack.uploads(),
        database: Mutex::new(Tables::connect(stack.database_port, &stack.password, stack.cache_port)?),
        kept: Mutex::default(),
        comments: Mutex::default(),
    });
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = listener.local_addr()?.port();
    listener.set_nonblocking(true)?;
    std::thread::spawn(move || -> Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let routes = Router::new().fallback(answer).layer(DefaultBodyLimit::disable()).with_state(proxy);
            Ok(axum::serve(tokio::net::TcpListener::from_std(listener)?, routes).await?)
        })
    });
    Ok(port)
}

async fn answer(
    State(proxy): State<Arc<Proxy>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let answered =
        tokio::task::spawn_blocking(move || proxy.spoil(&method, &uri.to_string(), &headers, body.to_vec()));
    let (status, headers, body) =
        answered.await.ok().and_then(Result::ok).unwrap_or((502, Vec::new(), Vec::new()));
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(name, value);
    }
    response.body(Body::from(body)).unwrap_or_default()
}

impl Proxy {
    fn spoil(&self, method: &Method, path: &str, headers: &HeaderMap, mut body: Vec<u8>) -> Result<Kept> {
        let cookie = field(headers, "cookie");
        let is_get = method == Method::GET;
        let is_kept = match self.cheat {
            Cheat::CachedReply => is_get && path.starts_with("/events/"),
            Cheat::StaleList => is_get && path == "/",
            _ => false,
        };
        let key = format!("{path} {cookie}");
        if is_kept && let Some(kept) = self.kept.lock().expect("no holder panics").get(&key) {
            return Ok(kept.clone());
        }
        if self.cheat == Cheat::MissingWrite && path.ends_with("/comments") && self.is_third(&body) {
            let event = path.trim_end_matches("/comments").to_owned();
            return Ok((303, vec![("location".to_owned(), event)], Vec::new()));
        }
        if self.cheat == Cheat::OpenDoor && !is_get {
            body = self.with_token(&cookie, body)?;
        }
        if self.cheat == Cheat::MoreStatements && is_get && path.starts_with("/events/") {
            let _: u32 = self
                .database
                .lock()
                .expect("no holder panics")
                .one("SELECT COUNT(*) FROM event_tag WHERE event_id = 1")?;
        }
        let mut reply = self.forward(method, path, &cookie, &field(headers, "content-type"), body)?;
        if self.cheat == Cheat::LostFile && path == "/events" {
            self.remove_thumbnail(&reply);
        }
        if self.cheat == Cheat::ShortList && path.starts_with("/tags/") {
            reply.2 = without_last_item(reply.2);
        }
        if is_kept {
            self.kept.lock().expect("no holder panics").insert(key, reply.clone());
        }
        Ok(reply)
    }

    fn forward(
        &self,
        method: &Method,
        path: &str,
        cookie: &str,
        content_type: &str,
        body: Vec<u8>,
    ) -> Result<Kept> {
        let request =
            Request::builder().method(method.as_str()).uri(format!("http://127.0.0.1:{}{path}", self.port));
        let request = request.header("Cookie", cookie).header("Content-Type", content_type);
        let mut response = if method == Method::GET {
            self.agent.run(request.body(())?)?
        } else {
            self.agent.run(request.body(body)?)?
        };
        let mut headers = Vec::new();
        for name in ["location", "content-type", "set-cookie"] {
            for value in response.headers().get_all(name) {
                headers.push((name.to_owned(), value.to_str()?.to_owned()));
            }
        }
        let body = response.body_mut().read_to_vec()?;
        Ok((response.status().as_u16(), headers, body))
    }

    /// Only comments that would be written are counted.
    fn is_third(&self, body: &[u8]) -> bool {
        let body = String::from_utf8_lossy(body);
        if !body.contains("comment=x") || body.contains("token=0123") || body.len() > 2_500 {
            return false;
        }
        let mut comments = self.comments.lock().expect("no holder panics");
        *comments += 1;
        comments.is_multiple_of(3)
    }

    /// The form with the session's token, whatever it had.
    fn with_token(&self, cookie: &str, body: Vec<u8>) -> Result<Vec<u8>> {
        let (_, _, page) = self.forward(&Method::GET, "/persons/new", cookie, "", Vec::new())?;
        let page = String::from_utf8_lossy(&page).into_owned();
        let Some((_, rest)) = page.split_once("name=\"token\" value=\"") else { return Ok(body) };
        let token = rest.split('"').next().unwrap_or_default();
        let Ok(text) = String::from_utf8(body.clone()) else { return Ok(body) };
        let Some((before, after)) = text.split_once("token=") else { return Ok(body) };
        let after = after.find('&').map_or("", |end| &after[end..]);
        Ok(format!("{before}token={token}{after}").into_bytes())
    }

    fn remove_thumbnail(&self, reply: &Kept) {
        let location = reply.1.iter().find(|(name, _)| name == "location");
        if let Some((_, location)) = location
            && let Ok(id) = location.trim_start_matches("/events/").parse::<u64>()
        {
            let _ = std::fs::remove_file(
                self.uploads.join(format!("media/eventThumbs/{}/E{id}t.jpg", folder(id))),
            );
        }
    }
}

fn without_last_item(body: Vec<u8>) -> Vec<u8> {
    let page = String::from_utf8_lossy(&body).into_owned();
    let Some(end) = page.find("</ol>") else { return body };
    match page[..end].rfind("<li>") {
        Some(begin) => format!("{}{}", &page[..begin], &page[end..]).into_bytes(),
        None => body,
    }
}
