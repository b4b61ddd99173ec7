//! The home page: the next events and the cloud of tags. Without parameters it comes from the cache, where one request in 300 s makes
//! it anew while the others send the old one.

use std::collections::HashMap;
use std::fmt::Write as _;

use askama::Template;
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::response::{Html, IntoResponse};
use mysql_async::Conn;
use mysql_async::prelude::Queryable;
use mysql_async::{Params, Value};

use super::form::{is_date, is_zip};
use super::listing::{EVENT_LINE, EventLine, PAGE, PageLink, page_links, page_number};
use super::replies::{Problem, Reply, page};
use super::shared::{Shared, Site};
use super::visitor::{Frame, visitor};

/// The page as anonymous visitors see it, and the part of it that is the same for those who are logged in.
const WHOLE: &str = "home:anonymous";
const CONTENT: &str = "home:content";
/// While this key is there, the pages are fresh.
const FRESH: &str = "home:fresh";
const FRESH_S: u32 = 300;
/// Who adds this key makes the pages.
const LOCK: &str = "home:lock";
const LOCK_S: u32 = 5;
/// Tags of the cloud.
const CLOUD: u32 = 50;

#[derive(Template)]
#[template(path = "home.html")]
struct Home {
    frame: Frame,
    content: String,
}

#[derive(Template)]
#[template(path = "home_content.html")]
struct Content {
    filter: Filter,
    events: Vec<EventLine>,
    pages: Vec<PageLink>,
    cloud: Vec<CloudTag>,
}

/// What the list is restricted to. A parameter that is malformed is not there.
#[derive(Default, PartialEq)]
struct Filter {
    zip: String,
    date: String,
    by_creation: bool,
    page: u64,
}

struct CloudTag {
    name: String,
    /// 1 to 5 by the number of events.
    size: u64,
}

pub async fn show(
    State(site): Shared,
    headers: HeaderMap,
    Query(query): Query<HashMap<String, String>>,
) -> Reply {
    let visitor = visitor(&site, &headers).await;
    let filter = Filter::of(&query);
    let is_plain = filter == Filter { page: 1, ..Filter::default() };
    if visitor.is_none() {
        let whole =
            if is_plain { cached(&site, WHOLE).await? } else { whole(content(&site, filter).await?)? };
        return Ok(Html(whole).into_response());
    }
    let content = if is_plain { cached(&site, CONTENT).await? } else { content(&site, filter).await? };
    let frame = Frame::of(&site, &mut site.connection().await?, visitor).await?;
    page(&Home { frame, content })
}

/// The page of that key: fresh, or old while another request makes it, or made here.
async fn cached(site: &Site, key: &str) -> Result<String, Problem> {
    let mut values = site.cache.get(&[key, FRESH]).await;
    let old = values.remove(key).and_then(|page| String::from_utf8(page).ok());
    let is_fresh = values.contains_key(FRESH);
    if let Some(old) = old {
        if is_fresh || !site.cache.add(LOCK, LOCK_S).await {
            return Ok(old);
        }
    } else if !site.cache.add(LOCK, LOCK_S).await {
        // Nothing old to send, and somebody else makes the page: do without the cache rather than wait.
        return of_key(site, key).await;
    }
    let content = content(site, Filter { page: 1, ..Filter::default() }).await?;
    let whole = whole(content.clone())?;
    site.cache.set(WHOLE, whole.as_bytes(), 0).await;
    site.cache.set(CONTENT, content.as_bytes(), 0).await;
    site.cache.set(FRESH, b"1", FRESH_S).await;
    site.cache.delete(LOCK).await;
    Ok(if key == WHOLE { whole } else { content })
}

async fn of_key(site: &Site, key: &str) -> Result<String, Problem> {
    let content = content(site, Filter { page: 1, ..Filter::default() }).await?;
    if key == WHOLE { whole(content) } else { Ok(content) }
}

fn whole(content: String) -> Result<String, Problem> {
    Ok(Home { frame: Frame::anonymous(), content }.render()?)
}

/// Three statements: the events, their number, the tags.
async fn content(site: &Site, filter: Filter) -> Result<String, Problem> {
    let mut connection = site.connection().await?;
    let (condition, parameters) = filter.condition(&site.settings.now);
    let order = if filter.by_creation { "e.created_at DESC, e.id DESC" } else { "e.starts_at, e.id" };
    let offset = (filter.page - 1) * PAGE;
    let events = format!("SELECT {EVENT_LINE} {condition} ORDER BY {order} LIMIT {PAGE} OFFSET {offset}");
    let events = connection.exec(events, Params::Positional(parameters.clone())).await?;
    let count = format!("SELECT COUNT(*) {condition}");
    let count: Option<u64> = connection.exec_first(count, Params::Positional(parameters)).await?;
    let cloud = cloud(&mut connection).await?;
    let pages = page_links(&filter.base(), filter.page, count.unwrap_or(0));
    Ok(Content { filter, events, pages, cloud }.render()?)
}

async fn cloud(connection: &mut Conn) -> Result<Vec<CloudTag>, Problem> {
    let statement = "SELECT name, refcount FROM tag ORDER BY refcount DESC, name LIMIT ?";
    let mut tags: Vec<(String, u64)> = connection.exec(statement, (CLOUD,)).await?;
    let most = tags.first().map_or(0, |(_, refcount)| *refcount);
    let least = tags.last().map_or(0, |(_, refcount)| *refcount);
    tags.sort();
    let mut cloud = Vec::new();
    for (name, refcount) in tags {
        // Whole numbers only: every language rounds them alike.
        let size = 1 + if most > least { 4 * (refcount - least) / (most - least) } else { 0 };
        cloud.push(CloudTag { name, size });
    }
    Ok(cloud)
}

impl Filter {
    fn of(query: &HashMap<String, String>) -> Self {
        let zip = query.get("zip").filter(|zip| is_zip(zip)).cloned().unwrap_or_default();
        let date = query.get("date").filter(|date| is_date(date)).cloned().unwrap_or_default();
        let by_creation = query.get("order").is_some_and(|order| order == "created");
        Self { zip, date, by_creation, page: page_number(query.get("page")) }
    }

    fn condition(&self, now: &str) -> (String, Vec<Value>) {
        let mut parameters: Vec<Value> = Vec::new();
        let mut condition = String::from("FROM event e");
        if !self.zip.is_empty() {
            condition.push_str(" JOIN address a ON a.id = e.address_id AND a.zip = ?");
            parameters.push(self.zip.as_str().into());
        }
        if self.date.is_empty() {
            condition.push_str(" WHERE e.starts_at >= ?");
            parameters.push(now.into());
        } else {
            condition.push_str(" WHERE e.starts_at BETWEEN ? AND ?");
            parameters.push(format!("{} 00:00:00", self.date).into());
            parameters.push(format!("{} 23:59:59", self.date).into());
        }
        (condition, parameters)
    }

    /// The address of this list, without its page.
    fn base(&self) -> String {
        let mut base = String::from("/?");
        if !self.zip.is_empty() {
            let _ = write!(base, "zip={}&", self.zip);
        }
        if self.by_creation {
            base.push_str("order=created&");
        }
        if !self.date.is_empty() {
            let _ = write!(base, "date={}&", self.date);
        }
        base
    }
}
