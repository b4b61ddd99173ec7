//! What all requests share: the settings that all implementations read from the environment (`contract.md`), and connections.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use axum::extract::State;
use clap::ValueEnum;
use mysql_async::{Conn, Opts, OptsBuilder, Pool, PoolConstraints, PoolOpts};

use super::memcached::Memcached;
use super::replies::Problem;
use super::sessions::{SessionStore, Sessions};
use crate::data::NOW;

/// Everything that a start decides.
pub struct Settings {
    database: (String, u16),
    password: String,
    /// Address and port of memcached.
    pub cache: String,
    /// Where sessions are.
    pub sessions: SessionStore,
    /// URL of the geocoder.
    pub geocoder: String,
    /// The directory in which `media` has what people uploaded.
    pub uploads: PathBuf,
    /// What the site takes for the present, as `YYYY-MM-DD HH:MM:SS`.
    pub now: String,
}

impl Settings {
    /// An error names the variable that is missing.
    pub fn from_environment() -> Result<Self> {
        let database = variable("OLIO_DATABASE")?;
        let (host, port) = database.split_once(':').context("OLIO_DATABASE is no HOST:PORT")?;
        Ok(Self {
            database: (host.to_owned(), port.parse().context("OLIO_DATABASE has no port")?),
            password: variable("OLIO_DATABASE_PASSWORD")?,
            cache: variable("OLIO_CACHE")?,
            sessions: SessionStore::from_str(&variable("OLIO_SESSIONS")?, false)
                .map_err(|_| anyhow!("OLIO_SESSIONS is neither memcached nor native"))?,
            geocoder: variable("OLIO_GEOCODER")?,
            uploads: PathBuf::from(variable("OLIO_UPLOADS")?),
            now: variable("OLIO_NOW")?,
        })
    }

    /// Those of a site that is read and not changed: it stores no file, and asks for no place.
    pub fn to_read(database: SocketAddr, password: &str, cache: SocketAddr) -> Self {
        Self {
            database: (database.ip().to_string(), database.port()),
            password: password.to_owned(),
            cache: cache.to_string(),
            sessions: SessionStore::Memcached,
            geocoder: String::new(),
            uploads: PathBuf::new(),
            now: NOW.to_owned(),
        }
    }

    /// One connection a worker, as all implementations have.
    pub fn database(&self, workers: usize) -> Opts {
        let constraints =
            PoolConstraints::new(1, workers.max(1)).expect("one is at most the number of workers");
        OptsBuilder::default()
            .ip_or_hostname(&self.database.0)
            .tcp_port(self.database.1)
            .user(Some("olio"))
            .pass(Some(&self.password))
            .db_name(Some("olio"))
            .pool_opts(PoolOpts::default().with_constraints(constraints).with_reset_connection(false))
            .prefer_socket(false)
            // Known, so that no connection begins with a statement that asks for them.
            .max_allowed_packet(Some(16 << 20))
            .wait_timeout(Some(28_800))
            .into()
    }
}

fn variable(name: &str) -> Result<String> {
    std::env::var(name).with_context(|| format!("{name} is not set: contract.md has its meaning"))
}

/// What all requests share.
pub struct Site {
    pub settings: Settings,
    pub database: Pool,
    pub cache: Memcached,
    pub sessions: Sessions,
}

/// What a route gets of all requests.
pub type Shared = State<Arc<Site>>;

impl Site {
    pub fn new(settings: Settings, workers: usize) -> Self {
        Self {
            database: Pool::new(settings.database(workers)),
            cache: Memcached::new(settings.cache.clone()),
            sessions: Sessions::new(settings.sessions),
            settings,
        }
    }

    /// A connection to the database, when one is free.
    pub async fn connection(&self) -> Result<Conn, Problem> {
        Ok(self.database.get_conn().await?)
    }
}
