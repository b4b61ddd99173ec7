//! Scratch directories: removed at the end of their process, and at the next start if the process was killed.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;
use rustix::process::{Uid, geteuid};
use tempfile::TempDir;

const PREFIX: &str = "showdown-";

/// A file in each scratch directory, which its process has locked (flock(2)). The kernel releases the lock when the
/// process dies.
const MARKER: &str = ".showdown-scratch";

/// The name of the marker before it is locked.
const NEW_MARKER: &str = ".new-marker";

/// A directory without a marker that is older than this belongs to a process that was killed before it made one.
const UNMARKED: Duration = Duration::from_mins(1);

/// A scratch directory of this process.
#[derive(Debug)]
pub struct ScratchDirectory {
    directory: TempDir,
    /// Dropped after the directory, so that nobody else removes it at the same time.
    _marker: File,
}

impl ScratchDirectory {
    /// Makes a directory that all users may enter: a server that drops root's rights works in it. First removes
    /// those that killed processes of this user left.
    pub fn create() -> io::Result<Self> {
        Self::create_in(&std::env::temp_dir())
    }

    fn create_in(parent: &Path) -> io::Result<Self> {
        sweep(parent);
        let directory = tempfile::Builder::new()
            .prefix(PREFIX)
            .permissions(fs::Permissions::from_mode(0o755))
            .tempdir_in(parent)?;
        // The marker gets its name after it is locked: without the name, or with the lock, nobody sweeps it.
        let unnamed = directory.path().join(NEW_MARKER);
        let marker = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unnamed)?;
        marker.lock()?;
        fs::rename(unnamed, directory.path().join(MARKER))?;
        Ok(Self { directory, _marker: marker })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Removes the scratch directories of killed processes of this user. What cannot be removed stays for the next time.
fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(PREFIX) {
            let _ = sweep_one(&entry.path());
        }
    }
}

fn sweep_one(directory: &Path) -> io::Result<()> {
    match lock_of_killed(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => sweep_unmarked(directory),
        Err(error) => Err(error),
        Ok(None) => Ok(()),
        Ok(Some(_marker)) => remove_marked(directory),
    }
}

/// The marker of a directory of this user whose process was killed, locked; none if it is another directory. An error of the kind "not
/// found" if it has no marker.
fn lock_of_killed(directory: &Path) -> io::Result<Option<File>> {
    if !is_own_directory(directory)? {
        return Ok(None);
    }
    let no_follow = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    let marker =
        options.read(true).custom_flags(no_follow.bits().cast_signed()).open(directory.join(MARKER))?;
    let metadata = marker.metadata()?;
    let is_free = metadata.is_file() && metadata.uid() == geteuid().as_raw() && marker.try_lock().is_ok();
    Ok(is_free.then_some(marker))
}

/// The directories that killed processes of this user have left, until the next run removes them.
pub fn left_by_killed() -> Vec<PathBuf> {
    left_in(&std::env::temp_dir())
}

fn left_in(parent: &Path) -> Vec<PathBuf> {
    let mut left = Vec::new();
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_named = entry.file_name().to_string_lossy().starts_with(PREFIX);
        if is_named && matches!(lock_of_killed(&entry.path()), Ok(Some(_))) {
            left.push(entry.path());
        }
    }
    left.sort();
    left
}

/// Removes one of these.
pub fn remove_left(directory: &Path) -> io::Result<()> {
    sweep_one(directory)
}

/// Where a program keeps large files of a user that can be made anew: servers that run as another user can read them, and they survive a
/// restart of the machine.
pub fn kept_for_servers(program: &str, user: u32) -> PathBuf {
    PathBuf::from(format!("/var/tmp/{program}-{user}"))
}

fn remove_marked(directory: &Path) -> io::Result<()> {
    // The marker goes last: what fails here is tried again at the next start.
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        match entry.file_type()? {
            kind if kind.is_dir() => fs::remove_dir_all(entry.path())?,
            _ if entry.file_name() == MARKER => {}
            _ => fs::remove_file(entry.path())?,
        }
    }
    fs::remove_dir_all(directory)
}

/// Removes a directory whose process was killed while making it. It is empty, or has a marker without a lock.
fn sweep_unmarked(directory: &Path) -> io::Result<()> {
    let age = fs::symlink_metadata(directory)?.modified()?.elapsed().unwrap_or_default();
    if age > UNMARKED {
        if fs::read_dir(directory)?.flatten().all(|entry| entry.file_name() == NEW_MARKER) {
            let _ = fs::remove_file(directory.join(NEW_MARKER));
        }
        // Fails if there is anything else in it.
        fs::remove_dir(directory)?;
    }
    Ok(())
}

/// Whether this is a directory, not a link to one, and belongs to this user.
fn is_own_directory(path: &Path) -> io::Result<bool> {
    let metadata = fs::symlink_metadata(path)?;
    Ok(metadata.is_dir() && Uid::from_raw(metadata.uid()) == geteuid())
}

/// A directory of this user below the temporary directory, for state that has no other place because there is no home
/// directory. Its name can be guessed, so it is an error if it belongs to another user, is a link, or can be written
/// by others.
pub fn private_fallback() -> io::Result<PathBuf> {
    private_directory(&std::env::temp_dir())
}

fn private_directory(parent: &Path) -> io::Result<PathBuf> {
    let path = parent.join(format!("showdown-of-user-{}", geteuid().as_raw()));
    match DirBuilder::new().mode(0o700).create(&path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let is_private = fs::symlink_metadata(&path)?.mode() & 0o022 == 0;
    if is_private && is_own_directory(&path)? {
        Ok(path)
    } else {
        let reason =
            format!("{} belongs to another user or others may write to it: set HOME", path.display());
        Err(io::Error::new(io::ErrorKind::PermissionDenied, reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_of_a_killed_process_is_swept_and_no_other() -> io::Result<()> {
        let parent = tempfile::tempdir()?;
        let running = ScratchDirectory::create_in(parent.path())?;
        fs::write(running.path().join("data"), "x")?;
        let killed = ScratchDirectory::create_in(parent.path())?;
        fs::create_dir(killed.path().join("data"))?;
        fs::write(killed.path().join("data/1"), "x")?;
        let ScratchDirectory { directory, _marker: marker } = killed;
        let killed = directory.keep();
        drop(marker); // as the kernel does for a killed process
        let unmarked = parent.path().join("showdown-unmarked");
        fs::create_dir(&unmarked)?;
        std::os::unix::fs::symlink(running.path(), parent.path().join("showdown-link"))?;
        assert_eq!(left_in(parent.path()), std::slice::from_ref(&killed));

        let next = ScratchDirectory::create_in(parent.path())?;
        assert!(!killed.exists(), "it is swept");
        assert!(running.path().join("data").exists() && unmarked.exists());
        let path = next.path().to_owned();
        drop(next);
        assert!(!path.exists(), "a process that ends removes its own");
        Ok(())
    }

    #[test]
    fn a_guessed_directory_of_somebody_else_is_refused() -> io::Result<()> {
        let parent = tempfile::tempdir()?;
        let path = private_directory(parent.path())?;
        assert_eq!(fs::metadata(&path)?.mode() & 0o777, 0o700);
        assert_eq!(private_directory(parent.path())?, path, "the same one next time");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777))?;
        assert!(private_directory(parent.path()).is_err(), "others may write to it");
        fs::remove_dir(&path)?;
        std::os::unix::fs::symlink(parent.path(), &path)?;
        assert!(private_directory(parent.path()).is_err(), "it is a link");
        Ok(())
    }
}
