//! One run at a time at a balancer. The lock is an abstract socket whose name follows from the path of the admin socket: the kernel
//! releases it when its process ends, it needs no file, and whoever meets it learns from the kernel which process has it.

use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};

use rustix::net::sockopt::socket_peercred;
use sha2::{Digest, Sha256};
use socket2::{Domain, SockAddr, Socket, Type};

/// Who locks a balancer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockRole {
    /// The run that shifts weight.
    Run,
    /// The process that takes the weight back after the run's death.
    Lease,
}

/// Why the lock could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum BalancerLockError {
    /// Another run, or what cleans up after one, uses the balancer.
    #[error(
        "the balancer at {} is in use by {owner}: wait until it has ended, or stop it with `showdown shift PLAN --abort`", socket.display()
    )]
    Taken {
        /// The admin socket.
        socket: PathBuf,
        /// The process, and its user.
        owner: LockOwner,
    },
    /// The admin socket does not exist, or the kernel has no more sockets.
    #[error("cannot lock the balancer at {}: {source}: check the path of its admin socket", socket.display())]
    Failed {
        /// The admin socket.
        socket: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// The process that has a lock, and its user. None if the kernel does not tell it at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockOwner(Option<(u32, u32)>);

impl LockOwner {
    /// The process.
    pub fn pid(self) -> Option<u32> {
        self.0.map(|(pid, _)| pid)
    }
}

impl fmt::Display for LockOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some((pid, user)) => write!(f, "pid {pid} of user ID {user}"),
            None => f.write_str("another process"),
        }
    }
}

/// The lock of a balancer.
#[derive(Debug)]
pub struct BalancerLock {
    _listener: UnixListener,
}

impl BalancerLock {
    /// Takes the lock of the balancer with this admin socket. A run is also refused while the lease of an earlier run cleans up.
    pub fn take(socket: &Path, role: LockRole) -> Result<Self, BalancerLockError> {
        let real = socket.canonicalize().map_err(|source| failed(socket, source))?;
        // The run first: its process is the one that a person knows, and its lease is there, too.
        let listener =
            UnixListener::bind_addr(&address(&real, role).map_err(|source| failed(socket, source))?);
        let lock = match listener {
            Ok(listener) => Self { _listener: listener },
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                let owner = owner(&real, role).unwrap_or(LockOwner(None));
                return Err(BalancerLockError::Taken { socket: real, owner });
            }
            Err(error) => return Err(failed(socket, error)),
        };
        if role == LockRole::Run
            && let Some(owner) = owner(&real, LockRole::Lease)
        {
            return Err(BalancerLockError::Taken { socket: real, owner });
        }
        Ok(lock)
    }
}

/// The process of the run at the balancer with this admin socket. None if there is no run.
pub fn user_of(socket: &Path) -> Option<LockOwner> {
    owner(&socket.canonicalize().ok()?, LockRole::Run)
}

fn failed(socket: &Path, source: io::Error) -> BalancerLockError {
    BalancerLockError::Failed { socket: socket.to_owned(), source }
}

fn address(socket: &Path, role: LockRole) -> io::Result<SocketAddr> {
    let digest = Sha256::digest(socket.as_os_str().as_encoded_bytes());
    let mut first = [0; 16];
    first.copy_from_slice(&digest[..16]);
    let digest = u128::from_be_bytes(first);
    let role = match role {
        LockRole::Run => "run",
        LockRole::Lease => "lease",
    };
    SocketAddr::from_abstract_name(format!("showdown-balancer-{digest:032x}-{role}"))
}

/// The process that has a lock: the kernel knows who listens. None if nobody does.
fn owner(socket: &Path, role: LockRole) -> Option<LockOwner> {
    let name = address(socket, role).ok()?;
    let path = [b"\0", name.as_abstract_name()?].concat();
    let stream = Socket::new(Domain::UNIX, Type::STREAM, None).ok()?;
    // Nobody accepts: a queue that is full must not make this wait.
    stream.set_nonblocking(true).ok()?;
    match stream.connect(&SockAddr::unix(OsStr::from_bytes(&path)).ok()?) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Some(LockOwner(None)),
        Err(_) => return None,
    }
    let credentials = socket_peercred(&stream).ok()?;
    Some(LockOwner(Some((credentials.pid.as_raw_pid().cast_unsigned(), credentials.uid.as_raw()))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_run_is_refused_and_told_who_uses_the_balancer() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("admin.sock");
        let missing = BalancerLock::take(&socket, LockRole::Run).unwrap_err().to_string();
        assert!(missing.contains("check the path"), "{missing}");
        std::fs::write(&socket, "").unwrap();
        let lease = BalancerLock::take(&socket, LockRole::Lease).unwrap();
        let this = format!("pid {} of user", std::process::id());
        let refused = BalancerLock::take(&socket, LockRole::Run).unwrap_err().to_string();
        assert!(refused.contains(&this), "{refused}");
        drop(lease);
        assert_eq!(user_of(&socket), None);
        let run = BalancerLock::take(&socket, LockRole::Run).unwrap();
        assert!(user_of(&socket).is_some_and(
            |user| user.to_string().starts_with(&this) && user.pid() == Some(std::process::id())
        ));
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&socket, &link).unwrap();
        let refused = BalancerLock::take(&link, LockRole::Run).unwrap_err().to_string();
        assert!(refused.contains(&this), "{refused}");
        let _lease = BalancerLock::take(&socket, LockRole::Lease).unwrap();
        drop(run);
    }
}
