//! The directory of a start: its files, and who may read them.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use host::process::RunAs;

use super::error::InstanceError;

/// Creates a directory, and returns its absolute path. Other users cannot list it. They can enter it where root starts
/// a server: its workers may have a user of their own.
pub fn make_directory(path: &Path) -> Result<PathBuf, InstanceError> {
    let failed = |source| InstanceError::Write { path: path.to_owned(), source };
    fs::create_dir_all(path).map_err(failed)?;
    let mode = if rustix::process::geteuid().is_root() { 0o711 } else { 0o700 };
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(failed)?;
    quotable(std::path::absolute(path).map_err(failed)?)
}

/// Refuses a path that cannot stand between quotes in a configuration file.
pub fn quotable(path: PathBuf) -> Result<PathBuf, InstanceError> {
    match path.to_str() {
        Some(text) if !text.contains(['"', '\\', '$', '\n']) => Ok(path),
        _ => Err(InstanceError::Path(path)),
    }
}

/// Writes a file that only its owner may read.
pub fn write_private(path: &Path, text: &str) -> Result<(), InstanceError> {
    let write = || -> std::io::Result<()> {
        // The file may exist from an earlier start, with other permissions.
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
        file.write_all(text.as_bytes())
    };
    write().map_err(|source| InstanceError::Write { path: path.to_owned(), source })
}

/// Makes a user the owner of a directory and of the files in it, and closes the directory to all others.
pub fn give_to(who: RunAs, directory: &Path) -> Result<(), InstanceError> {
    let give = |path: &Path| chown(path, Some(who.uid), Some(who.gid));
    let give_all = || -> std::io::Result<()> {
        give(directory)?;
        fs::set_permissions(directory, fs::Permissions::from_mode(0o700))?;
        fs::read_dir(directory)?.try_for_each(|entry| give(&entry?.path()))
    };
    give_all().map_err(|source| InstanceError::Write { path: directory.to_owned(), source })
}

/// The first directory on the way to `path` that other users may not enter.
pub fn first_closed_directory(path: &Path) -> Option<&Path> {
    let closed = |path: &Path| {
        fs::metadata(path).is_ok_and(|meta| meta.is_dir() && meta.permissions().mode() & 0o001 == 0)
    };
    let ancestors: Vec<&Path> = path.ancestors().collect();
    ancestors.into_iter().rev().find(|path| closed(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_breaks_quotes_is_refused() {
        assert!(quotable("/tmp/a b's".into()).is_ok());
        for path in ["/tmp/a\"b", "/tmp/$HOME", "/tmp/a\\b", "/tmp/a\nb"] {
            assert!(matches!(quotable(path.into()), Err(InstanceError::Path(_))), "{path}");
        }
    }

    #[test]
    fn a_public_file_becomes_private() -> Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("password");
        fs::write(&path, "an old and longer text")?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644))?;
        write_private(&path, "secret")?;
        assert_eq!(fs::read_to_string(&path)?, "secret");
        assert_eq!(fs::metadata(&path)?.permissions().mode() & 0o777, 0o600);
        Ok(())
    }

    #[test]
    fn the_first_closed_directory_is_found() -> Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755))?;
        let (closed, inner) = (dir.path().join("closed"), dir.path().join("closed/inner"));
        fs::create_dir_all(&inner)?;
        fs::set_permissions(&inner, fs::Permissions::from_mode(0o700))?;
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o750))?;
        assert_eq!(first_closed_directory(&inner), Some(closed.as_path()));
        Ok(())
    }
}
