//! A directory of the cache while it is made. It gets its name only when it is complete, and what a killed program has left is
//! removed by the next one.

use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use tempfile::TempDir;

const PREFIX: &str = "making-";
/// A directory that is younger may be one whose maker has not locked it yet.
const YOUNG: Duration = Duration::from_mins(1);

/// A directory that is being made. It is locked for as long as its maker lives, and removed where the maker ends without a result.
#[derive(Debug)]
pub struct Making {
    directory: TempDir,
    _lock: File,
}

impl Making {
    /// Begins a directory in this cache.
    pub fn begin(cache: &Path) -> Result<Self> {
        remove_left(cache).with_context(|| format!("{} cannot be tidied up", cache.display()))?;
        let directory = tempfile::Builder::new().prefix(PREFIX).tempdir_in(cache)?;
        let lock = File::open(directory.path())?;
        lock.lock()?;
        Ok(Self { directory, _lock: lock })
    }

    /// Where it is made.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Gives it its name. Where somebody else was faster, theirs stays: it is the same.
    pub fn keep_as(self, kept: &Path) -> Result<()> {
        match fs::rename(self.path(), kept) {
            Ok(()) => drop(self.directory.keep()),
            Err(_) if kept.is_dir() => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

/// Removes the directories whose makers have ended.
fn remove_left(cache: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(cache)? {
        let entry = entry?;
        let is_made = entry.file_name().to_string_lossy().starts_with(PREFIX);
        if is_made && is_left(&entry.path()) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

/// Whether nobody makes this directory any more. One that has just got its name is none.
fn is_left(directory: &Path) -> bool {
    let is_old = age_of(directory).is_ok_and(|age| age > YOUNG);
    is_old && File::open(directory).is_ok_and(|directory| directory.try_lock().is_ok())
}

fn age_of(directory: &Path) -> std::io::Result<Duration> {
    let modified = fs::metadata(directory)?.modified()?;
    modified.elapsed().map_err(std::io::Error::other)
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    /// Makes a directory look as if it had last changed an hour ago.
    fn age(directory: &Path) {
        let hour_ago = SystemTime::now() - Duration::from_hours(1);
        File::open(directory).and_then(|opened| opened.set_modified(hour_ago)).expect("its time is set");
    }

    #[test]
    fn what_a_killed_program_has_left_is_removed_by_the_next_one_and_what_is_being_made_stays() {
        let cache = tempfile::tempdir().expect("a directory");
        let (left, young) = (cache.path().join("making-left"), cache.path().join("making-young"));
        fs::create_dir_all(left.join("database")).expect("a directory");
        fs::create_dir(&young).expect("a directory");
        age(&left);
        let under_way = Making::begin(cache.path()).expect("a directory");
        age(under_way.path());
        let next = Making::begin(cache.path()).expect("another one");
        assert!(!left.exists() && young.is_dir() && under_way.path().is_dir());
        let kept = cache.path().join("v1-25-7");
        fs::write(next.path().join("assets"), "pictures").expect("a file");
        next.keep_as(&kept).expect("it gets its name");
        assert!(kept.join("assets").is_file());
        let abandoned = under_way.path().to_owned();
        drop(under_way);
        assert!(!abandoned.exists(), "a maker that fails leaves nothing");
    }

    #[test]
    fn the_one_who_was_faster_is_kept() {
        let cache = tempfile::tempdir().expect("a directory");
        let kept = cache.path().join("v1-25-7");
        let (slower, faster) = (Making::begin(cache.path()), Making::begin(cache.path()));
        let (slower, faster) = (slower.expect("a directory"), faster.expect("a directory"));
        fs::write(faster.path().join("of"), "the faster").expect("a file");
        fs::write(slower.path().join("of"), "the slower").expect("a file");
        faster.keep_as(&kept).expect("it gets its name");
        slower.keep_as(&kept).expect("it is there");
        assert_eq!(fs::read_to_string(kept.join("of")).expect("a file"), "the faster");
    }
}
