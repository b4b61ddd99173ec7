//! What a site has stored, and what it has cost: checksums of tables, counters of statements, counters of the cache.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpStream};

use anyhow::Result;
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, OptsBuilder, Value};
use tokio::runtime::Runtime;

/// Each table with all that is the same in every implementation. Salts are random, so a person's password is compared as whether it is the
/// hash of the new persons' secret; loaded persons have others.
const TABLES: [(&str, &str); 8] = [
    ("address", "id, street1, street2, city, state, zip, country, latitude, longitude"),
    (
        "person",
        "id, username, first_name, last_name, email, telephone, timezone, summary, address_id, image, thumb, LENGTH(salt), \
         password = SHA2(CONCAT(salt, 'a secret'), 256)",
    ),
    ("friendship", "from_id, to_id, accepted"),
    (
        "event",
        "id, title, summary, description, submitter_id, address_id, telephone, timezone, starts_at, created_at, image, thumb, \
         literature",
    ),
    ("attendance", "person_id, event_id"),
    ("tag", "id, name, refcount"),
    ("event_tag", "tag_id, event_id"),
    ("comment", "id, person_id, event_id, body, rating, created_at"),
];

/// What does not depend on the order of changes: rows named by their texts, not by their numbers.
const SUMS: [(&str, &str); 8] = [
    ("address", "SELECT street1, zip, latitude FROM address"),
    (
        "person",
        "SELECT username, summary, telephone, password = SHA2(CONCAT(salt, 'a secret'), 256) FROM person",
    ),
    (
        "friendship",
        "SELECT a.username AS a, b.username AS b, accepted FROM friendship JOIN person a ON a.id = from_id \
         JOIN person b ON b.id = to_id",
    ),
    ("event", "SELECT title, summary, starts_at, literature = '' FROM event"),
    (
        "attendance",
        "SELECT username, title FROM attendance a JOIN person p ON p.id = person_id JOIN event e ON e.id = event_id",
    ),
    ("tag", "SELECT name, refcount FROM tag"),
    (
        "event_tag",
        "SELECT name, title FROM event_tag JOIN tag t ON t.id = tag_id JOIN event e ON e.id = event_id",
    ),
    (
        "comment",
        "SELECT username, title, body, rating FROM comment JOIN person p ON p.id = person_id JOIN event e ON e.id = event_id",
    ),
];

/// Counters of statements. Those of reading are apart from those of writing and of transactions. A transaction is counted where it ends:
/// JDBC begins one by a setting of the connection.
const STATEMENTS: [(&str, &[&str]); 3] = [
    ("reads", &["Com_select"]),
    (
        "writes",
        &[
            "Com_insert",
            "Com_insert_select",
            "Com_update",
            "Com_update_multi",
            "Com_delete",
            "Com_delete_multi",
            "Com_replace",
        ],
    ),
    ("transactions", &["Com_commit"]),
];

/// The commands of the cache that memcached counts.
const CACHE: [&str; 5] = ["cmd_get", "cmd_set", "cmd_touch", "delete_hits", "delete_misses"];

/// A connection beside the application's.
pub struct Tables {
    runtime: Runtime,
    connection: Conn,
    cache_port: u16,
}

impl Tables {
    pub fn connect(port: u16, password: &str, cache_port: u16) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let options = OptsBuilder::default()
            .ip_or_hostname("127.0.0.1")
            .tcp_port(port)
            .user(Some("olio"))
            .pass(Some(password))
            .db_name(Some("olio"))
            .prefer_socket(false)
            .max_allowed_packet(Some(16 << 20))
            .wait_timeout(Some(28_800));
        let connection = runtime.block_on(Conn::new(options))?;
        Ok(Self { runtime, connection, cache_port })
    }

    /// Rows and checksum of each table.
    pub fn checksums(&mut self) -> Result<BTreeMap<&'static str, String>> {
        let mut sums = BTreeMap::new();
        for (table, columns) in TABLES {
            sums.insert(table, self.checksum(&format!("SELECT {columns} FROM {table}"))?);
        }
        let shared: u64 = self.one("SELECT COUNT(*) - COUNT(DISTINCT salt) FROM person")?;
        sums.insert("persons whose salt somebody has", shared.to_string());
        Ok(sums)
    }

    /// The same without numbers of rows, for changes that were made at the same time.
    pub fn sums(&mut self) -> Result<BTreeMap<&'static str, String>> {
        let mut sums = BTreeMap::new();
        for (table, rows) in SUMS {
            sums.insert(table, self.checksum(rows)?);
        }
        let wrong: u64 = self.one(
            "SELECT COUNT(*) FROM tag WHERE refcount <> (SELECT COUNT(*) FROM event_tag WHERE tag_id = tag.id)",
        )?;
        sums.insert("tags whose refcount is wrong", wrong.to_string());
        Ok(sums)
    }

    /// The number of rows, and a sum that no order changes.
    fn checksum(&mut self, rows: &str) -> Result<String> {
        let rows: Vec<mysql_async::Row> = self.runtime.block_on(self.connection.query(rows))?;
        let mut sum = 0_u128;
        for row in &rows {
            let mut text = Vec::new();
            for value in row.clone().unwrap() {
                match value {
                    Value::Bytes(bytes) => text.extend(bytes),
                    other => text.extend(other.as_sql(false).bytes()),
                }
                text.push(0);
            }
            let digest = <sha2::Sha256 as sha2::Digest>::digest(&text);
            let half: [u8; 16] = digest[..16].try_into().expect("a digest has 32 bytes");
            sum = sum.wrapping_add(u128::from_le_bytes(half));
        }
        Ok(format!("{} rows, {sum:032x}", rows.len()))
    }

    pub fn one<T: mysql_async::prelude::FromValue + Send + 'static>(&mut self, query: &str) -> Result<T> {
        let value: Option<T> = self.runtime.block_on(self.connection.query_first(query))?;
        value.ok_or_else(|| anyhow::anyhow!("no row for {query}"))
    }

    /// The first column of all rows.
    pub fn all<T: mysql_async::prelude::FromValue + Send + 'static>(
        &mut self,
        query: &str,
    ) -> Result<Vec<T>> {
        Ok(self.runtime.block_on(self.connection.query(query))?)
    }

    pub fn execute(&mut self, statement: &str) -> Result<()> {
        Ok(self.runtime.block_on(self.connection.query_drop(statement))?)
    }

    /// What was counted since the start: statements of all connections, commands of the cache.
    pub fn counters(&mut self) -> Result<BTreeMap<&'static str, u64>> {
        let rows: Vec<(String, String)> =
            self.runtime.block_on(self.connection.query("SHOW GLOBAL STATUS LIKE 'Com\\_%'"))?;
        let status: BTreeMap<String, u64> =
            rows.into_iter().map(|(name, count)| (name, count.parse().unwrap_or(0))).collect();
        let mut counters = BTreeMap::new();
        for (name, statements) in STATEMENTS {
            counters
                .insert(name, statements.iter().map(|name| status.get(*name).copied().unwrap_or(0)).sum());
        }
        let cache = self.cache_statistics()?;
        for name in CACHE {
            let count = cache.get(name).copied().unwrap_or(0);
            let name = if name.starts_with("delete") { "cmd_delete" } else { name };
            *counters.entry(name).or_default() += count;
        }
        Ok(counters)
    }

    fn cache_statistics(&self) -> Result<BTreeMap<String, u64>> {
        let mut statistics = BTreeMap::new();
        for line in self.ask_cache("stats")? {
            if let ["STAT", name, value] = line.split(' ').collect::<Vec<_>>()[..] {
                statistics.insert(name.to_owned(), value.parse().unwrap_or(0));
            }
        }
        Ok(statistics)
    }

    /// The lines of the cache's answer, to the one that ends it.
    pub fn ask_cache(&self, command: &str) -> Result<Vec<String>> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.cache_port))?;
        write!(stream, "{command}\r\n")?;
        let mut lines = Vec::new();
        for line in BufReader::new(stream).lines() {
            let line = line?;
            if ["END", "DELETED", "NOT_FOUND", "OK", "ERROR"].contains(&line.as_str()) {
                break;
            }
            lines.push(line);
        }
        Ok(lines)
    }
}
