//! Implementations that only seem to work: a proxy before a good one that spoils one thing. Each must be found, or the proofs prove
//! nothing.

use std::collections::HashMap;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use anyhow::Result;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Method, Response, Uri};
use clap::{Args, ValueEnum};
use image::{Rgb, RgbImage};
use ureq::Agent;
use ureq::http::Request;

use super::changes::PASSWORD;
use super::client::field;
use super::tables::Tables;
use crate::data::rows::folder;
use crate::stack::Stack;

/// Requests that a cheat under load answers rightly, before it begins.
const BEGINS_AFTER: u32 = 200;

/// What is spoilt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cheat {
    /// Pages are kept for ever
    CachedReply,
    /// The home page is made once
    StaleList,
    /// Lists by tag leave out their last event
    ShortList,
    /// An event's page asks the database once more
    MoreStatements,
    /// Passwords of new persons are stored as they are, as long as a hash
    ClearPasswords,
    /// Thumbnails of new events are one grey picture
    GreyThumbnails,
    /// Browsers may keep pages
    CachedByBrowsers,
    /// Thumbnails of new events are not stored
    LostFile,
    /// Every third comment is not written
    MissingWrite,
    /// Changes need no token
    OpenDoor,
    /// All is right until there have been many requests
    UnderLoad(LoadCheat),
}

/// What is spoilt once there have been many requests. `olio verify` must find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LoadCheat {
    /// Pages of events are kept
    KeptReplies,
    /// Lists of events are kept
    StaleLists,
    /// The home page is made once
    KeptHome,
    /// Every third comment is not written, and every third attendance is taken back
    LostWrites,
}

/// All cheats, in the order in which they are tried.
pub const CHEATS: [Cheat; 14] = [
    Cheat::CachedReply,
    Cheat::StaleList,
    Cheat::ShortList,
    Cheat::MoreStatements,
    // The first one that adds persons: when the same changes are made again, their names are taken.
    Cheat::ClearPasswords,
    Cheat::GreyThumbnails,
    Cheat::CachedByBrowsers,
    Cheat::LostFile,
    Cheat::MissingWrite,
    Cheat::OpenDoor,
    Cheat::UnderLoad(LoadCheat::KeptReplies),
    Cheat::UnderLoad(LoadCheat::StaleLists),
    Cheat::UnderLoad(LoadCheat::KeptHome),
    Cheat::UnderLoad(LoadCheat::LostWrites),
];

/// A site with a cheat before it.
#[derive(Args)]
pub struct CheatRequest {
    /// What is answered wrongly, after 200 requests
    cheat: LoadCheat,
    /// Port to listen on, on the loopback address
    #[arg(long)]
    port: u16,
    /// Port of the site's web server
    #[arg(long)]
    site: u16,
}

impl CheatRequest {
    /// Answers until the process ends.
    pub fn serve(&self) -> Result<()> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, self.port))?;
        serve(listener, Proxy::new(Cheat::UnderLoad(self.cheat), self.site, None))
    }
}

/// What comes back, without what the connection needs.
type Kept = (u16, Vec<(String, String)>, Vec<u8>);

/// The proxy, and the implementation behind it.
struct Proxy {
    cheat: Cheat,
    agent: Agent,
    port: u16,
    /// What some cheats reach behind the implementation's back.
    stores: Option<Stores>,
    kept: Mutex<HashMap<String, Kept>>,
    /// Changes that could be spoilt.
    changes: Mutex<u32>,
    requests: AtomicU32,
}

/// Files and tables of the implementation.
struct Stores {
    uploads: PathBuf,
    database: Mutex<Tables>,
}

impl Stores {
    fn thumbnail(&self, event: u64) -> PathBuf {
        self.uploads.join(format!("media/eventThumbs/{}/E{event}t.jpg", folder(event)))
    }
}

/// Returns the port of the proxy, which ends with this program.
pub fn put_before(stack: &Stack, cheat: Cheat) -> Result<u16> {
    let database = Tables::connect(stack.database_port, &stack.password, stack.cache_port)?;
    let stores = Stores { uploads: stack.uploads(), database: Mutex::new(database) };
    let proxy = Proxy::new(cheat, stack.port, Some(stores));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = listener.local_addr()?.port();
    std::thread::spawn(move || serve(listener, proxy));
    Ok(port)
}

fn serve(listener: TcpListener, proxy: Proxy) -> Result<()> {
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let routes =
            Router::new().fallback(answer).layer(DefaultBodyLimit::disable()).with_state(Arc::new(proxy));
        Ok(axum::serve(tokio::net::TcpListener::from_std(listener)?, routes).await?)
    })
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
    fn new(cheat: Cheat, port: u16, stores: Option<Stores>) -> Self {
        let config = Agent::config_builder().http_status_as_error(false).max_redirects(0).proxy(None).build();
        Self {
            cheat,
            agent: config.into(),
            port,
            stores,
            kept: Mutex::default(),
            changes: Mutex::default(),
            requests: AtomicU32::new(0),
        }
    }

    /// Whether the cheat answers with what it has kept.
    fn keeps(&self, path: &str) -> bool {
        let is_loaded = self.requests.load(Ordering::Relaxed) > BEGINS_AFTER;
        match self.cheat {
            Cheat::CachedReply => path.starts_with("/events/"),
            Cheat::StaleList => path == "/",
            Cheat::UnderLoad(LoadCheat::KeptReplies) => is_loaded && path.starts_with("/events/"),
            Cheat::UnderLoad(LoadCheat::KeptHome) => is_loaded && path == "/",
            Cheat::UnderLoad(LoadCheat::StaleLists) => {
                is_loaded && (path.starts_with("/?") || path.starts_with("/tags/"))
            }
            _ => false,
        }
    }

    fn spoil(&self, method: &Method, path: &str, headers: &HeaderMap, mut body: Vec<u8>) -> Result<Kept> {
        let requests = self.requests.fetch_add(1, Ordering::Relaxed);
        let cookie = field(headers, "cookie");
        let is_get = method == Method::GET;
        let is_kept = is_get && self.keeps(path);
        let key = format!("{path} {cookie}");
        if is_kept && let Some(kept) = self.kept.lock().expect("no holder panics").get(&key) {
            return Ok(kept.clone());
        }
        let is_comment = path.ends_with("/comments");
        let loses_writes = match self.cheat {
            Cheat::MissingWrite => is_comment && is_whole_comment(&body),
            Cheat::UnderLoad(LoadCheat::LostWrites) => {
                requests > BEGINS_AFTER && (is_comment || path.ends_with("/attend"))
            }
            _ => false,
        };
        let is_lost = loses_writes && self.is_third();
        if is_lost && is_comment {
            let event = path.trim_end_matches("/comments").to_owned();
            return Ok((303, vec![("location".to_owned(), event)], Vec::new()));
        }
        if self.cheat == Cheat::OpenDoor && !is_get {
            body = self.with_token(&cookie, body)?;
        }
        if self.cheat == Cheat::MoreStatements
            && is_get
            && path.starts_with("/events/")
            && let Some(stores) = &self.stores
        {
            let mut database = stores.database.lock().expect("no holder panics");
            let _: u32 = database.one("SELECT COUNT(*) FROM event_tag WHERE event_id = 1")?;
        }
        let content_type = field(headers, "content-type");
        let mut reply = self.forward(method, path, &cookie, &content_type, body.clone())?;
        if is_lost {
            let back = path.replace("/attend", "/unattend");
            self.forward(method, &back, &cookie, &content_type, body)?;
        }
        self.spoil_new(path, &reply)?;
        if self.cheat == Cheat::CachedByBrowsers && is_get {
            reply.1.push(("cache-control".to_owned(), "max-age=60".to_owned()));
        }
        if self.cheat == Cheat::ShortList && path.starts_with("/tags/") {
            reply.2 = without_last_item(reply.2);
        }
        if is_kept {
            self.kept.lock().expect("no holder panics").insert(key, reply.clone());
        }
        Ok(reply)
    }

    fn is_third(&self) -> bool {
        let mut changes = self.changes.lock().expect("no holder panics");
        *changes += 1;
        changes.is_multiple_of(3)
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

    /// Spoils what a request has just added, where the reply leads.
    fn spoil_new(&self, path: &str, reply: &Kept) -> Result<()> {
        let location = reply.1.iter().find(|(name, _)| name == "location");
        let (Some(stores), Some((_, location))) = (&self.stores, location) else { return Ok(()) };
        let event = location.strip_prefix("/events/").and_then(|id| id.parse().ok());
        match (self.cheat, path, event) {
            (Cheat::LostFile, "/events", Some(event)) => std::fs::remove_file(stores.thumbnail(event))?,
            (Cheat::GreyThumbnails, "/events", Some(event)) => {
                let file = stores.thumbnail(event);
                let (width, height) = image::image_dimensions(&file)?;
                RgbImage::from_pixel(width, height, Rgb([128; 3])).save(&file)?;
            }
            (Cheat::ClearPasswords, "/persons", _) => {
                let name = location.trim_start_matches("/persons/");
                let mut database = stores.database.lock().expect("no holder panics");
                database.execute(&format!(
                    "UPDATE person SET password = RPAD('{PASSWORD}', 64, '.') WHERE username = '{name}'"
                ))?;
            }
            _ => {}
        }
        Ok(())
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

/// A comment that would be written, so that each third of these is missed.
fn is_whole_comment(body: &[u8]) -> bool {
    let body = String::from_utf8_lossy(body);
    body.contains("comment=x") && !body.contains("token=0123") && body.len() <= 2_500
}
