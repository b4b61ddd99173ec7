//! A shop that checks its users: a session in a cookie, a token in each form, a login that redirects. What a user does wrong is
//! answered with status 400 and the reason. Connections end after a few requests, as those of real servers do.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

/// Requests before the server closes a connection.
const REQUESTS_OF_CONNECTION: u32 = 7;
/// Items of the home page.
const ITEMS: u32 = 5;
/// When the statics were modified last.
const MODIFIED: &str = "Sat, 28 Nov 2026 07:00:00 GMT";

#[derive(Clone, Debug, Default)]
struct ShopSession {
    token: u32,
    member: Option<String>,
}

/// What users have done.
#[derive(Debug, Default)]
pub struct ShopCounts {
    /// Sessions by their numbers.
    sessions: HashMap<u32, ShopSession>,
    pub logins: u64,
    pub logouts: u64,
    pub items: u64,
    /// Requests for a static, and those of them that asked whether it had changed since its date.
    pub statics: u64,
    pub revalidations: u64,
    /// Images by their numbers, as often as they were sent.
    pub images: BTreeMap<u32, u64>,
    /// Refusals with their reasons.
    pub refused: Vec<String>,
}

/// A shop on a port of loopback, until the program ends.
pub struct Shop {
    pub address: SocketAddr,
    counts: Arc<Mutex<ShopCounts>>,
}

struct Reply {
    status: &'static str,
    headers: String,
    body: String,
}

impl Reply {
    fn page(body: String) -> Self {
        Self { status: "200 OK", headers: String::new(), body }
    }
}

impl Shop {
    pub fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let counts = Arc::new(Mutex::new(ShopCounts::default()));
        let of_thread = Arc::clone(&counts);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let counts = Arc::clone(&of_thread);
                std::thread::spawn(move || serve(client, address, &counts));
            }
        });
        Self { address, counts }
    }

    pub fn counts<T>(&self, read: impl FnOnce(&ShopCounts) -> T) -> T {
        read(&self.counts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn serve(client: TcpStream, address: SocketAddr, counts: &Mutex<ShopCounts>) -> Option<()> {
    client.set_nodelay(true).ok()?;
    let mut reader = BufReader::new(client.try_clone().ok()?);
    let mut client = client;
    for request in 1.. {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
        let (mut cookies, mut since, mut length) = (String::new(), String::new(), 0_usize);
        loop {
            let mut header = String::new();
            reader.read_line(&mut header).ok()?;
            let Some((name, value)) = header.trim_end().split_once(": ") else { break };
            match name.to_ascii_lowercase().as_str() {
                "cookie" => value.clone_into(&mut cookies),
                "if-modified-since" => value.clone_into(&mut since),
                "content-length" => length = value.parse().ok()?,
                _ => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let mut words = line.split(' ');
        let (method, path) = (words.next()?, words.next()?);
        let Reply { status, headers, body } = {
            let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
            let body = String::from_utf8_lossy(&body);
            let answer = match counts.static_reply(path, &since) {
                Some(reply) => Ok(reply),
                None => counts.answer(address, (method, path), &cookies, &body),
            };
            answer.unwrap_or_else(|why| {
                counts.refused.push(format!("{method} {path}: {why}"));
                Reply { status: "400 Bad Request", headers: String::new(), body: why.to_owned() }
            })
        };
        let is_last = request == REQUESTS_OF_CONNECTION;
        let close = if is_last { "Connection: close\r\n" } else { "" };
        let reply =
            format!("HTTP/1.1 {status}\r\n{headers}{close}Content-Length: {}\r\n\r\n{body}", body.len());
        // In two pieces, so that what is captured lies across them now and then.
        let (front, rest) = reply.split_at(reply.len() * 2 / 3);
        client.write_all(front.as_bytes()).ok()?;
        client.write_all(rest.as_bytes()).ok()?;
        if is_last {
            return None;
        }
    }
    None
}

fn field<'a>(form: &'a str, name: &str) -> Option<&'a str> {
    form.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

impl ShopCounts {
    /// How many sessions there were.
    pub fn sessions(&self) -> u64 {
        self.sessions.len() as u64
    }

    /// The reply for a static or an image, which need no session.
    fn static_reply(&mut self, path: &str, since: &str) -> Option<Reply> {
        if let Some(image) = path.strip_prefix("/media/") {
            *self.images.entry(image.strip_suffix(".jpg")?.parse().ok()?).or_default() += 1;
            return Some(Reply::page("JPEG".to_owned()));
        }
        path.strip_prefix("/static/")?;
        self.statics += 1;
        let headers = format!("Last-Modified: {MODIFIED}\r\n");
        if since != MODIFIED {
            return Some(Reply { status: "200 OK", headers, body: "body {}".to_owned() });
        }
        self.revalidations += 1;
        Some(Reply { status: "304 Not Modified", headers, body: String::new() })
    }

    fn answer(
        &mut self,
        address: SocketAddr,
        (method, path): (&str, &str),
        cookies: &str,
        body: &str,
    ) -> Result<Reply, &'static str> {
        let number = cookies.split("; ").find_map(|cookie| cookie.strip_prefix("sid=")?.parse::<u32>().ok());
        let Some(number) = number else {
            if path != "/" {
                return Err("no session");
            }
            let number = u32::try_from(self.sessions.len()).map_err(|_| "too many sessions")? + 1;
            self.sessions.insert(number, ShopSession { token: number * 7, member: None });
            let mut reply = self.home(number);
            reply.headers = format!("Set-Cookie: sid={number}; Path=/; HttpOnly\r\n");
            return Ok(reply);
        };
        let session = self.sessions.get_mut(&number).ok_or("an unknown session")?;
        match (method, path) {
            ("GET", "/") => Ok(self.home(number)),
            ("GET", "/gallery") => {
                let image = |number| format!("<img src=\"/media/{number}.jpg\">");
                Ok(Reply::page([1, 2, 3, 2].map(image).concat()))
            }
            ("POST", "/login") => {
                if field(body, "token") != Some(&session.token.to_string()) {
                    return Err("another token");
                }
                let name = field(body, "name").ok_or("no name")?;
                if field(body, "password") != Some(&name.replace("user", "secret")) {
                    return Err("another password");
                }
                session.member = Some(name.to_owned());
                session.token += 1;
                self.logins += 1;
                let headers = format!("Location: http://{address}/account\r\n");
                Ok(Reply { status: "303 See Other", headers, body: String::new() })
            }
            ("POST", "/logout") if session.member.take().is_some() => {
                self.logouts += 1;
                Ok(Reply::page("bye".to_owned()))
            }
            ("GET", "/account") => {
                let name = session.member.as_ref().ok_or("no member")?;
                Ok(Reply::page(format!("<p>Hello {name}</p><a href=\"/logout\">Log out</a>")))
            }
            ("GET", path) => {
                let item = path.strip_prefix("/items/").and_then(|item| item.parse::<u32>().ok());
                let item = item.filter(|item| (1..=ITEMS).contains(item)).ok_or("no such item")?;
                self.items += 1;
                Ok(Reply::page(format!(
                    "{{\"name\": \"item \\\"{item}\\\"\", \"tags\": [{{\"id\": {item}}}]}}"
                )))
            }
            _ => Err("no such page"),
        }
    }

    fn home(&self, number: u32) -> Reply {
        let session = &self.sessions[&number];
        let link = |item| format!("<a href=\"/items/{item}\">item</a>\n");
        let items = (1..=ITEMS).map(link).collect::<Vec<_>>().concat();
        Reply::page(format!(
            "<html><form><input name=\"token\" value=\"{}\"></form>\n{items}</html>",
            session.token
        ))
    }
}
