//! Changes by a seed, as a visitor makes them. Those of different visitors touch different rows or only add up, so that tables are the
//! same in whatever order the visitors come.

use std::fmt::Write as _;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::client::{Ask, Body};
use crate::data::media;
use crate::data::rows::Scale;

/// Visitors who make changes: the first persons.
pub const VISITORS: u32 = 16;

/// The password of every new person.
pub const PASSWORD: &str = "a secret";

/// One change of a visitor.
#[derive(Clone)]
pub enum Change {
    Ask(Ask),
    /// Delete the event that the visitor has added last; nothing if there is none.
    DeleteOwn,
}

/// Draws changes.
pub struct Changes {
    rng: StdRng,
    scale: Scale,
    /// Numbers for names that nobody has.
    next_name: u32,
    prefix: String,
}

impl Changes {
    /// `prefix` tells names of persons apart from those of other generators.
    pub fn new(scale: Scale, seed: u64, prefix: &str) -> Self {
        Self { rng: StdRng::seed_from_u64(seed), scale, next_name: 0, prefix: prefix.to_owned() }
    }

    pub fn next(&mut self) -> Change {
        let event = self.rng.random_range(1..=self.scale.events);
        let person = format!("person{}", self.rng.random_range(VISITORS + 1..=self.scale.persons));
        Change::Ask(match self.rng.random_range(0..100) {
            0..20 => confirmed(format!("/events/{event}/attend"), vec![]),
            20..30 => confirmed(format!("/events/{event}/unattend"), vec![]),
            30..45 => confirmed(format!("/events/{event}/comments"), vec![("comment", self.text(10, 300))]),
            45..52 => {
                let stars = self.rng.random_range(1..=5).to_string();
                confirmed(format!("/events/{event}/rating"), vec![("rating", stars)])
            }
            52..62 => friends("request", person),
            62..66 => friends("approve", person),
            66..70 => friends("reject", person),
            70..74 => friends("revoke", person),
            74..86 => self.event(),
            86..92 => return Change::DeleteOwn,
            _ => self.person(),
        })
    }

    /// A form for a new event without a mistake.
    pub fn event(&mut self) -> Ask {
        let tags = self.rng.random_range(1..=7);
        let mut names = String::new();
        for _ in 0..tags {
            // One in ten is new.
            let number = self.rng.random_range(1..=self.scale.tags * 11 / 10);
            let _ = write!(names, "topic{number} ");
        }
        let mut fields = vec![
            ("token", "{token}".to_owned()),
            ("title", self.text(15, 20)),
            ("summary", self.text(50, 90)),
            ("description", self.text(50, 495)),
            (
                "date",
                format!("2026-{:02}-{:02}", self.rng.random_range(1..=12), self.rng.random_range(1..=28)),
            ),
            ("hour", self.rng.random_range(7..=21).to_string()),
            ("minute", "15".to_owned()),
            ("timezone", "UTC".to_owned()),
            ("telephone", "012-345-6789".to_owned()),
            ("tags", names),
        ];
        fields.extend(self.address());
        let mut files = vec![("image", "event.jpg", self.photograph())];
        if self.rng.random_bool(0.5) {
            files.push(("literature", "event.pdf", media::pdf(6_481)));
        }
        Ask { path: "/events".to_owned(), body: Body::Multipart(fields, files) }
    }

    /// A form for a new person; one in eight has a name that somebody has.
    pub fn person(&mut self) -> Ask {
        self.next_name += 1;
        let name = if self.rng.random_range(0..8) == 0 {
            "person1".to_owned()
        } else {
            format!("{}{:05}", self.prefix, self.next_name)
        };
        let mut fields = vec![
            ("email", format!("{name}@example.com")),
            ("username", name),
            ("password", PASSWORD.to_owned()),
            ("password2", PASSWORD.to_owned()),
            ("first_name", "Jo".to_owned()),
            ("last_name", "O'Neil & <Sons>".to_owned()),
            ("telephone", "012-345-6789".to_owned()),
            ("timezone", "UTC".to_owned()),
            ("summary", self.text(250, 2_500)),
        ];
        fields.extend(self.address());
        Ask {
            path: "/persons".to_owned(),
            body: Body::Multipart(fields, vec![("image", "person.jpg", self.photograph())]),
        }
    }

    fn address(&mut self) -> Vec<(&'static str, String)> {
        vec![
            ("street1", self.text(10, 20)),
            ("street2", String::new()),
            ("city", self.text(5, 10)),
            ("state", "CA".to_owned()),
            ("zip", self.rng.random_range(10_000..100_000).to_string()),
            ("country", "USA".to_owned()),
        ]
    }

    /// One of four sizes and four tints: no thumbnail can be prepared for a size.
    fn photograph(&mut self) -> Vec<u8> {
        const SIZES: [(u32, u32); 4] = [(320, 240), (90, 60), (200, 400), (121, 121)];
        let (width, height) = SIZES[self.rng.random_range(0..SIZES.len())];
        media::jpeg(width, height, 64 * self.rng.random_range(0..4))
    }

    /// Words and markup that must be escaped; begins and ends with a letter.
    fn text(&mut self, least: usize, most: usize) -> String {
        const CHARACTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz <>&\"'";
        let length = self.rng.random_range(least..=most);
        let mut text = String::from("x");
        while text.len() < length - 1 {
            text.push(char::from(CHARACTERS[self.rng.random_range(0..CHARACTERS.len())]));
        }
        text.push('x');
        text
    }
}

fn confirmed(path: String, mut fields: Vec<(&'static str, String)>) -> Ask {
    fields.push(("token", "{token}".to_owned()));
    Ask::post(path, fields)
}

fn friends(action: &str, person: String) -> Ask {
    confirmed("/friends".to_owned(), vec![("action", action.to_owned()), ("person", person)])
}
