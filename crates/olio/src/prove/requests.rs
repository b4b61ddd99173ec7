//! Every route for every kind of visitor, without a change of any table: pages, and refusals of changes. Which objects are asked for
//! follows from the seed, so that no answer can be prepared.

use anyhow::Result;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::client::{Ask, Body, Client};
use super::normal_form::difference;
use super::subject::{Proof, Request, Site};
use super::tables::Tables;
use crate::data::rows::Scale;

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Anonymous,
    /// Logged in, and neither the submitter of the event nor the person of the page.
    User,
    /// The submitter of the event, and the person of the page.
    Owner,
}

/// What the requests are about.
pub struct Subjects {
    pub user: u32,
    pub owner: u32,
    /// An event that the owner has submitted.
    pub event: u32,
    /// Days and zips of events.
    date: String,
    zip: String,
    scale: Scale,
    rng: StdRng,
}

impl Subjects {
    pub fn draw(tables: &mut Tables, rows: u32, seed: u64) -> Result<Self> {
        let scale = Scale::of(rows);
        let mut rng = StdRng::seed_from_u64(seed);
        let event = rng.random_range(1..=scale.events);
        let owner = tables.one(&format!("SELECT submitter_id FROM event WHERE id = {event}"))?;
        let user = owner % scale.persons + 1;
        let other = rng.random_range(1..=scale.events);
        let date = tables
            .one(&format!("SELECT DATE_FORMAT(starts_at, '%Y-%m-%d') FROM event WHERE id = {other}"))?;
        let zip = tables.one(&format!(
            "SELECT zip FROM address JOIN event ON address.id = address_id WHERE event.id = {other}"
        ))?;
        Ok(Self { user, owner, event, date, zip, scale, rng })
    }

    /// The requests of a role.
    pub fn asks(&mut self) -> Vec<Ask> {
        let mut asks = self.pages();
        asks.extend(self.refusals());
        asks
    }

    fn pages(&mut self) -> Vec<Ask> {
        let (date, zip, event) = (self.date.clone(), self.zip.clone(), self.event);
        let mut paths = vec![
            "/".to_owned(),
            "/?order=created".to_owned(),
            format!("/?date={date}"),
            format!("/?zip={zip}"),
            format!("/?zip={zip}&order=created&date={date}&page=2"),
            "/?page=2".to_owned(),
            "/?page=7&order=created".to_owned(),
            "/?page=0&zip=abc&date=2026-02-30".to_owned(),
            "/?page=-3&order=%3Cb%3E".to_owned(),
            "/events/new".to_owned(),
            "/persons/new".to_owned(),
            format!("/events/{event}"),
            "/events/0".to_owned(),
            "/events/999999999".to_owned(),
            "/events/abc".to_owned(),
            format!("/persons/person{}", self.owner),
            format!("/persons/person{}", self.user),
            "/persons/nobody".to_owned(),
            "/tags/nothing".to_owned(),
            "/tags/%3Cscript%3E".to_owned(),
            "/nowhere".to_owned(),
        ];
        for _ in 0..8 {
            paths.push(format!("/events/{}", self.rng.random_range(1..=self.scale.events)));
            paths.push(format!("/persons/person{}", self.rng.random_range(1..=self.scale.persons)));
            paths.push(format!("/tags/topic{}", self.rng.random_range(1..=self.scale.tags)));
            // Low numbers have most events, and so further pages.
            paths.push(format!("/tags/topic{}?page=2", self.rng.random_range(1..=20)));
        }
        let mut asks: Vec<Ask> = paths.into_iter().map(Ask::get).collect();
        for tag in ["topic1", "  TOPIC2 ", "none of them", ""] {
            asks.push(Ask::post("/tags", vec![("tag", tag.to_owned())]));
        }
        asks
    }

    /// Changes that must be refused: no token, another's token, another's event, wrong fields.
    fn refusals(&self) -> Vec<Ask> {
        let event = self.event;
        let mut asks = Vec::new();
        for path in ["attend", "unattend", "comments", "rating", "delete"] {
            asks.push(Ask::post(format!("/events/{event}/{path}"), vec![]));
            let fields = vec![
                text("token", "0123456789abcdef0123456789abcdef"),
                text("comment", "x"),
                text("rating", "3"),
            ];
            asks.push(Ask::post(format!("/events/{event}/{path}"), fields));
        }
        // Not that of the owner.
        let other = event % self.scale.events + 1;
        asks.push(Ask::post(format!("/events/{other}/delete"), vec![text("token", "{token}")]));
        asks.push(Ask::post("/events/999999999/delete", vec![text("token", "{token}")]));
        asks.push(Ask::post("/events/999999999/attend", vec![text("token", "{token}")]));
        asks.push(Ask::post(
            "/events/999999999/comments",
            vec![text("token", "{token}"), text("comment", "x")],
        ));
        asks.push(Ask::post(
            format!("/events/{event}/comments"),
            vec![text("token", "{token}"), text("comment", "  ")],
        ));
        asks.push(Ask::post(
            format!("/events/{event}/comments"),
            vec![text("token", "{token}"), text("comment", &"x".repeat(2_501))],
        ));
        asks.push(Ask::post(
            format!("/events/{event}/rating"),
            vec![text("token", "{token}"), text("rating", "6")],
        ));
        asks.push(Ask::post(
            "/friends",
            vec![
                text("token", "0123456789abcdef0123456789abcdef"),
                text("action", "request"),
                text("person", "person9"),
            ],
        ));
        asks.push(Ask::post(
            "/friends",
            vec![text("token", "{token}"), text("action", "marry"), text("person", "person9")],
        ));
        asks.push(Ask::post("/logout", vec![text("token", "0123456789abcdef0123456789abcdef")]));
        asks.push(Ask::post("/login", vec![text("username", "person1"), text("password", "2")]));
        asks.push(Ask::post("/login", vec![text("username", "' OR 1 = 1 -- "), text("password", "1")]));
        asks.extend(bad_forms());
        asks
    }
}

/// Each request has the same reply as from the reference.
pub fn prove(reference: &mut Site, candidate: &mut Site, request: &Request) -> Result<Proof> {
    let mut subjects =
        Subjects::draw(&mut reference.tables, request.data.users_of_rows()?, request.data.seed)?;
    let mut differences = Vec::new();
    let mut compared = 0;
    for role in [Role::Anonymous, Role::User, Role::Owner] {
        let mut expected = client_of(reference, role, &subjects)?;
        let mut found = client_of(candidate, role, &subjects)?;
        for ask in subjects.asks() {
            compared += 1;
            if let Some(difference) = difference(&expected.send(&ask)?, &found.send(&ask)?) {
                differences.push(format!("{role:?} {}: {difference}", ask.name()));
            }
        }
    }
    Ok(Proof {
        name: "pages",
        compared: format!("{compared} replies on 17 routes for 3 kinds of visitors"),
        differences,
    })
}

fn client_of(site: &Site, role: Role, subjects: &Subjects) -> Result<Client> {
    let mut client = site.new_client();
    match role {
        Role::Anonymous => {}
        Role::User => client.log_in(subjects.user)?,
        Role::Owner => client.log_in(subjects.owner)?,
    }
    Ok(client)
}

/// Forms with mistakes. What was sent comes back, escaped.
fn bad_forms() -> Vec<Ask> {
    let markup = "<b title=\"x\">&amp; 'quoted'</b>";
    let mut asks = vec![
        event_form(vec![], b""),
        event_form(
            vec![
                ("title", markup),
                ("date", "2026-13-01"),
                ("hour", "24"),
                ("minute", "-1"),
                ("tags", "a b c d e f g h"),
            ],
            b"GIF89a",
        ),
        event_form(
            vec![("title", "x"), ("summary", "y"), ("tags", "not_allowed"), ("zip", "123456")],
            b"\xFF\xD8\xFFbroken",
        ),
    ];
    let long = "ä".repeat(101);
    asks.push(event_form(
        vec![("title", long.as_str()), ("telephone", "12 34-56+7"), ("date", "2028-02-29")],
        b"",
    ));
    for name in ["short", "person1", "CAPITALS", "with blank"] {
        let fields = vec![
            ("username", name.to_owned()),
            ("password", "a".to_owned()),
            ("password2", "b".to_owned()),
            ("email", "nobody".to_owned()),
            ("summary", markup.to_owned()),
        ];
        asks.push(Ask { path: "/persons".to_owned(), body: Body::Multipart(fields, vec![]) });
    }
    asks
}

fn text(name: &'static str, value: &str) -> (&'static str, String) {
    (name, value.to_owned())
}

fn event_form(fields: Vec<(&'static str, &str)>, image: &[u8]) -> Ask {
    let mut fields: Vec<_> = fields.into_iter().map(|(name, value)| text(name, value)).collect();
    fields.push(text("token", "{token}"));
    Ask {
        path: "/events".to_owned(),
        body: Body::Multipart(fields, vec![("image", "a.jpg", image.to_vec())]),
    }
}
