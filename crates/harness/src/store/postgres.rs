//! The store of a team: a PostgreSQL database, which several servers may share. Each transaction takes one lock of the database first, so
//! transactions come one after the other, also those of another server: the rules of the queue need that, and claims are few.
//!
//! A lost connection fails what was asked, and the next transaction opens another one. A server that stops in the middle of a transaction
//! keeps the lock until its connection ends, or for [`IDLE`].

use std::collections::BTreeSet;
use std::thread::sleep;
use std::time::{Duration, Instant};

use postgres::error::SqlState;
use postgres::{Client, Config};
use queue::EntryId;

use super::address::why;
use super::postgres_rows::{PostgresRows, Statements};
use super::postgres_tls::DatabaseTls;
use super::{Database, StoreError, Work};

/// Rises with each change of the tables. A change adds a step to [`STEPS`].
const VERSION: i64 = 2;

/// How long a transaction may do nothing, how long a statement may take, and how long one waits for the transactions of other servers.
const SETTINGS: &str = "
SET idle_in_transaction_session_timeout = '10s';
SET statement_timeout = '60s';
SET lock_timeout = '30s';
SET search_path = showdown;
";

/// After a connection that failed, the next one is not tried sooner: who asks meanwhile need not wait for its end.
const BEFORE_RETRY: Duration = Duration::from_millis(500);

/// How long a new server waits for its own notification.
const MOST_PROBE: Duration = Duration::from_secs(20);

/// Makes a transaction the only one of all servers of this database. The number is the word "showdown".
const LOCK: &str = "SELECT pg_advisory_xact_lock(8317708086774624110)";

/// The channel of entries that have changed.
const CHANNEL: &str = "showdown_harness";

/// Statements that lead from each version to the next one.
const STEPS: [&str; VERSION as usize] = [
    "
CREATE TABLE number (name TEXT PRIMARY KEY, value BIGINT NOT NULL);

CREATE TABLE entry (
    id       BIGINT  PRIMARY KEY,
    state    TEXT    NOT NULL,
    priority INTEGER NOT NULL,
    position BIGINT  NOT NULL,
    question TEXT    NOT NULL,
    key      TEXT    UNIQUE,
    run      TEXT,
    row      TEXT    NOT NULL   -- the whole entry as JSON; the columns are for the order and for searches
) WITH (fillfactor = 70);
CREATE INDEX entry_order ON entry (state, (-priority), position, id);
CREATE INDEX entry_question ON entry (question, id);
CREATE INDEX entry_run ON entry (run) WHERE run IS NOT NULL;

CREATE TABLE plan (entry BIGINT PRIMARY KEY REFERENCES entry (id), plan TEXT NOT NULL);

CREATE TABLE host (name TEXT PRIMARY KEY, row TEXT NOT NULL) WITH (fillfactor = 70);
CREATE TABLE controller (id TEXT PRIMARY KEY, row TEXT NOT NULL) WITH (fillfactor = 70);
CREATE TABLE controller_owner (controller TEXT PRIMARY KEY, owner TEXT NOT NULL);

CREATE TABLE event_chunk (
    entry BIGINT NOT NULL REFERENCES entry (id),
    token BIGINT NOT NULL,
    first BIGINT NOT NULL,
    last  BIGINT NOT NULL,
    lines TEXT   NOT NULL,
    PRIMARY KEY (entry, token, first)
);

CREATE TABLE note (
    id      BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run     TEXT   NOT NULL,
    author  TEXT   NOT NULL,
    unix_ms BIGINT NOT NULL,
    text    TEXT   NOT NULL
);
CREATE INDEX note_run ON note (run, id);

CREATE TABLE deletion (
    run     TEXT   PRIMARY KEY,
    author  TEXT   NOT NULL,
    unix_ms BIGINT NOT NULL,
    reason  TEXT   NOT NULL
);

CREATE TABLE secret (
    digest        BYTEA  PRIMARY KEY,
    kind          TEXT   NOT NULL,
    name          TEXT   NOT NULL,
    until_unix_ms BIGINT NOT NULL
);
CREATE INDEX secret_name ON secret (kind, name);

CREATE TABLE account (name TEXT PRIMARY KEY, role TEXT NOT NULL, hash TEXT NOT NULL, unix_ms BIGINT NOT NULL);

CREATE TABLE audit (
    id      BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    unix_ms BIGINT NOT NULL,
    author  TEXT   NOT NULL,
    what    TEXT   NOT NULL
);
CREATE FUNCTION audit_stays() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'the audit is append-only'; END $$;
CREATE TRIGGER audit_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON audit EXECUTE FUNCTION audit_stays();
",
    "
CREATE TABLE saved_view (
    id      BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner   TEXT   NOT NULL,   -- an account; empty for the installation
    name    TEXT   NOT NULL,
    search  TEXT   NOT NULL,   -- as JSON
    unix_ms BIGINT NOT NULL,
    UNIQUE (owner, name)
);
",
];

/// A connection.
struct Connection {
    client: Client,
    statements: Statements,
}

/// The database, and the connection to it, if there is one.
pub struct Postgres {
    config: Config,
    tls: DatabaseTls,
    connection: Option<Connection>,
    failed: Option<(Instant, String)>,
    /// Which server of the database this is, in its notifications.
    origin: u32,
}

impl std::fmt::Debug for Postgres {
    /// The configuration has the password.
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("Postgres").finish_non_exhaustive()
    }
}

impl From<postgres::Error> for StoreError {
    fn from(error: postgres::Error) -> Self {
        match error.code() {
            Some(code) if *code == SqlState::DISK_FULL => Self::Full,
            Some(code) if is_away(code) => Self::Away(why(&error)),
            Some(_) => Self::Failed(why(&error)),
            None => Self::Away(why(&error)),
        }
    }
}

/// Whether the server ends, starts, cannot write, or waits for another one: it will be back.
fn is_away(code: &SqlState) -> bool {
    [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::TOO_MANY_CONNECTIONS,
        SqlState::READ_ONLY_SQL_TRANSACTION,
        SqlState::LOCK_NOT_AVAILABLE,
        SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
    ]
    .contains(code)
}

impl Postgres {
    /// Opens the database, and creates what is missing.
    pub fn open(config: Config) -> Result<Self, StoreError> {
        let mut database =
            Self { tls: DatabaseTls::new(), config, connection: None, failed: None, origin: rand::random() };
        let client = &mut database.connect()?.client;
        let mut change = client.transaction()?;
        // Two servers may start at once.
        change.batch_execute(LOCK)?;
        change.batch_execute("CREATE SCHEMA IF NOT EXISTS showdown; CREATE TABLE IF NOT EXISTS version (version BIGINT NOT NULL)")?;
        let found = change.query_opt("SELECT version FROM version", &[])?.map_or(0, |row| row.get(0));
        if found > VERSION {
            return Err(StoreError::Later { found: found as u32, known: VERSION as u32 });
        }
        for step in &STEPS[found as usize..] {
            change.batch_execute(step)?;
        }
        change.execute("DELETE FROM version", &[])?;
        change.execute("INSERT INTO version VALUES ($1)", &[&VERSION])?;
        change.commit()?;
        Ok(database)
    }

    /// Follows what other servers of this database change. A pooler that gives each transaction another connection is refused: no
    /// notification would come through it.
    pub fn follow(&mut self) -> Result<ChangedEntries, StoreError> {
        let mut changes = ChangedEntries {
            config: self.config.clone(),
            tls: self.tls.clone(),
            client: None,
            own: format!("{}:", self.origin),
        };
        changes.listen()?;
        let own = format!("-{}", rand::random::<u32>());
        self.connect()?.client.execute("SELECT pg_notify($1, $2)", &[&CHANNEL, &own])?;
        let until = Instant::now() + MOST_PROBE;
        while Instant::now() < until {
            if changes.next_text(Duration::from_secs(1))?.as_deref() == Some(own.as_str()) {
                return Ok(changes);
            }
        }
        Err(StoreError::Failed(
            "its notifications do not arrive: connect to PostgreSQL itself, not to a pooler that shares connections between transactions"
                .to_owned(),
        ))
    }

    /// The connection, or a new one.
    fn connect(&mut self) -> Result<&mut Connection, StoreError> {
        if self.connection.as_ref().is_some_and(|connection| connection.client.is_closed()) {
            self.connection = None;
        }
        if let Some((at, why)) = &self.failed
            && self.connection.is_none()
            && at.elapsed() < BEFORE_RETRY
        {
            return Err(StoreError::Away(why.clone()));
        }
        if self.connection.is_none() {
            match connected(&self.config, &self.tls) {
                Ok(client) => {
                    self.failed = None;
                    self.connection = Some(Connection { client, statements: Statements::default() });
                }
                Err(error) => {
                    self.failed = Some((Instant::now(), why(&error)));
                    return Err(error.into());
                }
            }
        }
        Ok(self.connection.as_mut().expect("it was just made"))
    }

    /// Begins a transaction. One that has not begun can begin again on another connection: the old one may have been lost unseen.
    fn begin(&mut self) -> Result<&mut Connection, StoreError> {
        let is_used = self.connection.is_some();
        let begin = format!("BEGIN READ WRITE; {LOCK}");
        let done = self.connect()?.client.batch_execute(&begin);
        if let Err(error) = done {
            self.connection = None;
            if !is_used || error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) {
                return Err(error.into());
            }
            self.connect()?.client.batch_execute(&begin)?;
        }
        self.connect()
    }
}

impl Postgres {
    /// All work that is kept is done, or, after an error, none.
    fn attempt_together(&mut self, works: &mut [Work<'_>]) -> Result<(), StoreError> {
        let Connection { client, statements } = self.begin()?;
        let mut changed = BTreeSet::new();
        // What ends the piece of work before, and begins the next one, is one question to the database.
        let mut between = "SAVEPOINT work";
        let mut before_commit = "";
        for work in works {
            if let Err(error) = client.batch_execute(between) {
                // The end of its connection undoes it.
                self.connection = None;
                return Err(error.into());
            }
            let mut rows = PostgresRows::new(client, statements);
            if work(&mut rows) {
                changed.extend(rows.changed().iter().copied());
                (between, before_commit) = ("RELEASE work; SAVEPOINT work", "");
            } else {
                (between, before_commit) = ("ROLLBACK TO work", "ROLLBACK TO work;");
            }
        }
        self.commit(before_commit, &changed)
    }

    /// Ends a transaction in which these entries have changed, after these statements.
    fn commit(&mut self, before: &str, changed: &BTreeSet<EntryId>) -> Result<(), StoreError> {
        let mut end = before.to_owned();
        for entry in changed {
            end = format!("{end}SELECT pg_notify('{CHANNEL}', '{}:{entry}');", self.origin);
        }
        self.end(&format!("{end}COMMIT"))
    }

    fn end(&mut self, statements: &str) -> Result<(), StoreError> {
        // Not a new connection: it would say that the end of no transaction went well.
        let Some(connection) = &mut self.connection else {
            return Err(StoreError::Away("its connection has ended".to_owned()));
        };
        let ended = connection.client.batch_execute(statements);
        if ended.is_err() {
            // Whatever state the connection is in, the next transaction begins on another one.
            self.connection = None;
        }
        Ok(ended?)
    }
}

impl Database for Postgres {
    fn attempt(&mut self, work: Work<'_>) -> Result<(), StoreError> {
        let Connection { client, statements } = self.begin()?;
        let mut rows = PostgresRows::new(client, statements);
        let is_kept = work(&mut rows);
        let changed = rows.changed().clone();
        let ended = if is_kept { self.commit("", &changed) } else { self.end("ROLLBACK") };
        if is_kept { ended } else { Ok(()) }
    }

    /// One transaction with a savepoint for each piece of work: it waits for the disk once. Work that fails by itself is undone alone.
    fn attempt_all(&mut self, works: &mut [Work<'_>], ended: &mut dyn FnMut(usize, Result<(), StoreError>)) {
        if let [work] = works {
            return ended(0, self.attempt(*work));
        }
        let done = self.attempt_together(works);
        for index in 0..works.len() {
            ended(index, done.clone());
        }
    }

    /// A transaction of PostgreSQL is on the disk when it ends.
    fn make_durable(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Entries that other servers of this database change, on a connection of its own.
pub struct ChangedEntries {
    config: Config,
    tls: DatabaseTls,
    client: Option<Client>,
    /// How the notifications of this server begin: it knows already what they say.
    own: String,
}

impl std::fmt::Debug for ChangedEntries {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("ChangedEntries").finish_non_exhaustive()
    }
}

impl ChangedEntries {
    fn listen(&mut self) -> Result<&mut Client, StoreError> {
        let mut client = connected(&self.config, &self.tls)?;
        client.batch_execute(&format!("LISTEN {CHANNEL}"))?;
        Ok(self.client.insert(client))
    }

    fn next_text(&mut self, longest: Duration) -> Result<Option<String>, StoreError> {
        use postgres::fallible_iterator::FallibleIterator;
        let client = match &mut self.client {
            Some(client) if !client.is_closed() => client,
            _ => self.listen()?,
        };
        let next = client.notifications().timeout_iter(longest).next()?;
        Ok(next.map(|notification| notification.payload().to_owned()))
    }

    /// Tells of each change. After a lost connection it tells of entry 0 once: anything may have changed meanwhile.
    pub fn tell(mut self, tell: impl Fn(EntryId)) {
        let mut was_lost = false;
        loop {
            let Ok(text) = self.next_text(Duration::from_mins(1)) else {
                // The look at the leases says that the database is away.
                was_lost = true;
                self.client = None;
                sleep(BEFORE_RETRY);
                continue;
            };
            if was_lost {
                was_lost = false;
                tell(0);
            }
            if let Some(text) = text
                && !text.starts_with(&self.own)
                && let Some((_, entry)) = text.split_once(':')
                && let Ok(entry) = entry.parse()
            {
                tell(entry);
            }
        }
    }
}

fn connected(config: &Config, tls: &DatabaseTls) -> Result<Client, postgres::Error> {
    let mut client = config.connect(tls.clone())?;
    client.batch_execute(SETTINGS)?;
    Ok(client)
}
