//! Which database a server has: a file in its directory of runs, or PostgreSQL.

use std::path::PathBuf;

use anyhow::Context;

use crate::folder::HarnessFolder;
use crate::store::Database;
use crate::store::address::{PasswordSources, read};
use crate::store::postgres::{ChangedEntries, Postgres};
use crate::store::sqlite::Sqlite;

/// Where the queue is kept.
#[derive(clap::Args, Clone, Debug)]
pub struct DatabaseArgs {
    /// Use this directory of runs
    #[arg(long, value_name = "DIR", env = "SHOWDOWN_RUNS", default_value = "runs")]
    pub runs: PathBuf,
    /// Keep the queue in this PostgreSQL database, which several servers may share; its password is in `~/.pgpass`, the file `PGPASSFILE`
    /// or `PGPASSWORD` [default: a file in the directory of runs]
    #[arg(long, value_name = "URL", env = "SHOWDOWN_DATABASE", hide_env_values = true)]
    pub database: Option<String>,
}

/// An open database.
pub struct Opened {
    /// The database.
    pub database: Box<dyn Database>,
    /// What other servers of it change; none where there can be no other server.
    pub changes: Option<ChangedEntries>,
}

impl DatabaseArgs {
    /// The folder beside the runs.
    pub fn folder(&self) -> anyhow::Result<HarnessFolder> {
        HarnessFolder::create(&self.runs).with_context(|| format!("cannot use {}", self.runs.display()))
    }

    /// Opens the database, for a server that follows what others change.
    pub fn open_to_serve(&self, folder: &HarnessFolder) -> anyhow::Result<Opened> {
        match self.postgres()? {
            Some(mut database) => {
                let changes = Some(database.follow()?);
                Ok(Opened { database: Box::new(database), changes })
            }
            None => Ok(Opened { database: Box::new(Sqlite::open(&folder.database())?), changes: None }),
        }
    }

    /// Opens the database, for one change.
    pub fn open(&self) -> anyhow::Result<Box<dyn Database>> {
        Ok(match self.postgres()? {
            Some(database) => Box::new(database),
            None => Box::new(Sqlite::open(&self.folder()?.database())?),
        })
    }

    fn postgres(&self) -> anyhow::Result<Option<Postgres>> {
        let Some(url) = &self.database else { return Ok(None) };
        let config = read(url, &PasswordSources::of_environment())?;
        Ok(Some(Postgres::open(config)?))
    }
}
