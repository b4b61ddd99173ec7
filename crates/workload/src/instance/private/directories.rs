//! The directories of a start. The server writes to its own and to its temporary one, and may replace anything there by a
//! link or a pipe. What this program reads and writes while the server runs is in the private one.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, lchown};
use std::path::{Path, PathBuf};

use host::process::RunAs;

use super::files::quotable;
use crate::instance::error::InstanceError;

/// The directories of a start.
#[derive(Clone, Debug)]
pub struct StartDirectories {
    /// The server's: `{{ dir }}`.
    pub server: PathBuf,
    /// The server's `TMPDIR`: that of showdown may be closed to the server's user.
    pub temporary: PathBuf,
    /// This program's, closed to others: the server's log, the client's copies of password and certificate, the pipes to
    /// a runner, and the output of tools.
    pub private: PathBuf,
}

impl StartDirectories {
    /// Creates them in `parent`, which is created if missing. The start must be the first one there: what an earlier
    /// server left could mislead this program. Other users cannot enter the server's directory. With `workers`, the user of workers
    /// that root's server starts, they can, but not list it; the group of the workers may write to the temporary directory.
    pub fn create(parent: &Path, workers: Option<RunAs>) -> Result<Self, InstanceError> {
        let failed = |source| InstanceError::Write { path: parent.to_owned(), source };
        let parent = quotable(std::path::absolute(parent).map_err(failed)?)?;
        create_missing(&parent).map_err(failed)?;
        let [server, temporary, private] = ["server", "tmp", "private"].map(|name| parent.join(name));
        create(&server, if workers.is_some() { 0o711 } else { 0o700 })?;
        create(&private, 0o700)?;
        create(&temporary, 0o700)?;
        if let Some(workers) = workers {
            // Sticky: workers cannot remove the files of root.
            let share = || -> io::Result<()> {
                lchown(&temporary, None, Some(workers.gid))?;
                fs::set_permissions(&temporary, Permissions::from_mode(0o1770))
            };
            share().map_err(|source| InstanceError::Write { path: temporary.clone(), source })?;
        }
        Ok(Self { server, temporary, private })
    }

    /// Makes a user the owner of the server's directories and of its files. Its directory comes last: from then on, processes
    /// of that user may change what is in it.
    pub fn give_to(&self, who: RunAs) -> Result<(), InstanceError> {
        let give = |path: &Path| lchown(path, Some(who.uid), Some(who.gid));
        let give_all = || -> io::Result<()> {
            give(&self.temporary)?;
            fs::read_dir(&self.server)?.try_for_each(|entry| give(&entry?.path()))?;
            give(&self.server)
        };
        give_all().map_err(|source| InstanceError::Write { path: self.server.clone(), source })
    }
}

fn create(path: &Path, mode: u32) -> Result<(), InstanceError> {
    let create = || -> io::Result<()> {
        fs::create_dir(path)?;
        fs::set_permissions(path, Permissions::from_mode(mode))
    };
    create().map_err(|source| InstanceError::Write { path: path.to_owned(), source })
}

/// Creates a directory and those above it. Other users may enter but not list them, whatever the umask is.
fn create_missing(path: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = path.ancestors().take_while(|above| !above.exists()).collect();
    missing.into_iter().rev().try_for_each(|above| {
        fs::create_dir(above)?;
        fs::set_permissions(above, Permissions::from_mode(0o711))
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn only_the_user_of_the_server_enters_its_directory() -> Result<(), Box<dyn std::error::Error>> {
        let parent = tempfile::tempdir()?;
        let mode = |path: &Path| fs::metadata(path).map(|data| data.permissions().mode() & 0o7777);
        let one = StartDirectories::create(&parent.path().join("a/1"), None)?;
        // The group of this process: an ordinary user may give its files to that one.
        let gid = fs::metadata(parent.path())?.gid();
        let shared = StartDirectories::create(&parent.path().join("a/2"), Some(RunAs { uid: 0, gid }))?;
        assert_eq!([mode(&one.server)?, mode(&one.temporary)?, mode(&one.private)?], [0o700; 3]);
        assert_eq!(
            [mode(&shared.server)?, mode(&shared.temporary)?, mode(&shared.private)?],
            [0o711, 0o1770, 0o700]
        );
        assert_eq!(mode(&parent.path().join("a"))?, 0o711);
        Ok(())
    }

    #[test]
    fn the_directory_of_an_earlier_start_is_refused() -> Result<(), Box<dyn std::error::Error>> {
        let parent = tempfile::tempdir()?;
        StartDirectories::create(parent.path(), None)?;
        let error = StartDirectories::create(parent.path(), None).expect_err("it is not new").to_string();
        assert!(error.contains("/server: ") && error.contains("exists"), "{error}");
        Ok(())
    }
}
