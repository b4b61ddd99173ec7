//! A change after load: it is made through the site, and then one behind the site's back. Both must be in the tables and on the next pages.
//! A title is put back; comments and attendances stay.

use std::net::SocketAddr;

use anyhow::{Context, Result};

use super::client::{Ask, Client};
use super::normal_form::difference;
use super::tables::Tables;

/// The two that are compared, on the same tables.
pub struct Sites {
    pub reference: SocketAddr,
    pub site: SocketAddr,
}

/// What is changed: an event, by a person.
pub struct Change {
    pub event: u32,
    /// It is on the home page.
    pub is_popular: bool,
    pub person: u32,
    /// Decides what the person does: comments and attendances take turns.
    pub number: u32,
    /// No other change has it: a comment, and a title. It has no quotes.
    pub text: String,
}

/// A request that changes a table.
struct Order {
    ask: Ask,
    /// The status that says that it is done.
    status: u16,
    /// A query that counts the rows of the change.
    rows: String,
    /// Their number when it is done.
    done: u32,
}

/// Somebody who looks at pages of both sites.
struct Visitor {
    name: String,
    expected: Client,
    found: Client,
}

impl Sites {
    /// What is wrong with the site after a change of an event; nothing of an event that was deleted.
    pub fn difference_after(&self, tables: &mut Tables, change: &Change) -> Result<Option<String>> {
        let event = change.event;
        if tables.one::<u32>(&format!("SELECT COUNT(*) FROM event WHERE id = {event}"))? == 0 {
            return Ok(None);
        }
        let mut visitors = [self.visitor(None)?, self.visitor(Some(change.person))?];
        let pages = pages_of(tables, event)?;
        // A site that keeps replies has these now.
        for visitor in &mut visitors {
            for page in &pages {
                visitor.found.send(page)?;
            }
            if change.is_popular {
                visitor.found.send(&home())?;
            }
        }
        let order = change.order(tables)?;
        let reply = visitors[1].found.send(&order.ask)?;
        let name = format!("{} by person{}", order.ask.name(), change.person);
        if reply.status != order.status {
            return Ok(Some(format!("{name}: status {} instead of status {}", reply.status, order.status)));
        }
        if tables.one::<u32>(&order.rows)? != order.done {
            return Ok(Some(format!("{name}: the reply says that it is done, and the table does not")));
        }
        tables.execute(&format!("SET @title = (SELECT title FROM event WHERE id = {event})"))?;
        tables.execute(&format!("UPDATE event SET title = '{}' WHERE id = {event}", change.text))?;
        let mut difference = compare(&mut visitors, &pages)?;
        if difference.is_none() && change.is_popular {
            difference = compare_home(&mut visitors, tables)?;
        }
        tables.execute(&format!("UPDATE event SET title = @title WHERE id = {event}"))?;
        // The next home page has the old title again.
        end_time_of_home(tables)?;
        Ok(difference
            .map(|difference| format!("{difference}, after {name} and a new title of event {event}")))
    }

    fn visitor(&self, person: Option<u32>) -> Result<Visitor> {
        let (mut expected, mut found) = (Client::of(self.reference), Client::of(self.site));
        (expected.ignores_cookies, found.ignores_cookies) = (true, true);
        let Some(person) = person else { return Ok(Visitor { name: "nobody".to_owned(), expected, found }) };
        expected.log_in(person)?;
        found.log_in(person).context("the site")?;
        Ok(Visitor { name: format!("person{person}"), expected, found })
    }
}

impl Change {
    fn order(&self, tables: &mut Tables) -> Result<Order> {
        let (event, person) = (self.event, self.person);
        let token = ("token", "{token}".to_owned());
        if self.number.is_multiple_of(2) {
            let rows = format!(
                "SELECT COUNT(*) FROM comment WHERE event_id = {event} AND person_id = {person} AND body = '{}'",
                self.text
            );
            // Not 1 where this check is repeated with its seed.
            let done = tables.one::<u32>(&rows)? + 1;
            let fields = vec![token, ("comment", self.text.clone())];
            return Ok(Order {
                ask: Ask::post(format!("/events/{event}/comments"), fields),
                status: 303,
                rows,
                done,
            });
        }
        let rows =
            format!("SELECT COUNT(*) FROM attendance WHERE event_id = {event} AND person_id = {person}");
        let (action, done) = if tables.one::<u32>(&rows)? == 0 { ("attend", 1) } else { ("unattend", 0) };
        Ok(Order {
            ask: Ask::post(format!("/events/{event}/{action}"), vec![token]),
            status: 200,
            rows,
            done,
        })
    }
}

/// Pages that an event is on, or may be on: its own, that of its first tag, and that of its day.
fn pages_of(tables: &mut Tables, event: u32) -> Result<Vec<Ask>> {
    let day: String =
        tables.one(&format!("SELECT DATE_FORMAT(starts_at, '%Y-%m-%d') FROM event WHERE id = {event}"))?;
    let mut pages = vec![Ask::get(format!("/events/{event}")), Ask::get(format!("/?date={day}"))];
    let tags: Vec<String> = tables.all(&format!(
        "SELECT name FROM tag JOIN event_tag ON tag.id = tag_id WHERE event_id = {event} ORDER BY name LIMIT 1"
    ))?;
    for tag in tags {
        pages.push(Ask::get(format!("/tags/{tag}")));
    }
    Ok(pages)
}

fn home() -> Ask {
    Ask::get("/")
}

/// The next request for the home page makes it.
fn end_time_of_home(tables: &Tables) -> Result<()> {
    // Nobody makes it now: an interrupted request has left the lock.
    for key in ["home:lock", "home:fresh"] {
        tables.ask_cache(&format!("delete {key}"))?;
    }
    Ok(())
}

/// The first difference of the home page, which each side must make now. The reference has the cache of the site, and would put its own
/// page there: it is asked when the site has answered all.
fn compare_home(visitors: &mut [Visitor], tables: &Tables) -> Result<Option<String>> {
    let mut found = Vec::new();
    for visitor in &mut *visitors {
        end_time_of_home(tables)?;
        found.push(visitor.found.send(&home())?);
    }
    for (visitor, found) in visitors.iter_mut().zip(found) {
        end_time_of_home(tables)?;
        if let Some(difference) = difference(&visitor.expected.send(&home())?, &found) {
            let name = home().name();
            return Ok(Some(format!("{name} for {}, although its time is over: {difference}", visitor.name)));
        }
    }
    Ok(None)
}

/// The first page that differs.
fn compare(visitors: &mut [Visitor], pages: &[Ask]) -> Result<Option<String>> {
    for visitor in visitors {
        for page in pages {
            if let Some(difference) = difference(&visitor.expected.send(page)?, &visitor.found.send(page)?) {
                return Ok(Some(format!("{} for {}: {difference}", page.name(), visitor.name)));
            }
        }
    }
    Ok(None)
}
