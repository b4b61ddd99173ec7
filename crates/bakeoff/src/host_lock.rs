//! One measurement at a time on a machine: two at once would disturb each other.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

/// Why the lock could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another run is measuring.
    #[error("another showdown is measuring on this machine (pid {pid}): wait until it has ended")]
    Taken {
        /// Process id of the other run, as it wrote it into the lock file.
        pid: String,
    },
    /// The lock file cannot be opened or written.
    #[error("cannot use the lock file {path}: {source}: remove it or set TMPDIR", path = path.display())]
    Unusable {
        /// Path of the lock file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
}

/// The lock. The kernel releases it when the process ends, for whatever reason.
#[derive(Debug)]
pub struct HostLock(#[expect(dead_code, reason = "the open file is the lock")] File);

impl HostLock {
    /// Takes the lock of this user on this machine.
    pub fn take() -> Result<Self, LockError> {
        let user = rustix::process::getuid().as_raw();
        let path = std::env::temp_dir().join(format!("showdown-{user}.lock"));
        let unusable = |source: std::io::Error| LockError::Unusable { path: path.clone(), source };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
            .open(&path)
            .map_err(unusable)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut pid = String::new();
                let _ = file.read_to_string(&mut pid);
                return Err(LockError::Taken { pid: pid.trim().to_owned() });
            }
            Err(TryLockError::Error(error)) => return Err(unusable(error)),
        }
        let written = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{}", std::process::id()));
        written.map_err(unusable)?;
        Ok(Self(file))
    }
}
