//! How many rows there are, and the rows of each table, written as files for `LOAD DATA`. Each table has a generator of its own, so that a change of one leaves the
//! others as they are.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::Result;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use sha2::{Digest, Sha256};

use super::random_text::{day, name, sentence, telephone};

/// Tables in the order in which they are loaded; each is a file of that name.
pub const TABLES: [&str; 8] =
    ["address", "person", "friendship", "tag", "event", "event_tag", "attendance", "comment"];

/// Numbers of rows that others depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    pub persons: u32,
    pub tags: u32,
    pub events: u32,
}

impl Scale {
    /// The rows for so many simultaneous users.
    pub fn of(users: u32) -> Self {
        let persons = users * 100;
        let decay = (-f64::from(persons) / 10_000.0).exp();
        let tags = (5_000.0 * (1.0 - decay) / (1.0 + decay)).round() as u32;
        Self { persons, tags, events: 3 * tags }
    }
}

/// Thousands of files would be slow in one directory: `012/000` for object 12, so that neighbours are apart.
pub fn folder(id: u64) -> String {
    format!("{:03}/{:03}", id % 1_000, id / 1_000_000 % 1_000)
}

/// Writes one file a table.
pub fn write(directory: &Path, scale: Scale, seed: u64) -> Result<()> {
    for (number, table) in TABLES.into_iter().enumerate() {
        if table == "event_tag" {
            continue;
        }
        let mut rows = Rows {
            file: BufWriter::with_capacity(1 << 18, File::create(directory.join(table))?),
            rng: Pcg64::seed_from_u64(seed.wrapping_mul(1_000).wrapping_add(number as u64)),
        };
        match table {
            "address" => rows.addresses(scale)?,
            "person" => rows.persons(scale)?,
            "friendship" => rows.friendships(scale)?,
            "event" => rows.events(scale)?,
            "attendance" => rows.attendances(scale)?,
            "comment" => rows.comments(scale)?,
            // The refcounts follow from the tags of the events, so that both are written together.
            "tag" => rows.tags(scale, seed, directory)?,
            _ => {}
        }
        rows.file.flush()?;
    }
    Ok(())
}

/// The name of a loaded person. Its password is the number.
pub fn username(person: u32) -> String {
    format!("person{person}")
}

/// SHA-256 of salt and password, in hexadecimal: what every implementation computes at login.
pub fn password_hash(salt: &str, password: &str) -> String {
    hexadecimal(&Sha256::digest([salt, password].concat()))
}

/// Two digits a byte.
pub fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// One table that is being written.
struct Rows {
    file: BufWriter<File>,
    rng: Pcg64,
}

impl Rows {
    /// One for each person, then one for each event.
    fn addresses(&mut self, scale: Scale) -> Result<()> {
        for id in 1..=scale.persons + scale.events {
            let rng = &mut self.rng;
            let street1 = format!("{} {} Street", rng.random_range(1..=9_999), name(rng));
            let street2 = if rng.random_bool(0.5) {
                format!("Apt {}", rng.random_range(1..=999))
            } else {
                String::new()
            };
            let (city, state, zip) = (name(rng), name(rng), rng.random_range(10_000..100_000));
            let country = if rng.random_bool(0.5) { "USA".to_owned() } else { name(rng) };
            let (latitude, longitude) = (rng.random_range(-66.56..66.56), rng.random_range(-180.0..180.0));
            writeln!(
                self.file,
                "{id}\t{street1}\t{street2}\t{city}\t{state}\t{zip}\t{country}\t{latitude:.10}\t{longitude:.10}"
            )?;
        }
        Ok(())
    }

    fn persons(&mut self, scale: Scale) -> Result<()> {
        for id in 1..=scale.persons {
            let rng = &mut self.rng;
            let salt = hexadecimal(&rng.random::<[u8; 8]>());
            let hash = password_hash(&salt, &id.to_string());
            let (first, last, username) = (name(rng), name(rng), username(id));
            let (telephone, summary, place) =
                (telephone(rng), sentence(rng, 250, 2_500), folder(u64::from(id)));
            writeln!(
                self.file,
                "{id}\t{username}\t{salt}\t{hash}\t{first}\t{last}\t{username}@example.com\t{telephone}\tUTC\t{summary}\t{id}\t\
                 persons/{place}/p{id}.jpg\tpersonThumbs/{place}/p{id}t.jpg"
            )?;
        }
        Ok(())
    }

    /// 2 to 28 for each person; every second is still a request.
    fn friendships(&mut self, scale: Scale) -> Result<()> {
        for id in 1..=scale.persons {
            let friends = self.distinct(2..=28, scale.persons, id);
            for (number, friend) in friends.into_iter().enumerate() {
                writeln!(self.file, "{id}\t{friend}\t{}", number % 2)?;
            }
        }
        Ok(())
    }

    fn tags(&mut self, scale: Scale, seed: u64, directory: &Path) -> Result<()> {
        let mut pairs = BufWriter::new(File::create(directory.join("event_tag"))?);
        let mut refcounts = vec![0_u32; scale.tags as usize];
        let rng = &mut Pcg64::seed_from_u64(seed ^ 0x7461_6773);
        let mean = 0.1 * f64::from(scale.tags);
        for event in 1..=scale.events {
            let wanted = rng.random_range(1..=7);
            let mut tags = BTreeSet::new();
            while tags.len() < wanted {
                // Exponential, drawn again beyond the end: few tags have most events.
                let drawn = -mean * (1.0 - rng.random::<f64>()).ln();
                if drawn < f64::from(scale.tags) {
                    tags.insert(drawn as u32 + 1);
                }
            }
            for tag in tags {
                refcounts[tag as usize - 1] += 1;
                writeln!(pairs, "{tag}\t{event}")?;
            }
        }
        pairs.flush()?;
        for (index, refcount) in refcounts.into_iter().enumerate() {
            writeln!(self.file, "{0}\ttopic{0}\t{refcount}", index + 1)?;
        }
        Ok(())
    }

    fn events(&mut self, scale: Scale) -> Result<()> {
        for id in 1..=scale.events {
            let rng = &mut self.rng;
            let (title, summary, description) =
                (sentence(rng, 15, 20), sentence(rng, 50, 90), sentence(rng, 50, 495));
            let (submitter, address) = (rng.random_range(1..=scale.persons), scale.persons + id);
            let (telephone, place) = (telephone(rng), folder(u64::from(id)));
            let (hour, quarter) = (rng.random_range(7..=21), rng.random_range(0..4) * 15);
            let (starts, created) = (day(rng.random_range(0..=540)), day(-rng.random_range(1..=540)));
            let created_hour = rng.random_range(0..24);
            writeln!(
                self.file,
                "{id}\t{title}\t{summary}\t{description}\t{submitter}\t{address}\t{telephone}\tUTC\t{starts} {hour:02}:{quarter:02}:00\t\
                 {created} {created_hour:02}:00:00\tevents/{place}/e{id}.jpg\teventThumbs/{place}/e{id}t.jpg\t\
                 eventLits/{place}/e{id}l.pdf"
            )?;
        }
        Ok(())
    }

    fn attendances(&mut self, scale: Scale) -> Result<()> {
        for event in 1..=scale.events {
            for person in self.distinct(10..=100, scale.persons, 0) {
                writeln!(self.file, "{person}\t{event}")?;
            }
        }
        Ok(())
    }

    fn comments(&mut self, scale: Scale) -> Result<()> {
        let mut id = 0;
        for event in 1..=scale.events {
            for _ in 0..self.rng.random_range(0..=20) {
                id += 1;
                let rng = &mut self.rng;
                let (person, body, rating) =
                    (rng.random_range(1..=scale.persons), sentence(rng, 10, 1_000), rng.random_range(2..=5));
                let written = day(-rng.random_range(1..=540));
                writeln!(self.file, "{id}\t{person}\t{event}\t{body}\t{rating}\t{written} 12:00:00")?;
            }
        }
        Ok(())
    }

    /// Different persons without `except`, as many as drawn from the range.
    fn distinct(
        &mut self,
        number: std::ops::RangeInclusive<usize>,
        persons: u32,
        except: u32,
    ) -> BTreeSet<u32> {
        let wanted = self.rng.random_range(number);
        let mut chosen = BTreeSet::new();
        while chosen.len() < wanted {
            let person = self.rng.random_range(1..=persons);
            if person != except {
                chosen.insert(person);
            }
        }
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_grow_as_in_the_original() {
        assert_eq!(Scale::of(25), Scale { persons: 2_500, tags: 622, events: 1_866 });
        assert_eq!(Scale::of(100), Scale { persons: 10_000, tags: 2_311, events: 6_933 });
        assert_eq!(Scale::of(1_000), Scale { persons: 100_000, tags: 5_000, events: 15_000 });
    }

    #[test]
    fn neighbours_are_in_different_folders() {
        assert_eq!(folder(12), "012/000");
        assert_eq!(folder(7_000_013), "013/007");
    }

    fn files(seed: u64) -> Vec<String> {
        let directory = tempfile::tempdir().expect("a directory");
        let scale = Scale { persons: 200, tags: 20, events: 30 };
        write(directory.path(), scale, seed).expect("rows are written");
        TABLES
            .map(|table| std::fs::read_to_string(directory.path().join(table)).expect("a table's file"))
            .to_vec()
    }

    #[test]
    fn rows_follow_from_the_seed() {
        assert_eq!(files(1), files(1));
        assert_ne!(files(1), files(2));
    }

    #[test]
    fn refcounts_are_the_numbers_of_events() {
        let files = files(3);
        let (tags, pairs) = (&files[3], &files[5]);
        let sum: usize =
            tags.lines().map(|tag| tag.rsplit('\t').next().map_or(0, |n| n.parse().unwrap_or(0))).sum();
        assert_eq!(sum, pairs.lines().count());
    }
}
