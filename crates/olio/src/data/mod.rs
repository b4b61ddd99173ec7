//! The data that all implementations share: rows by a seed, media, statics. They are made once for each size and seed and kept in a
//! cache; each start copies the database's directory, so that all implementations begin with the same pages of the same tables.
//!
//! | file | content |
//! |---|---|
//! | `random_text.rs` | words, names and days from a seeded generator |
//! | `rows.rs` | how many rows there are, and the rows of each table, as files for a bulk load |
//! | `template.rs` | the database's directory: made, loaded, stopped, copied |
//! | `room.rs` | what they take on the disk |
//! | `media.rs` | thumbnails of persons and events, originals, statics |

pub mod media;
mod random_text;
mod room;
pub mod rows;
mod template;

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, anyhow, ensure};
use clap::{Args, ValueEnum};
use include_dir::{Dir, include_dir};

use crate::making::Making;
use crate::sources::{digest_of, files_below};
use media::STATIC;
use rows::Scale;
pub use rows::{hexadecimal, password_hash, username};
pub use template::this_user;

/// The time that the site has, in all data and all runs: pages do not depend on the day on which they are asked for.
pub const NOW: &str = "2026-01-01 00:00:00";

/// A form that changes whenever equal arguments and sources give other data: old caches are not used.
const FORMAT: u32 = 1;

/// The tables, in the workload's folder.
const SCHEMA: &str = "schema.sql";

/// What the number of rows follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum RowScale {
    /// It is the same for any number of users
    #[default]
    Rows,
    /// The users of the load, as in the original
    Users,
}

/// How many rows there are.
#[derive(Args, Clone, Debug)]
pub struct RowsRequest {
    /// Users that the rows are for, 100 persons each, with --scale rows [default of data: 100]
    #[arg(long, value_parser = clap::value_parser!(u32).range(i64::from(FEWEST)..=i64::from(MOST)))]
    rows: Option<u32>,
    /// What the number of rows follows
    #[arg(long, value_enum, default_value_t)]
    scale: RowScale,
    /// Users of the load, for --scale users: below 25, the rows are those of 25
    #[arg(long, required_if_eq("scale", "users"))]
    users: Option<u32>,
}

/// The original has no fewer rows, and this loader no more.
const FEWEST: u32 = 25;
const MOST: u32 = 10_000;

impl RowsRequest {
    /// The users that the rows are for; none where that is not said.
    pub fn given(&self) -> Result<Option<u32>> {
        match (self.scale, self.users) {
            (RowScale::Users, Some(users)) => {
                ensure!(
                    users <= MOST,
                    "--scale users: there are rows for {MOST} users at most, and the load has {users}: pass --scale rows"
                );
                Ok(Some(users.max(FEWEST)))
            }
            _ => Ok(self.rows),
        }
    }
}

/// Which data, and where they are kept.
#[derive(Args, Clone)]
pub struct DataChoice {
    #[command(flatten)]
    pub rows: RowsRequest,
    /// Seed of all values
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Where the data are kept between runs [default: /var/tmp/olio-UID]
    #[arg(long)]
    pub cache: Option<PathBuf>,
    /// The folder of the workload: schema, statics, configuration, PHP [default: what this program was built with]
    #[arg(long)]
    pub workload: Option<PathBuf>,
}

/// Which data, and where to.
#[derive(Args, Clone)]
pub struct DataRequest {
    #[command(flatten)]
    pub choice: DataChoice,
    /// A directory that does not exist: it becomes a copy of the loaded database
    #[arg(long)]
    pub database: Option<PathBuf>,
    /// A symbolic link to make: to the directory with statics and media
    #[arg(long)]
    pub assets: Option<PathBuf>,
    /// A directory that does not exist: it becomes a copy of the workload, with the applications that are no programs
    #[arg(long)]
    pub sources: Option<PathBuf>,
}

/// The workload's folder, as this program was built with it.
static WORKLOAD: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../workloads/olio");

/// The workload's folder on disk.
pub struct WorkloadFolder {
    pub path: PathBuf,
    /// Removed with this value.
    _extracted: Option<tempfile::TempDir>,
}

impl WorkloadFolder {
    /// The folder that was given, or a copy of what this program was built with.
    pub fn open(given: Option<&Path>) -> Result<Self> {
        if let Some(path) = given {
            let path =
                path.canonicalize().with_context(|| format!("there is no folder {}", path.display()))?;
            return Ok(Self { path, _extracted: None });
        }
        let extracted = tempfile::Builder::new().prefix("olio-workload-").tempdir()?;
        WORKLOAD.extract(extracted.path())?;
        Ok(Self { path: extracted.path().to_owned(), _extracted: Some(extracted) })
    }
}

impl DataRequest {
    /// Makes what is missing, then the copy and the link.
    pub fn make(&self) -> Result<()> {
        let begin = Instant::now();
        let workload = WorkloadFolder::open(self.choice.workload.as_deref())?;
        if let Some(sources) = &self.sources {
            return template::copy(&workload.path, sources);
        }
        let kept = self.choice.kept(&workload.path)?;
        if let Some(database) = &self.database {
            copy_tables(&kept.join("database"), database)?;
        }
        if let Some(link) = &self.assets {
            std::os::unix::fs::symlink(kept.join("assets"), link)
                .with_context(|| format!("{} cannot be made: remove what is there", link.display()))?;
        }
        let (rows, took) = (self.choice.users_of_rows()?, begin.elapsed());
        println!("data of {rows} users, seed {}: {:.1} s", self.choice.seed, took.as_secs_f64());
        Ok(())
    }
}

impl DataChoice {
    /// The users that the rows are for.
    pub fn users_of_rows(&self) -> Result<u32> {
        Ok(self.rows.given()?.unwrap_or(100))
    }

    /// The directory with `database` and `assets`, which is made if it is not there. Its name follows from all that the data are made of; it has it
    /// only when it is complete.
    fn kept(&self, workload: &Path) -> Result<PathBuf> {
        let rows = self.users_of_rows()?;
        let mut sources = vec![PathBuf::from(SCHEMA)];
        sources
            .extend(files_below(&workload.join(STATIC), "")?.iter().map(|file| Path::new(STATIC).join(file)));
        let name = format!("v{FORMAT}-{rows}-{}-{}", self.seed, hexadecimal(&digest_of(workload, &sources)?));
        let kept = in_cache(self.cache.as_deref(), &name)?;
        if kept.is_dir() {
            return Ok(kept);
        }
        let cache = kept.parent().expect("it is in the cache");
        let making = Making::begin(cache)?;
        readable_by_servers(making.path())?;
        let scale = Scale::of(rows);
        let needed = room::needed_bytes(scale);
        room::check(cache, needed, OTHER_CACHE)?;
        make_all(making.path(), workload, scale, self.seed)
            .map_err(|error| room::explain(error, cache, needed, OTHER_CACHE))?;
        making.keep_as(&kept)?;
        Ok(kept)
    }
}

/// What to do where the data have no room.
const OTHER_CACHE: &str = "ask for fewer rows, or choose another --cache";
/// The same for a copy, which `showdown` has in a directory of its start.
const OTHER_DIRECTORY: &str = "ask for fewer rows, or let TMPDIR name a directory with more room";

/// Makes tables and media. Thousands of small files, and one large load: neither waits for the other.
fn make_all(making: &Path, workload: &Path, scale: Scale, seed: u64) -> Result<()> {
    let (assets, database) = (making.join("assets"), making.join("database"));
    std::thread::scope(|scope| -> Result<()> {
        let media = scope.spawn(|| media::make(&assets, workload, scale));
        template::make(&database, &workload.join(SCHEMA), scale, seed)?;
        media.join().map_err(|_| anyhow!("the thread that makes the media has panicked"))?
    })
}

/// Copies the loaded tables. How much room that takes is known only if it fails: a file system may share the blocks.
fn copy_tables(from: &Path, to: &Path) -> Result<()> {
    template::copy(from, to).map_err(|error| {
        let beside = to.parent().unwrap_or(to);
        room::explain(error, beside, room::length_of(from).unwrap_or_default(), OTHER_DIRECTORY)
    })
}

/// Where a directory of that name is kept, or may be made: in the cache that was given, or in that of this user.
pub fn in_cache(given: Option<&Path>, name: &str) -> Result<PathBuf> {
    let cache = given.map_or_else(|| cache_of(this_user()), Path::to_owned);
    std::fs::create_dir_all(&cache)
        .with_context(|| format!("{}: choose another --cache", cache.display()))?;
    is_of(&cache, this_user())?;
    // What root has made is good for everybody: servers run as another user.
    let of_root = cache_of(0);
    if given.is_none() && of_root.join(name).is_dir() {
        is_of(&of_root, 0)?;
        return Ok(of_root.join(name));
    }
    Ok(cache.join(name))
}

/// Where a user's data are kept.
fn cache_of(user: u32) -> PathBuf {
    host::scratch::kept_for_servers("olio", user)
}

/// Everybody may make directories beside it: it must be that of the user, who alone writes to it.
fn is_of(cache: &Path, user: u32) -> Result<()> {
    let owner = std::fs::metadata(cache)?;
    let is_own = owner.uid() == user && owner.mode() & 0o022 == 0;
    ensure!(is_own, "{} belongs to others, or they may write to it: choose another --cache", cache.display());
    Ok(())
}

/// nginx and the database may run as another user than the one who makes the data, in which there is no secret.
pub fn readable_by_servers(directory: &Path) -> Result<()> {
    Ok(std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o755))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(rows: Option<u32>, scale: RowScale, users: u32) -> Option<u32> {
        RowsRequest { rows, scale, users: Some(users) }.given().ok().flatten()
    }

    #[test]
    fn rows_are_for_a_number_of_users_or_for_those_of_the_load() {
        assert_eq!(given(None, RowScale::Rows, 50), None);
        assert_eq!(given(Some(100), RowScale::Rows, 50), Some(100));
        assert_eq!(given(Some(100), RowScale::Users, 50), Some(50));
        assert_eq!(given(Some(100), RowScale::Users, 3), Some(25), "as in the original");
        assert_eq!(given(Some(100), RowScale::Users, 20_000), None, "it is refused");
    }
}
