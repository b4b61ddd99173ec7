//! One measurement on a machine at a time: two at once would measure each other.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

/// Why the lock was not had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Someone is measuring.
    #[error("another showdown is measuring on this machine (pid {pid}): wait until it has ended")]
    Taken {
        /// Who, as it wrote itself.
        pid: String,
    },
    /// The lock file cannot be used.
    #[error("{path}: {reason}: the lock file cannot be used, remove it or set TMPDIR", path = path.display())]
    Unusable {
        /// Its path.
        path: PathBuf,
        /// The system's words.
        reason: String,
    },
}

/// FinishedTrial while measuring. The kernel lets go of it when the process ends, however it ends.
#[derive(Debug)]
pub struct HostLock(#[expect(dead_code, reason = "holding it is its purpose")] File);

impl HostLock {
    /// Takes the lock of this user on this machine.
    pub fn take() -> Result<Self, LockError> {
        let user = rustix::process::getuid().as_raw();
        let path = std::env::temp_dir().join(format!("showdown-{user}.lock"));
        let unusable =
            |error: std::io::Error| LockError::Unusable { path: path.clone(), reason: error.to_string() };
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
