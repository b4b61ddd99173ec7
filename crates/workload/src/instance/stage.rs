//! Where a server is started: what it is given by the machine, and a directory of ours made ready.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use host::process::{PipeEnds, Pipes, RunAs};
use host::{CpuSet, Host};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::error::InstanceError;

/// Where and with what a server is started.
#[derive(Clone, Debug)]
pub struct StartOptions {
    /// The machine.
    pub host: Host,
    /// A directory of ours for this one start; it gets the configuration, the log and, while the server runs,
    /// its password. Made if it is not there.
    pub directory: PathBuf,
    /// Where the workload's files are kept for the next start, see [`crate::data::default_cache`].
    pub cache: PathBuf,
    /// The server's CPUs.
    pub cpus: CpuSet,
    /// The server's port; a free one if not given.
    pub port: Option<u16>,
    /// Keys and values follow from it.
    pub seed: u64,
    /// Set to give up waiting.
    pub interrupted: Arc<AtomicBool>,
}

/// Makes a directory of ours, and gives its whole path.
pub fn make_directory(path: &Path) -> Result<PathBuf, InstanceError> {
    let failed = |source| InstanceError::Write { path: path.to_owned(), source };
    fs::create_dir_all(path).map_err(failed)?;
    quotable(std::path::absolute(path).map_err(failed)?)
}

/// Makes the pipes that a runner is talked to through, and holds our ends.
pub fn make_pipes(directory: &Path) -> Result<(Pipes, PipeEnds), InstanceError> {
    let failed = |source| InstanceError::Write { path: directory.to_owned(), source };
    let pipes = Pipes::make(directory).map_err(failed)?;
    let ends = pipes.open_ends().map_err(failed)?;
    Ok((pipes, ends))
}

/// The program that we are, which has runners of its own.
pub fn this_program() -> String {
    let path = std::env::current_exe().unwrap_or_else(|_| "showdown".into());
    path.to_string_lossy().into_owned()
}

/// Refuses what no configuration file can hold between quotes.
pub fn quotable(path: PathBuf) -> Result<PathBuf, InstanceError> {
    match path.to_str() {
        Some(text) if !text.contains(['"', '\\', '$', '\n']) => Ok(path),
        _ => Err(InstanceError::Path(path)),
    }
}

/// Writes a file that only we may read.
pub fn write_private(path: &Path, text: &str) -> Result<(), InstanceError> {
    let write = || -> std::io::Result<()> {
        // Also if it is there already, from an earlier start.
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
        file.write_all(text.as_bytes())
    };
    write().map_err(|source| InstanceError::Write { path: path.to_owned(), source })
}

/// Gives a directory and what lies in it to a user.
pub fn give_to(who: RunAs, directory: &Path) -> Result<(), InstanceError> {
    let give = |path: &Path| chown(path, Some(who.uid), Some(who.gid));
    let give_all = || -> std::io::Result<()> {
        give(directory)?;
        fs::read_dir(directory)?.try_for_each(|entry| give(&entry?.path()))
    };
    give_all().map_err(|source| InstanceError::Write { path: directory.to_owned(), source })
}

/// The first directory on the way to `path` that other users may not enter.
pub fn barred(path: &Path) -> Option<&Path> {
    let closed = |path: &Path| {
        fs::metadata(path).is_ok_and(|meta| meta.is_dir() && meta.permissions().mode() & 0o001 == 0)
    };
    let ancestors: Vec<&Path> = path.ancestors().collect();
    ancestors.into_iter().rev().find(|path| closed(path))
}

/// Lets this process, and so all servers that it starts, have as many descriptors as it may: with the usual
/// 1,024 a server would be measured by its limit.
pub fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    // Where it may not be raised, the old limit holds.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_break_out_of_quotes_are_refused() {
        assert!(quotable("/tmp/a b's".into()).is_ok());
        for path in ["/tmp/a\"b", "/tmp/$HOME", "/tmp/a\\b", "/tmp/a\nb"] {
            assert!(matches!(quotable(path.into()), Err(InstanceError::Path(_))), "{path}");
        }
    }

    #[test]
    fn a_private_file_is_private_even_if_it_was_not() -> Result<(), Box<dyn std::error::Error>> {
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
    fn the_directory_that_bars_the_way_is_named() -> Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755))?;
        let (closed, inner) = (dir.path().join("closed"), dir.path().join("closed/inner"));
        fs::create_dir_all(&inner)?;
        fs::set_permissions(&inner, fs::Permissions::from_mode(0o700))?;
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o750))?;
        assert_eq!(barred(&inner), Some(closed.as_path()));
        Ok(())
    }
}
