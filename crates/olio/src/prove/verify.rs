//! Compares pages of a running site with those of the reference on the same tables: `showdown` does so after each trial. Nothing is
//! changed, so that the site may be looked at afterwards. The home page without parameters is left out: it may be 300 s old.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::client::{Ask, Client};
use super::normal_form::difference;
use super::tables::Tables;
use crate::site::{self, Settings};

/// Pages that one visitor asks for, before another one comes.
const PAGES_OF_VISITOR: usize = 10;

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
    /// Pages to compare
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pages: u32,
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
        let settings = Settings::to_read(self.database, password.trim_end(), self.cache);
        let reference = SocketAddr::from((Ipv4Addr::LOCALHOST, site::serve_beside(settings)?));
        let seed = self.seed.unwrap_or_else(|| rand::rng().random_range(0..1_000_000));
        let mut choice = Choice::of(&mut tables, seed)?;
        let mut compared = 0;
        while compared < self.pages {
            let person = choice.visitor();
            let (mut expected, mut found) = (Client::of(reference), Client::of(self.site));
            if let Some(person) = person {
                expected.log_in(person)?;
                found.log_in(person).context("the site")?;
            }
            for _ in 0..PAGES_OF_VISITOR.min((self.pages - compared) as usize) {
                let ask = choice.page();
                if let Some(difference) = difference(&expected.send(&ask)?, &found.send(&ask)?) {
                    let visitor = person.map_or("nobody".to_owned(), |person| format!("person{person}"));
                    bail!("{} for {visitor}: {difference} (repeat it with --seed {seed})", ask.name());
                }
                compared += 1;
            }
        }
        println!("{compared} pages are those of the reference (seed {seed})");
        Ok(())
    }
}

/// Draws pages and visitors by a seed from what the tables have now.
struct Choice {
    rng: StdRng,
    persons: u32,
    /// Persons that were loaded: the password of each is its number.
    loaded: u32,
    events: u32,
    tags: u32,
    /// Names of persons, dates and zips are asked of the tables before the first page.
    names: Vec<String>,
    dates: Vec<String>,
    zips: Vec<String>,
}

impl Choice {
    fn of(tables: &mut Tables, seed: u64) -> Result<Self> {
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
        Ok(Self { rng, persons, loaded, events, tags, names, dates, zips })
    }

    /// Every third visitor is not logged in.
    fn visitor(&mut self) -> Option<u32> {
        let is_anonymous = self.rng.random_range(0..3) == 0;
        if is_anonymous { None } else { Some(self.rng.random_range(1..=self.loaded)) }
    }

    fn one_of(rng: &mut StdRng, texts: &[String]) -> String {
        texts[rng.random_range(0..texts.len())].clone()
    }

    fn page(&mut self) -> Ask {
        let rng = &mut self.rng;
        let path = match rng.random_range(0..10) {
            0..=3 => format!("/events/{}", rng.random_range(1..=self.events)),
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
