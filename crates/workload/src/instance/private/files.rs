//! The files of a start: who may read them, and when they are removed.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::instance::error::InstanceError;

/// Refuses a path that cannot stand between quotes in a configuration file.
pub fn quotable(path: PathBuf) -> Result<PathBuf, InstanceError> {
    match path.to_str() {
        Some(text) if !text.contains(['"', '\\', '$', '\n']) => Ok(path),
        _ => Err(InstanceError::Path(path)),
    }
}

/// Writes a new file that only its owner may read. A file or link of this name is an error.
pub fn write_private(path: &Path, text: impl AsRef<[u8]>) -> Result<(), InstanceError> {
    let write = || -> std::io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(text.as_ref())
    };
    write().map_err(|source| InstanceError::Write { path: path.to_owned(), source })
}

/// The server's files that contain a secret. Dropping this removes them.
#[derive(Debug, Default)]
pub struct SecretFiles(Vec<PathBuf>);

impl SecretFiles {
    /// Writes a file, and removes it later.
    pub fn write(&mut self, path: PathBuf, text: impl AsRef<[u8]>) -> Result<(), InstanceError> {
        write_private(&path, text)?;
        self.0.push(path);
        Ok(())
    }
}

impl Drop for SecretFiles {
    fn drop(&mut self) {
        for file in &self.0 {
            // This removes a link and not its target. A file that cannot be removed has the secret of a server that no
            // longer runs.
            let _ = fs::remove_file(file);
        }
    }
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
    fn a_secret_is_private_and_is_removed() -> Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("password");
        let mut files = SecretFiles::default();
        files.write(path.clone(), "secret")?;
        assert_eq!(fs::read_to_string(&path)?, "secret");
        assert_eq!(fs::metadata(&path)?.permissions().mode() & 0o777, 0o600);
        assert!(write_private(&path, "again").is_err(), "a file that exists is not written");
        drop(files);
        assert!(!path.exists());
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
