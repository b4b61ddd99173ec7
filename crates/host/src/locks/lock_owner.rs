//! Whose a lock of this machine is: a run, with all that measures for it. Its agents share the right to measure with their controller, and
//! with each other, where several of its hosts are one machine.
//!
//! Each of them locks one byte of the lock file for reading, beside flock(2). The number of the byte is the run's. So nothing is
//! written, every user can do it who can open the file, containers that share the file see it, and it ends with the process.
//! These are locks of open files (`F_OFD_SETLK` in fcntl(2)): a lock of a process would end where another descriptor of the file is closed.

use std::fs::File;

use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use serde::{Deserialize, Serialize};

/// A run, by a random number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockOwner(u64);

/// Bytes of a file.
struct Bytes {
    start: i64,
    /// 0 for all up to the end.
    length: i64,
}

impl LockOwner {
    /// The run of this random number.
    pub const fn of_random(number: u64) -> Self {
        Self(number)
    }

    /// A position in a file is not negative, and neither is that of the byte after it.
    fn byte(self) -> i64 {
        (self.0 >> 2).cast_signed()
    }

    /// Marks an open lock file as this run's. Where the file system has no such locks, the run cannot share it.
    pub(crate) fn mark(self, file: &File) {
        set(file, libc::F_RDLCK, &Bytes { start: self.byte(), length: 1 });
    }

    /// Whether another descriptor has marked the file as this run's.
    pub(crate) fn has_marked(self, file: &File) -> bool {
        is_locked(file, &Bytes { start: self.byte(), length: 1 })
    }

    /// Whether the file is marked as another run's.
    pub(crate) fn is_foreign(self, file: &File) -> bool {
        let before = Bytes { start: 0, length: self.byte() };
        let after = Bytes { start: self.byte() + 1, length: 0 };
        // A length of 0 would be all of the file.
        (before.length > 0 && is_locked(file, &before)) || is_locked(file, &after)
    }
}

/// Whether any run has marked the file by another descriptor.
pub(crate) fn is_marked(file: &File) -> bool {
    is_locked(file, &Bytes { start: 0, length: 0 })
}

/// Removes the marks of this descriptor.
pub(crate) fn unmark(file: &File) {
    set(file, libc::F_UNLCK, &Bytes { start: 0, length: 0 });
}

fn set(file: &File, kind: libc::c_int, bytes: &Bytes) {
    let _ = fcntl(file, FcntlArg::F_OFD_SETLK(&lock(kind, bytes)));
}

/// Whether another descriptor has a lock on some of these bytes: one for writing could not be had.
fn is_locked(file: &File, bytes: &Bytes) -> bool {
    let mut found = lock(libc::F_WRLCK, bytes);
    let asked = fcntl(file, FcntlArg::F_OFD_GETLK(&mut found));
    asked.is_ok() && i32::from(found.l_type) != libc::F_UNLCK
}

fn lock(kind: libc::c_int, bytes: &Bytes) -> libc::flock {
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: bytes.start,
        l_len: bytes.length,
        l_pid: 0,
    }
}
