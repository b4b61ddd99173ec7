//! Atomic writes, and readers that report what is wrong with a file.
//!
//! A file is written under a hidden name at the top of its run directory, synced to disk, and renamed into place; then
//! its folder is synced. A crash leaves the old file or the new one. Every write changes the modification time of the
//! run directory, which the index relies on.

use crate::error::{ArchiveError, Result};
use serde::{Serialize, de::DeserializeOwned};
use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::{Component, Path, PathBuf},
};
use tempfile::NamedTempFile;

/// What the name of a file begins with while it is written.
pub(crate) const STAGED: &str = ".writing-";

/// A file that appears under its name on [`AtomicFile::commit`]. Dropped before, it leaves nothing.
#[derive(Debug)]
pub struct AtomicFile {
    path: PathBuf,
    staged: NamedTempFile,
}

impl AtomicFile {
    /// Starts a file at `path`, staged in the run directory `run` that contains it.
    pub(crate) fn create(run: &Path, path: PathBuf) -> Result<Self> {
        let staged =
            tempfile::Builder::new().prefix(STAGED).tempfile_in(run).map_err(ArchiveError::io(&path))?;
        Ok(Self { path, staged })
    }

    /// The final path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Syncs the file to disk and gives it its name, replacing any file that had it.
    pub fn commit(self) -> Result<()> {
        let Self { path, staged } = self;
        let failed = ArchiveError::io(&path);
        let folder = path.parent().unwrap_or(Path::new("."));
        readable_by_all(staged.as_file())
            .and_then(|()| staged.as_file().sync_all())
            .and_then(|()| staged.persist(&path).map_err(|error| error.error))
            .and_then(|_| sync_folder(folder))
            .map_err(failed)
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.staged.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.staged.flush()
    }
}

/// Temporary files are readable by their owner alone; a record is readable by all who can read the folder.
fn readable_by_all(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

/// Syncs the names in a folder to disk.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Writes a whole file atomically.
pub(crate) fn write(run: &Path, path: PathBuf, bytes: &[u8]) -> Result<()> {
    let mut file = AtomicFile::create(run, path)?;
    file.write_all(bytes).map_err(ArchiveError::io(file.path()))?;
    file.commit()
}

/// Writes a value as JSON atomically, after checking that it reads back.
///
/// A NaN becomes `null` in JSON, which makes the file unreadable for good. It is an error here instead.
pub(crate) fn write_json<T: Serialize + DeserializeOwned>(
    run: &Path,
    path: PathBuf,
    value: &T,
) -> Result<()> {
    let bytes = serde_json::to_vec_pretty(value)
        .and_then(|mut bytes| {
            serde_json::from_slice::<T>(&bytes)?;
            bytes.push(b'\n');
            Ok(bytes)
        })
        .map_err(|error| ArchiveError::Unwritable { path: path.clone(), problem: error.to_string() })?;
    write(run, path, &bytes)
}

/// Largest file that is read whole. A trial of a day at ten points per second has a tenth of it. A run may come from
/// an untrusted source.
const MAX_BYTES: u64 = 256 << 20;

/// Reads a whole file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    let failed = ArchiveError::io(path);
    let mut bytes = Vec::new();
    match File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes)) {
        Err(error) => Err(failed(error)),
        Ok(_) if bytes.len() as u64 > MAX_BYTES => Err(ArchiveError::Unreadable {
            path: path.to_path_buf(),
            problem: format!("larger than {} MiB: this is not a file of a run", MAX_BYTES >> 20),
        }),
        Ok(_) => Ok(bytes),
    }
}

/// Reads a JSON file. The error says where it is malformed and whether it is cut short.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    serde_json::from_slice(&read(path)?).map_err(|error| ArchiveError::malformed(path, &error))
}

/// The path of a file named relative to a run directory. A name that leads out of it is refused.
pub(crate) fn inside(run: &Path, name: &str) -> Result<PathBuf> {
    let path = Path::new(name);
    let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    if plain && !name.is_empty() {
        Ok(run.join(path))
    } else {
        Err(ArchiveError::OutsideRun { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_committed_leaves_nothing() {
        let run = tempfile::tempdir().unwrap();
        let mut file = AtomicFile::create(run.path(), run.path().join("verdict.json")).unwrap();
        file.write_all(b"{").unwrap();
        drop(file);
        assert_eq!(fs::read_dir(run.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_committed_file_replaces_the_previous_one() {
        let run = tempfile::tempdir().unwrap();
        let path = run.path().join("verdict.json");
        write_json(run.path(), path.clone(), &vec![1, 2]).unwrap();
        write_json(run.path(), path.clone(), &vec![3]).unwrap();
        assert_eq!(read_json::<Vec<u32>>(&path).unwrap(), [3]);
        assert_eq!(fs::read_dir(run.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_nan_is_refused_before_it_is_written() {
        let run = tempfile::tempdir().unwrap();
        let error = write_json(run.path(), run.path().join("trial.json"), &vec![1.0, f64::NAN]).unwrap_err();
        assert!(matches!(error, ArchiveError::Unwritable { .. }), "{error}");
        assert_eq!(fs::read_dir(run.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_cut_short_is_reported_with_its_line() {
        let run = tempfile::tempdir().unwrap();
        let path = run.path().join("trial.json");
        fs::write(&path, "[1,\n 2").unwrap();
        let message = read_json::<Vec<u32>>(&path).unwrap_err().to_string();
        assert!(message.contains("trial.json: cut short") && message.contains("line 2"), "{message}");
        fs::write(&path, "[1, x]").unwrap();
        let message = read_json::<Vec<u32>>(&path).unwrap_err().to_string();
        assert!(message.contains("malformed") && message.contains("column 5"), "{message}");
    }

    #[test]
    fn a_full_disk_has_its_own_error() {
        // Every write to /dev/full fails as on a full disk.
        let mut full = File::options().write(true).open("/dev/full").unwrap();
        let error = full.write_all(b"x").map_err(ArchiveError::io("trial.json")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "trial.json: the disk is full: free some space; earlier files are kept"
        );
    }

    #[test]
    fn a_read_only_file_system_has_its_own_error() {
        let read_only = io::Error::from(io::ErrorKind::ReadOnlyFilesystem);
        assert_eq!(
            ArchiveError::io("trial.json")(read_only).to_string(),
            "trial.json: the file system is read-only: make it writable; earlier files are kept"
        );
    }

    #[test]
    fn names_that_lead_out_of_the_run_directory_are_refused() {
        let run = Path::new("/runs/x");
        assert_eq!(inside(run, "trials/001-a/load.hlog").unwrap(), run.join("trials/001-a/load.hlog"));
        for name in ["", "/etc/passwd", "../y/plan.toml", "trials/../../y", "."] {
            assert!(matches!(inside(run, name), Err(ArchiveError::OutsideRun { .. })), "{name}");
        }
    }
}
