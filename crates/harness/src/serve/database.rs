//! Which database a server has: a file in its directory of runs, or PostgreSQL.

use anyhow::Context;
use queue::arguments::DatabaseArgs;

use crate::folder::HarnessFolder;
use crate::store::Database;
use crate::store::address::{PasswordSources, read};
use crate::store::postgres::{ChangedEntries, Postgres};
use crate::store::sqlite::Sqlite;

/// An open database.
pub struct Opened {
    /// The database.
    pub database: Box<dyn Database>,
    /// What other servers of it change; none where there can be no other server.
    pub changes: Option<ChangedEntries>,
}

/// The folder beside the runs.
pub fn folder(kept: &DatabaseArgs) -> anyhow::Result<HarnessFolder> {
    HarnessFolder::create(&kept.runs).with_context(|| format!("cannot use {}", kept.runs.display()))
}

/// Opens the database, for a server that follows what others change.
pub fn open_to_serve(kept: &DatabaseArgs, folder: &HarnessFolder) -> anyhow::Result<Opened> {
    match postgres(kept)? {
        Some(mut database) => {
            let changes = Some(database.follow()?);
            Ok(Opened { database: Box::new(database), changes })
        }
        None => Ok(Opened { database: Box::new(Sqlite::open(&folder.database())?), changes: None }),
    }
}

/// Opens the database, for one change.
pub fn open(kept: &DatabaseArgs) -> anyhow::Result<Box<dyn Database>> {
    Ok(match postgres(kept)? {
        Some(database) => Box::new(database),
        None => Box::new(Sqlite::open(&folder(kept)?.database())?),
    })
}

fn postgres(kept: &DatabaseArgs) -> anyhow::Result<Option<Postgres>> {
    let Some(url) = &kept.database else { return Ok(None) };
    let config = read(url, &PasswordSources::of_environment())?;
    Ok(Some(Postgres::open(config)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_database_the_queue_is_a_file_in_the_directory_of_runs() {
        let home = tempfile::tempdir().unwrap();
        let kept = DatabaseArgs { runs: home.path().join("runs"), database: None };
        let opened = open_to_serve(&kept, &folder(&kept).unwrap()).unwrap();
        assert!(opened.changes.is_none(), "no other server can change it");
        assert!(folder(&kept).unwrap().database().is_file());
    }
}
