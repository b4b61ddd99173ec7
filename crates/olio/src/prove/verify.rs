//! Compares a site that has been under load with the reference on the same tables: `showdown` does so after each trial. First pages, then
//! changes and the pages that they are on (`after_change.rs`). The home page without parameters may be 300 s old: it is compared after
//! changes only, when its time is over.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::Args;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::after_change::{Change, Sites};
use super::client::{Ask, Client};
use super::normal_form::difference;
use super::subject::{Proof, Request as ProofRequest, Site};
use super::tables::Tables;
use crate::data::rows::Scale;
use crate::data::{NOW, RowsRequest};
use crate::site::{self, Settings};

/// Pages that one visitor asks for, before another one comes.
const PAGES_OF_VISITOR: usize = 10;
/// Pages and changes of `prove`.
const PAGES: u32 = 100;
const CHANGES: u32 = 10;
/// Connections that load a site before `prove` compares its pages, and the pages that each asks for.
pub const LOADING_VISITORS: u32 = 16;
pub const PAGES_OF_LOADING_VISITOR: usize = 20;

/// Which site, and how many pages.
#[derive(Args)]
pub struct Request {
    /// Address of the site's web server, as ADDRESS:PORT
    site: SocketAddr,
    /// Address of its database
    #[arg(long)]
    database: SocketAddr,
    /// Address of its cache, in which its sessions are
    #[arg(long)]
    cache: SocketAddr,
    /// File with the password of its database
    #[arg(long)]
    password_file: PathBuf,
    #[command(flatten)]
    rows: RowsRequest,
    /// Pages to compare
    #[arg(long, default_value_t = PAGES, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pages: u32,
    /// Changes to make, each of which must be in the tables and on the pages at once; 0 changes nothing
    #[arg(long, default_value_t = CHANGES, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    changes: u32,
    /// Seed of the choice of pages and visitors [default: another one each time, so that no answer can be prepared]
    #[arg(long)]
    seed: Option<u64>,
}

impl Request {
    /// Prints that the pages are equal. An error names the first page that differs.
    pub fn run(&self) -> Result<()> {
        let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
        ensure!(
            self.database.ip() == here && self.cache.ip() == here,
            "--database and --cache are on the machine of the site: give 127.0.0.1:PORT"
        );
        let file = self.password_file.display();
        let password =
            std::fs::read_to_string(&self.password_file).with_context(|| format!("{file} cannot be read"))?;
        let mut tables = Tables::connect(self.database.port(), password.trim_end(), self.cache.port())?;
        let rows = match self.rows.given()? {
            Some(users) => {
                check_rows(&mut tables, users)?;
                format!(", and the rows those of {users} users")
            }
            None => String::new(),
        };
        let settings = Settings::to_read(self.database, password.trim_end(), self.cache);
        let seed = self.seed.unwrap_or_else(|| rand::rng().random_range(0..1_000_000));
        let check = Check { site: self.site, pages: self.pages, changes: self.changes, seed };
        if let Some(difference) = check.run(&mut tables, settings)? {
            bail!("{difference} (seed {seed}; to find it again without a load: olio prove NAME)");
        }
        println!(
            "{} pages and {} changes are those of the reference{rows} (seed {seed})",
            self.pages, self.changes
        );
        Ok(())
    }
}

/// The tables have the rows that were loaded for so many users. What the load has added does not count: new persons have other names.
fn check_rows(tables: &mut Tables, users: u32) -> Result<()> {
    let scale = Scale::of(users);
    let loaded = [
        (
            "persons",
            "SELECT COUNT(*) FROM person WHERE username = CONCAT('person', id)".to_owned(),
            scale.persons,
        ),
        ("tags", "SELECT COUNT(*) FROM tag WHERE name = CONCAT('topic', id)".to_owned(), scale.tags),
        ("events", format!("SELECT COUNT(*) FROM event WHERE id <= {}", scale.events), scale.events),
    ];
    for (what, query, expected) in loaded {
        let found: u32 = tables.one(&query)?;
        ensure!(
            found == expected,
            "the tables have {found} loaded {what}, and those of {users} users {expected}"
        );
    }
    Ok(())
}

/// The candidate has been under load, and is compared with the reference on the candidate's own tables.
pub fn prove_after_load(_: &mut Site, candidate: &mut Site, request: &ProofRequest) -> Result<Proof> {
    let here = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let (database, cache) = (here(candidate.stack.database_port), here(candidate.stack.cache_port));
    let settings = Settings::to_read(database, &candidate.stack.password, cache);
    load(candidate)?;
    let check =
        Check { site: candidate.client.address, pages: PAGES, changes: CHANGES, seed: request.data.seed };
    let difference = check.run(&mut candidate.tables, settings)?;
    Ok(Proof {
        name: "after load",
        compared: format!("{PAGES} pages and {CHANGES} changes after load, on the same tables"),
        differences: difference.into_iter().collect(),
    })
}

/// Visitors ask for pages at the same time.
fn load(site: &mut Site) -> Result<()> {
    let mut choices = Vec::new();
    for visitor in 0..LOADING_VISITORS {
        choices.push(Choice::of(&mut site.tables, u64::from(visitor))?);
    }
    let address = site.client.address;
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for mut choice in choices {
            threads.push(scope.spawn(move || -> Result<()> {
                let mut client = Client::of(address);
                for number in 0..PAGES_OF_LOADING_VISITOR {
                    // A quarter of the requests of the load are for the home page.
                    let ask = if number % 4 == 0 { Ask::get("/") } else { choice.page() };
                    client.send(&ask)?;
                }
                Ok(())
            }));
        }
        for thread in threads {
            thread.join().map_err(|_| anyhow!("a visitor's thread has panicked"))??;
        }
        Ok(())
    })
}

/// What is compared of a site.
struct Check {
    site: SocketAddr,
    pages: u32,
    changes: u32,
    seed: u64,
}

impl Check {
    /// The first difference.
    fn run(&self, tables: &mut Tables, settings: Settings) -> Result<Option<String>> {
        let reference = SocketAddr::from((Ipv4Addr::LOCALHOST, site::serve_beside(settings)?));
        let mut choice = Choice::of(tables, self.seed)?;
        let mut compared = 0;
        while compared < self.pages {
            let person = choice.visitor();
            let (mut expected, mut found) = (Client::of(reference), Client::of(self.site));
            (expected.ignores_cookies, found.ignores_cookies) = (true, true);
            if let Some(person) = person {
                expected.log_in(person)?;
                found.log_in(person).context("the site")?;
            }
            for _ in 0..PAGES_OF_VISITOR.min((self.pages - compared) as usize) {
                let ask = choice.page();
                if let Some(difference) = difference(&expected.send(&ask)?, &found.send(&ask)?) {
                    let visitor = person.map_or("nobody".to_owned(), |person| format!("person{person}"));
                    return Ok(Some(format!("{} for {visitor}: {difference}", ask.name())));
                }
                compared += 1;
            }
        }
        let sites = Sites { reference, site: self.site };
        for number in 0..self.changes {
            // Every other change is on an event that many have looked at.
            let is_popular = number % 2 == 0;
            let event = if is_popular { choice.popular_event() } else { choice.event() };
            let text = format!("Change {number} of {}", self.seed);
            let change = Change { event, is_popular, person: choice.member(), number, text };
            let difference = sites.difference_after(tables, &change)?;
            if difference.is_some() {
                return Ok(difference);
            }
        }
        Ok(None)
    }
}

/// Draws pages and visitors by a seed from what the tables have now.
pub struct Choice {
    rng: StdRng,
    persons: u32,
    /// Persons that were loaded: the password of each is its number.
    loaded: u32,
    events: u32,
    tags: u32,
    /// Those of the home page, which most visitors look at: a cache of pages would have these.
    popular: Vec<u32>,
    /// Names of persons, dates and zips are asked of the tables before the first page.
    names: Vec<String>,
    dates: Vec<String>,
    zips: Vec<String>,
}

impl Choice {
    pub fn of(tables: &mut Tables, seed: u64) -> Result<Self> {
        /// Rows of which names, dates and zips are taken.
        const SAMPLE: u32 = 20;
        let (persons, events, tags) = (last(tables, "person")?, last(tables, "event")?, last(tables, "tag")?);
        let loaded = "SELECT MAX(id) FROM person WHERE username = CONCAT('person', id)";
        let loaded: u32 = tables.one(loaded).context("no loaded person")?;
        let mut rng = StdRng::seed_from_u64(seed);
        let (mut names, mut dates, mut zips) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..SAMPLE {
            let (person, event) = (rng.random_range(1..=persons), rng.random_range(1..=events));
            let person = format!("SELECT username FROM person WHERE id >= {person} ORDER BY id LIMIT 1");
            names.push(tables.one(&person)?);
            dates.push(of_event(tables, event, "DATE_FORMAT(starts_at, '%Y-%m-%d')")?);
            zips.push(of_event(tables, event, "zip")?);
        }
        let popular = tables.all(&format!(
            "SELECT id FROM event WHERE starts_at >= '{NOW}' ORDER BY starts_at, id LIMIT 10"
        ))?;
        ensure!(!popular.is_empty(), "no event is to come");
        Ok(Self { rng, persons, loaded, events, tags, popular, names, dates, zips })
    }

    pub fn member(&mut self) -> u32 {
        self.rng.random_range(1..=self.loaded)
    }

    /// Any event that was loaded and not deleted is likely: others have no page, on both sites.
    fn event(&mut self) -> u32 {
        self.rng.random_range(1..=self.events)
    }

    fn popular_event(&mut self) -> u32 {
        self.popular[self.rng.random_range(0..self.popular.len())]
    }

    /// Every third visitor is not logged in.
    fn visitor(&mut self) -> Option<u32> {
        let is_anonymous = self.rng.random_range(0..3) == 0;
        if is_anonymous { None } else { Some(self.member()) }
    }

    fn one_of(rng: &mut StdRng, texts: &[String]) -> String {
        texts[rng.random_range(0..texts.len())].clone()
    }

    pub fn page(&mut self) -> Ask {
        let kind = self.rng.random_range(0..10);
        let rng = &mut self.rng;
        let path = match kind {
            0..=1 => format!("/events/{}", self.event()),
            2..=3 => format!("/events/{}", self.popular_event()),
            // The rows with the highest numbers came under load.
            4 => format!("/events/{}", self.events.saturating_sub(rng.random_range(0..20))),
            5 => format!("/persons/{}", Self::one_of(rng, &self.names)),
            6 => format!("/persons/person{}", rng.random_range(1..=self.persons)),
            7 => format!("/tags/topic{}?page={}", rng.random_range(1..=self.tags), rng.random_range(1..=2)),
            8 => format!("/?date={}", Self::one_of(rng, &self.dates)),
            _ => format!(
                "/?zip={}&order=created&page={}",
                Self::one_of(rng, &self.zips),
                rng.random_range(1..=2)
            ),
        };
        Ask::get(path)
    }
}

/// The highest number in a table.
fn last(tables: &mut Tables, table: &str) -> Result<u32> {
    let last: u32 = tables.one(&format!("SELECT COALESCE(MAX(id), 0) FROM {table}"))?;
    ensure!(last > 0, "the table {table} is empty: is this a database of olio?");
    Ok(last)
}

/// A column of the first event from this number on, or of its address.
fn of_event(tables: &mut Tables, event: u32, column: &str) -> Result<String> {
    tables.one(&format!(
        "SELECT {column} FROM event JOIN address ON address.id = address_id WHERE event.id >= {event} \
         ORDER BY event.id LIMIT 1"
    ))
}
