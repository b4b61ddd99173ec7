//! The page of an event, and who attends it.

use std::sync::Arc;

use askama::Template;
use axum::Form;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use mysql_async::prelude::{FromRow, Queryable};
use mysql_async::{Conn, FromRowError, Row, TxOpts};

use super::login::Confirmation;
use super::replies::{Problem, Reply, is_tried_again, page};
use super::shared::{Shared, Site};
use super::visitor::{Frame, changing_visitor, visitor};

/// Names of attendees that a page shows.
const NAMES: u32 = 20;

#[derive(Template)]
#[template(path = "event.html")]
struct Page {
    frame: Frame,
    token: String,
    rating: u8,
    is_owner: bool,
    event: Event,
    tags: Vec<String>,
    attendees: Attendees,
    comments: Vec<Comment>,
}

#[derive(Template)]
#[template(path = "attendees.html")]
struct Fragment {
    token: String,
    attendees: Attendees,
}

struct Event {
    id: u32,
    title: String,
    summary: String,
    description: String,
    submitter_id: u32,
    submitter: String,
    telephone: String,
    timezone: String,
    starts: String,
    image: String,
    thumb: String,
    literature: String,
    street1: String,
    street2: String,
    city: String,
    state: String,
    zip: String,
    country: String,
    latitude: String,
    longitude: String,
}

struct Attendees {
    event: u32,
    count: u64,
    /// Whether the visitor is one of them.
    attends: bool,
    /// The first ones; the visitor before all others.
    names: Vec<String>,
}

struct Comment {
    author: String,
    body: String,
    rating: u8,
    written: String,
}

/// The number of an event in a path.
pub fn number(text: &str) -> Result<u32, Problem> {
    text.parse().map_err(|_| Problem::NotFound)
}

pub async fn show(State(site): Shared, headers: HeaderMap, Path(id): Path<String>) -> Reply {
    let id = number(&id)?;
    let visitor = visitor(&site, &headers).await;
    let mut connection = site.connection().await?;
    let event = event(&mut connection, id).await?.ok_or(Problem::NotFound)?;
    let tags = connection
        .exec("SELECT t.name FROM event_tag et JOIN tag t ON t.id = et.tag_id WHERE et.event_id = ? ORDER BY t.name", (id,))
        .await?;
    let attendees = attendees(&mut connection, id, visitor.as_ref().map_or(0, |visitor| visitor.id)).await?;
    let comments = connection
        .exec(
            "SELECT p.username, c.body, c.rating, DATE_FORMAT(c.created_at, '%Y-%m-%d %H:%i') \
             FROM comment c JOIN person p ON p.id = c.person_id WHERE c.event_id = ? ORDER BY c.id",
            (id,),
        )
        .await?;
    let frame = Frame::of(&site, &mut connection, visitor).await?;
    let rating = frame.visitor.as_ref().map_or(0, |visitor| visitor.rating);
    let is_owner = frame.visitor_id() == event.submitter_id;
    page(&Page { token: frame.token(), rating, is_owner, frame, event, tags, attendees, comments })
}

async fn event(connection: &mut Conn, id: u32) -> Result<Option<Event>, Problem> {
    let statement = "SELECT e.id, e.title, e.summary, e.description, e.submitter_id, p.username, e.telephone, e.timezone, \
                     DATE_FORMAT(e.starts_at, '%Y-%m-%d %H:%i'), e.image, e.thumb, e.literature, a.street1, a.street2, a.city, \
                     a.state, a.zip, a.country, a.latitude, a.longitude \
                     FROM event e JOIN address a ON a.id = e.address_id JOIN person p ON p.id = e.submitter_id WHERE e.id = ?";
    Ok(connection.exec_first(statement, (id,)).await?)
}

async fn attendees(connection: &mut impl Queryable, event: u32, visitor: u32) -> Result<Attendees, Problem> {
    let statement = "SELECT COUNT(*), EXISTS(SELECT 1 FROM attendance WHERE event_id = ? AND person_id = ?) \
                     FROM attendance WHERE event_id = ?";
    let counted: Option<(u64, u8)> = connection.exec_first(statement, (event, visitor, event)).await?;
    let (count, attends) = counted.unwrap_or((0, 0));
    let statement = "SELECT p.username FROM attendance a JOIN person p ON p.id = a.person_id WHERE a.event_id = ? \
                     ORDER BY a.person_id = ? DESC, a.person_id LIMIT ?";
    let names = connection.exec(statement, (event, visitor, NAMES)).await?;
    Ok(Attendees { event, count, attends: attends == 1, names })
}

pub async fn attend(
    State(site): Shared,
    headers: HeaderMap,
    Path(id): Path<String>,
    Form(form): Form<Confirmation>,
) -> Reply {
    let statement =
        "INSERT IGNORE INTO attendance (person_id, event_id) SELECT ?, id FROM event WHERE id = ?";
    change_attendance(site, headers, &id, &form, statement).await
}

pub async fn unattend(
    State(site): Shared,
    headers: HeaderMap,
    Path(id): Path<String>,
    Form(form): Form<Confirmation>,
) -> Reply {
    let statement = "DELETE FROM attendance WHERE person_id = ? AND event_id = ?";
    change_attendance(site, headers, &id, &form, statement).await
}

/// The change, and what there is after it, in one transaction.
async fn change_attendance(
    site: Arc<Site>,
    headers: HeaderMap,
    id: &str,
    form: &Confirmation,
    statement: &str,
) -> Reply {
    let id = number(id)?;
    let visitor = changing_visitor(&site, &headers, &form.token).await?;
    let mut connection = site.connection().await?;
    let mut attempts = 1;
    loop {
        let changed = attendees_after(&mut connection, statement, id, visitor.id).await;
        if !is_tried_again(&changed, attempts) {
            return page(&Fragment { token: visitor.token, attendees: changed? });
        }
        attempts += 1;
    }
}

/// One attempt of the transaction.
async fn attendees_after(
    connection: &mut Conn,
    statement: &str,
    id: u32,
    visitor: u32,
) -> Result<Attendees, Problem> {
    let mut transaction = connection.start_transaction(TxOpts::default()).await?;
    transaction.exec_drop(statement, (visitor, id)).await?;
    let attendees = attendees(&mut transaction, id, visitor).await?;
    transaction.commit().await?;
    Ok(attendees)
}

impl FromRow for Event {
    fn from_row_opt(row: Row) -> Result<Self, FromRowError> {
        let mut row = Columns { row, next: 0 };
        Ok(Self {
            id: row.number(),
            title: row.text(),
            summary: row.text(),
            description: row.text(),
            submitter_id: row.number(),
            submitter: row.text(),
            telephone: row.text(),
            timezone: row.text(),
            starts: row.text(),
            image: row.text(),
            thumb: row.text(),
            literature: row.text(),
            street1: row.text(),
            street2: row.text(),
            city: row.text(),
            state: row.text(),
            zip: row.text(),
            country: row.text(),
            latitude: row.text(),
            longitude: row.text(),
        })
    }
}

impl FromRow for Comment {
    fn from_row_opt(row: Row) -> Result<Self, FromRowError> {
        let (author, body, rating, written) = FromRow::from_row_opt(row)?;
        Ok(Self { author, body, rating, written })
    }
}

/// The columns of a row that has more than a tuple can take, in their order.
pub struct Columns {
    pub row: Row,
    pub next: usize,
}

impl Columns {
    pub fn text(&mut self) -> String {
        self.next += 1;
        self.row.take(self.next - 1).expect("the schema has no NULL")
    }

    pub fn number(&mut self) -> u32 {
        self.next += 1;
        self.row.take(self.next - 1).expect("the schema has no NULL")
    }
}
