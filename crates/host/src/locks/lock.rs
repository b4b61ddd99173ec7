//! One measurement at a time on a machine: two at once would disturb each other.
//!
//! The lock is a file that every user can open for reading, which is enough for flock(2), so root and other users meet.
//! Where only root may create a file in `/run/lock`, other users meet it in `/tmp`: every process locks each of the
//! files that it can open. The kernel releases a lock when its process ends. Any user can have the lock, also without
//! measuring, so the error says which process and which user it is.
//!
//! A measurement can have several processes on one machine: an agent that was reached by ssh, and its controller. They have one
//! [`LockOwner`], and share the lock.

use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use procfs::LockType;
use rustix::fs::OFlags;

use crate::locks::lock_owner::{LockOwner, is_marked, unmark};

/// The lock files.
const FILES: [&str; 2] = ["/run/lock/showdown.lock", "/tmp/showdown.lock"];

/// The environment variable that names another lock file, for tests and for a machine whose users block each other.
pub const LOCK_VARIABLE: &str = "SHOWDOWN_LOCK";

/// How often, and how many times, to try: a process that only looks has the lock for a moment.
const RETRY: Duration = Duration::from_millis(20);
const RETRIES: u32 = 5;

/// Why the lock could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another run is measuring.
    #[error(
        "another showdown is measuring on this machine {holder}, which has locked {}: wait until it has ended",
        path.display()
    )]
    Taken {
        /// The process that holds the lock, and its user.
        holder: String,
        /// The lock file.
        path: PathBuf,
    },
    /// The lock file cannot be opened.
    #[error(
        "cannot use the lock file {}: {source}: remove it, or set {LOCK_VARIABLE} to another file",
        path.display()
    )]
    Unusable {
        /// The lock file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// The lock. The kernel releases it when the process ends, for whatever reason.
#[derive(Debug)]
pub struct HostLock(Vec<File>);

impl HostLock {
    /// Takes the lock of this machine for a run, or shares it with the run's other processes.
    pub fn take(owner: LockOwner) -> Result<Self, LockError> {
        Self::take_all(&files(), owner)
    }

    fn take_all(paths: &[PathBuf], owner: LockOwner) -> Result<Self, LockError> {
        let mut locked = Vec::new();
        let mut unusable = None;
        for path in paths {
            match take_one(path, owner) {
                Ok(file) => locked.push(file),
                Err(error @ LockError::Taken { .. }) => return Err(error),
                // A directory that does not exist here, or that only root may write to.
                Err(error @ LockError::Unusable { .. }) => unusable = unusable.or(Some(error)),
            }
        }
        match unusable {
            Some(error) if locked.is_empty() => Err(error),
            _ => Ok(Self(locked)),
        }
    }
}

impl Drop for HostLock {
    /// Releases the lock also for a process that another thread is just forking, which has copies of the open files until
    /// it becomes its program.
    fn drop(&mut self) {
        for file in &self.0 {
            unmark(file);
            let _ = file.unlock();
        }
    }
}

/// The process that is measuring on this machine now, and its user. None if no other process has the lock, or only those of
/// this run.
pub fn measuring_now(own: Option<LockOwner>) -> Option<String> {
    measuring(&files(), own)
}

fn measuring(paths: &[PathBuf], own: Option<LockOwner>) -> Option<String> {
    paths.iter().find_map(|path| {
        let file = open(path).ok()?;
        let is_taken = matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)) || is_marked(&file);
        let is_own = own.is_some_and(|own| own.has_marked(&file) && !own.is_foreign(&file));
        (is_taken && !is_own).then(|| holder(&file))
    })
}

/// The lock files of this machine: those that there may be.
pub fn files() -> Vec<PathBuf> {
    std::env::var_os(LOCK_VARIABLE).map_or_else(|| FILES.map(PathBuf::from).into(), |path| vec![path.into()])
}

fn take_one(path: &Path, owner: LockOwner) -> Result<File, LockError> {
    let unusable = |source| LockError::Unusable { path: path.to_owned(), source };
    let mut tries = 0;
    loop {
        // Its end takes back lock and mark of a try.
        let file = open_or_create(path).map_err(unusable)?;
        tries += 1;
        let is_first = match file.try_lock() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) => false,
            Err(TryLockError::Error(source)) => return Err(unusable(source)),
        };
        let mut is_own = is_first || owner.has_marked(&file);
        if is_own {
            // First the mark, then the look at those of others: of two runs that come at the same moment, one at least sees the other.
            owner.mark(&file);
            is_own = !owner.is_foreign(&file);
        }
        match (is_own, is_still_there(&file, path)) {
            (true, true) => return Ok(file),
            // Somebody removed the file between the two calls: others would lock the next one.
            (true, false) if tries < RETRIES => {}
            (true, false) => return Err(unusable(io::Error::other("it is replaced again and again"))),
            (false, _) if tries < RETRIES => {
                drop(file);
                thread::sleep(RETRY);
            }
            (false, _) => {
                unmark(&file);
                return Err(LockError::Taken { holder: holder(&file), path: path.to_owned() });
            }
        }
    }
}

/// In a directory to which all may write, the kernel may refuse `O_CREAT` for an existing file of another user
/// (`fs.protected_regular`). So an existing file is opened, and only a new one created.
fn open_or_create(path: &Path) -> io::Result<File> {
    match open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        opened => return opened,
    }
    match OpenOptions::new().write(true).create_new(true).mode(0o644).open(path) {
        // Whatever the umask is, others must be able to lock it.
        Ok(file) => file.set_permissions(Permissions::from_mode(0o644))?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    open(path)
}

fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a regular file")) }
}

fn is_still_there(file: &File, path: &Path) -> bool {
    let id = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
    file.metadata().is_ok_and(|open| path.symlink_metadata().is_ok_and(|there| id(open) == id(there)))
}

/// The process that holds the lock of this file, from the kernel's list of locks: what a file says can be forged.
fn holder(file: &File) -> String {
    let inode = file.metadata().map_or(0, |metadata| metadata.ino());
    let locks = procfs::locks().unwrap_or_default();
    let of_file = |lock: &&procfs::Lock| lock.lock_type == LockType::FLock && lock.inode == inode;
    let pid = locks.iter().find(of_file).and_then(|lock| lock.pid).filter(|pid| *pid > 0);
    let Some(pid) = pid else { return "(pid unknown): a process that is not visible here".to_owned() };
    let process = procfs::process::Process::new(pid).ok();
    let name = process.as_ref().and_then(|process| process.stat().ok()).map(|stat| stat.comm);
    let user = process.and_then(|process| process.uid().ok());
    let name = name.unwrap_or_else(|| "?".to_owned());
    let user = user.map_or_else(|| "?".to_owned(), |uid| uid.to_string());
    format!("(pid {pid}): {name} of user ID {user}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: LockOwner = LockOwner::of_random(u64::MAX);
    const OTHER: LockOwner = LockOwner::of_random(0);

    #[test]
    fn a_second_run_is_refused_and_told_who_measures() -> Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        let paths = [dir.path().join("none/lock"), dir.path().join("lock")];
        assert_eq!(measuring(&paths, None), None);
        let lock = HostLock::take_all(&paths, RUN)?;
        assert_eq!(paths[1].metadata()?.permissions().mode() & 0o777, 0o644, "every user can lock it");
        let refused = HostLock::take_all(&paths, OTHER).expect_err("the lock is taken").to_string();
        let this = std::process::id().to_string();
        let whom = measuring(&paths, None).ok_or("the lock is taken")?;
        assert!(refused.contains(&this) || refused.contains("not visible"), "{refused}");
        assert!(refused.contains(&whom), "{refused} {whom}");
        // A process that is just being forked has a copy of the open file.
        let _copy = lock.0[0].try_clone()?;
        drop(lock);
        assert_eq!(measuring(&paths, None), None);
        HostLock::take_all(&paths, OTHER)?;
        Ok(())
    }

    #[test]
    fn a_run_shares_the_lock_with_its_agents_and_with_nobody_else() -> Result<(), Box<dyn std::error::Error>>
    {
        let dir = tempfile::tempdir()?;
        let paths = [dir.path().join("lock")];
        let controller = HostLock::take_all(&paths, RUN)?;
        let agent = HostLock::take_all(&paths, RUN)?;
        assert_eq!(measuring(&paths, Some(RUN)), None, "it is no other measurement");
        assert!(measuring(&paths, Some(OTHER)).is_some());
        assert!(matches!(HostLock::take_all(&paths, OTHER), Err(LockError::Taken { .. })));
        // An agent whose controller was killed stops its servers first.
        drop(controller);
        assert!(measuring(&paths, None).is_some());
        assert!(matches!(HostLock::take_all(&paths, OTHER), Err(LockError::Taken { .. })));
        drop(agent);
        let _other = HostLock::take_all(&paths, OTHER)?;
        assert!(matches!(HostLock::take_all(&paths, RUN), Err(LockError::Taken { .. })));
        assert!(
            matches!(HostLock::take_all(&paths, RUN), Err(LockError::Taken { .. })),
            "nor is a try a mark"
        );
        Ok(())
    }

    /// A program of another version has the lock alone.
    #[test]
    fn a_lock_without_an_owner_is_not_shared() -> Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("lock");
        let file = File::create(&path)?;
        file.lock()?;
        assert!(matches!(HostLock::take_all(std::slice::from_ref(&path), RUN), Err(LockError::Taken { .. })));
        assert!(measuring(&[path], Some(RUN)).is_some());
        Ok(())
    }

    #[test]
    fn a_file_that_others_put_there_is_not_followed() -> Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        let (link, target) = (dir.path().join("lock"), dir.path().join("target"));
        std::os::unix::fs::symlink(&target, &link)?;
        let error = HostLock::take_all(&[link], RUN).expect_err("a link").to_string();
        assert!(error.contains(LOCK_VARIABLE), "{error}");
        assert!(!target.exists());
        Ok(())
    }
}
