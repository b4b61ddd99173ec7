//! The page of a person: friends, events, and for the person alone the requests.

use askama::Template;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use mysql_async::prelude::{FromRow, Queryable};
use mysql_async::{Conn, FromRowError, Row};

use super::events::Columns;
use super::listing::{EVENT_LINE, EventLine};
use super::replies::{Problem, Reply, page};
use super::shared::Shared;
use super::visitor::{Frame, visitor};

#[derive(Template)]
#[template(path = "person.html")]
struct Page {
    frame: Frame,
    token: String,
    is_owner: bool,
    person: Person,
    relation: Relation,
    friends: Vec<Friend>,
    incoming: Vec<String>,
    outgoing: Vec<String>,
    events: Vec<EventLine>,
}

struct Person {
    id: u32,
    username: String,
    first_name: String,
    last_name: String,
    email: String,
    telephone: String,
    timezone: String,
    summary: String,
    image: String,
    thumb: String,
    city: String,
    state: String,
    country: String,
}

struct Friend {
    username: String,
    thumb: String,
}

/// What the visitor is to the person.
enum Relation {
    Stranger,
    Friend,
    /// The visitor has asked.
    Asked,
    /// The person has asked.
    Asks,
}

pub async fn show(State(site): Shared, headers: HeaderMap, Path(name): Path<String>) -> Reply {
    let visitor = visitor(&site, &headers).await;
    let mut connection = site.connection().await?;
    let statement = "SELECT p.id, p.username, p.first_name, p.last_name, p.email, p.telephone, p.timezone, p.summary, p.image, \
                     p.thumb, a.city, a.state, a.country \
                     FROM person p JOIN address a ON a.id = p.address_id WHERE p.username = ?";
    let person: Option<Person> = connection.exec_first(statement, (name,)).await?;
    let person = person.ok_or(Problem::NotFound)?;
    let friends = friends(&mut connection, person.id).await?;
    let mut relation = Relation::Stranger;
    let (mut incoming, mut outgoing) = (Vec::new(), Vec::new());
    let visitor_id = visitor.as_ref().map_or(0, |visitor| visitor.id);
    let is_owner = visitor_id == person.id;
    if is_owner {
        incoming = requests(&mut connection, person.id, "from_id", "to_id").await?;
        outgoing = requests(&mut connection, person.id, "to_id", "from_id").await?;
    } else if visitor.is_some() {
        relation = self::relation(&mut connection, visitor_id, person.id).await?;
    }
    let statement = format!(
        "SELECT {EVENT_LINE} FROM event e WHERE e.submitter_id = ? AND e.starts_at >= ? ORDER BY e.starts_at, e.id LIMIT 10"
    );
    let events = connection.exec(statement, (person.id, &site.settings.now)).await?;
    let frame = Frame::of(&site, &mut connection, visitor).await?;
    page(&Page {
        token: frame.token(),
        frame,
        is_owner,
        person,
        relation,
        friends,
        incoming,
        outgoing,
        events,
    })
}

/// The first six.
async fn friends(connection: &mut Conn, person: u32) -> Result<Vec<Friend>, Problem> {
    let statement = "SELECT p.username, p.thumb FROM person p JOIN ( \
                     SELECT to_id AS id FROM friendship WHERE from_id = ? AND accepted = 1 \
                     UNION SELECT from_id FROM friendship WHERE to_id = ? AND accepted = 1) f ON f.id = p.id \
                     ORDER BY p.id LIMIT 6";
    let rows: Vec<(String, String)> = connection.exec(statement, (person, person)).await?;
    Ok(rows.into_iter().map(|(username, thumb)| Friend { username, thumb }).collect())
}

/// The other sides of the requests that wait; `side` is the column of the person.
async fn requests(
    connection: &mut Conn,
    person: u32,
    other: &str,
    side: &str,
) -> Result<Vec<String>, Problem> {
    let statement = format!(
        "SELECT p.username FROM friendship f JOIN person p ON p.id = f.{other} WHERE f.{side} = ? AND f.accepted = 0 \
         ORDER BY p.id LIMIT 50"
    );
    Ok(connection.exec(statement, (person,)).await?)
}

async fn relation(connection: &mut Conn, visitor: u32, person: u32) -> Result<Relation, Problem> {
    let statement = "SELECT from_id, accepted FROM friendship WHERE (from_id = ? AND to_id = ?) OR (from_id = ? AND to_id = ?) \
                     ORDER BY accepted DESC, from_id LIMIT 1";
    let row: Option<(u32, u8)> = connection.exec_first(statement, (visitor, person, person, visitor)).await?;
    Ok(match row {
        None => Relation::Stranger,
        Some((_, 1)) => Relation::Friend,
        Some((from, _)) if from == visitor => Relation::Asked,
        Some(_) => Relation::Asks,
    })
}

impl FromRow for Person {
    fn from_row_opt(row: Row) -> Result<Self, FromRowError> {
        let mut row = Columns { row, next: 0 };
        Ok(Self {
            id: row.number(),
            username: row.text(),
            first_name: row.text(),
            last_name: row.text(),
            email: row.text(),
            telephone: row.text(),
            timezone: row.text(),
            summary: row.text(),
            image: row.text(),
            thumb: row.text(),
            city: row.text(),
            state: row.text(),
            country: row.text(),
        })
    }
}
