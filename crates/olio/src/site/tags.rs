//! Events that have a tag.

use std::collections::HashMap;

use askama::Template;
use axum::Form;
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use mysql_async::prelude::Queryable;

use super::form::{field, is_tag};
use super::listing::{EVENT_LINE, EventLine, PAGE, PageLink, page_links, page_number};
use super::replies::{Reply, page};
use super::shared::{Shared, Site};
use super::visitor::{Frame, visitor};

#[derive(Template)]
#[template(path = "tag.html")]
struct Page {
    frame: Frame,
    tag: String,
    refcount: u64,
    events: Vec<EventLine>,
    pages: Vec<PageLink>,
}

/// A search changes nothing, so it has no token.
pub async fn search(
    State(site): Shared,
    headers: HeaderMap,
    Form(fields): Form<HashMap<String, String>>,
) -> Reply {
    let tag = field(&fields, "tag").to_lowercase();
    list(&site, &headers, tag, 1).await
}

pub async fn show(
    State(site): Shared,
    headers: HeaderMap,
    Path(tag): Path<String>,
    Query(query): Query<HashMap<String, String>>,
) -> Reply {
    list(&site, &headers, tag, page_number(query.get("page"))).await
}

/// A word that can be no tag is one that no event has.
async fn list(site: &Site, headers: &HeaderMap, tag: String, number: u64) -> Reply {
    let visitor = visitor(site, headers).await;
    let mut connection = site.connection().await?;
    let mut found: Option<(u32, u64)> = None;
    if is_tag(&tag) {
        found = connection.exec_first("SELECT id, refcount FROM tag WHERE name = ?", (&tag,)).await?;
    }
    let (id, refcount) = found.unwrap_or((0, 0));
    let mut events = Vec::new();
    if refcount > 0 {
        let statement = format!(
            "SELECT {EVENT_LINE} FROM event_tag et JOIN event e ON e.id = et.event_id WHERE et.tag_id = ? \
             ORDER BY e.starts_at, e.id LIMIT {PAGE} OFFSET {}",
            (number - 1) * PAGE
        );
        events = connection.exec(statement, (id,)).await?;
    }
    let frame = Frame::of(site, &mut connection, visitor).await?;
    let pages = page_links(&format!("/tags/{tag}?"), number, refcount);
    page(&Page { frame, tag, refcount, events, pages })
}
