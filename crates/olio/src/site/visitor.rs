//! Who asks: the session behind a cookie, the token that each change must bring, and what a page's frame shows of the visitor.

use axum::http::HeaderMap;
use axum::http::header::COOKIE;
use mysql_async::Conn;
use mysql_async::prelude::Queryable;
use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::listing::{EVENT_LINE, EventLine};
use super::replies::Problem;
use super::shared::Site;
use crate::data::hexadecimal;

/// The cookie's name.
pub const COOKIE_NAME: &str = "olio";

/// A person who is logged in.
#[derive(Clone, Serialize, Deserialize)]
pub struct Visitor {
    #[serde(skip)]
    pub session: String,
    pub id: u32,
    pub name: String,
    /// What each form of this session contains.
    pub token: String,
    /// Requests for friendship that wait for an answer.
    pub requests: u64,
    /// The rating of the next comment; 0 without one.
    pub rating: u8,
}

impl Visitor {
    /// A new session.
    pub fn new(id: u32, name: String, requests: u64) -> Self {
        Self { session: secret(), id, name, token: secret(), requests, rating: 0 }
    }

    pub async fn save(&self, site: &Site) {
        let text = serde_json::to_vec(self).expect("a session is plain data");
        site.sessions.set(&site.cache, &key(&self.session), text).await;
    }
}

/// 32 hexadecimal digits that nobody can guess.
fn secret() -> String {
    hexadecimal(&rand::rng().random::<[u8; 16]>())
}

fn key(session: &str) -> String {
    format!("session:{session}")
}

/// The visitor of a request, if one is logged in.
pub async fn visitor(site: &Site, headers: &HeaderMap) -> Option<Visitor> {
    let session = session(headers)?;
    let values = site.sessions.get(&site.cache, &key(&session)).await?;
    let mut visitor: Visitor = serde_json::from_slice(&values).ok()?;
    visitor.session = session;
    Some(visitor)
}

/// The visitor of a change, whose form has the session's token.
pub async fn changing_visitor(site: &Site, headers: &HeaderMap, token: &str) -> Result<Visitor, Problem> {
    let visitor = visitor(site, headers).await.ok_or(Problem::Forbidden)?;
    if equal(visitor.token.as_bytes(), token.as_bytes()) { Ok(visitor) } else { Err(Problem::Forbidden) }
}

/// Compares in a time that does not depend on where the texts differ.
fn equal(left: &[u8], right: &[u8]) -> bool {
    left.len() == right.len()
        && left.iter().zip(right).fold(0, |sum, (left, right)| sum | (left ^ right)) == 0
}

pub async fn end(site: &Site, visitor: &Visitor) {
    site.sessions.delete(&site.cache, &key(&visitor.session)).await;
}

/// The session that the cookie names: 32 hexadecimal digits, as they were given.
fn session(headers: &HeaderMap) -> Option<String> {
    for cookies in headers.get_all(COOKIE) {
        for cookie in cookies.to_str().ok()?.split(';') {
            if let Some((COOKIE_NAME, value)) = cookie.trim().split_once('=')
                && value.len() == 32
                && value.bytes().all(|byte| byte.is_ascii_hexdigit())
            {
                return Some(value.to_owned());
            }
        }
    }
    None
}

/// What surrounds each page.
pub struct Frame {
    pub visitor: Option<Visitor>,
    pub upcoming: Vec<EventLine>,
}

impl Frame {
    pub fn anonymous() -> Self {
        Self { visitor: None, upcoming: Vec::new() }
    }

    /// With the three next events of the visitor.
    pub async fn of(site: &Site, connection: &mut Conn, visitor: Option<Visitor>) -> Result<Self, Problem> {
        let Some(visitor) = visitor else { return Ok(Self::anonymous()) };
        let statement = format!(
            "SELECT {EVENT_LINE} FROM attendance a JOIN event e ON e.id = a.event_id \
             WHERE a.person_id = ? AND e.starts_at >= ? ORDER BY e.starts_at, e.id LIMIT 3"
        );
        let upcoming = connection.exec(statement, (visitor.id, &site.settings.now)).await?;
        Ok(Self { visitor: Some(visitor), upcoming })
    }

    /// The token of the visitor's forms; empty if nobody is logged in.
    pub fn token(&self) -> String {
        self.visitor.as_ref().map(|visitor| visitor.token.clone()).unwrap_or_default()
    }

    pub fn visitor_id(&self) -> u32 {
        self.visitor.as_ref().map_or(0, |visitor| visitor.id)
    }
}
