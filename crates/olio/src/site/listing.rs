//! Lists of events, ten a page, and the links to their pages.

use mysql_async::prelude::FromRow;
use mysql_async::{FromRowError, Row};

/// Events of a page.
pub const PAGE: u64 = 10;
/// Links to so many pages, and no further page than the last of these in steps of ten.
const MOST_LINKS: u64 = 10;
const MOST_PAGE: u64 = 1_000;

/// Columns of an event `e` in a list.
pub const EVENT_LINE: &str = "e.id, e.title, e.summary, DATE_FORMAT(e.starts_at, '%Y-%m-%d %H:%i'), e.thumb";

/// An event as a list shows it.
pub struct EventLine {
    pub id: u32,
    pub title: String,
    pub summary: String,
    pub starts: String,
    pub thumb: String,
}

impl FromRow for EventLine {
    fn from_row_opt(row: Row) -> Result<Self, FromRowError> {
        let (id, title, summary, starts, thumb) = FromRow::from_row_opt(row)?;
        Ok(Self { id, title, summary, starts, thumb })
    }
}

/// A link to a page of a list.
pub struct PageLink {
    pub label: String,
    pub href: String,
    pub is_current: bool,
}

/// The page that a query asks for, from 1.
pub fn page_number(text: Option<&String>) -> u64 {
    let number = text.and_then(|text| text.parse().ok()).unwrap_or(1);
    if (1..=MOST_PAGE).contains(&number) { number } else { 1 }
}

/// Links to the first ten pages, and to those before and after this one. `base` ends where `page=` follows.
pub fn page_links(base: &str, page: u64, events: u64) -> Vec<PageLink> {
    let pages = events.div_ceil(PAGE);
    let mut links = Vec::new();
    if page > 1 {
        links.push(link(base, "Previous", page - 1, false));
    }
    for number in 1..=pages.min(MOST_LINKS) {
        links.push(link(base, &number.to_string(), number, number == page));
    }
    if page < pages {
        links.push(link(base, "Next", page + 1, false));
    }
    links
}

fn link(base: &str, label: &str, page: u64, is_current: bool) -> PageLink {
    PageLink { label: label.to_owned(), href: format!("{base}page={page}"), is_current }
}
