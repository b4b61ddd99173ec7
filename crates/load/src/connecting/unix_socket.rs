//! Sockets of the file system: connects to one by its path. A server under test that has made its socket itself leads nobody
//! elsewhere: what lies between its directory and the socket may be no link.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{self, FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::SocketAddrUnix;
use serde::{Deserialize, Serialize};

/// The longest path of a socket, without the zero byte at its end (unix(7)).
const LONGEST_PATH: usize = 107;

/// A socket of the file system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnixSocket {
    path: PathBuf,
    /// The directory of the server that makes it; none where the user has named the socket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    within: Option<PathBuf>,
}

/// Why a path cannot be that of a server's socket.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnixSocketError {
    /// It is not in the server's directory.
    #[error("{0:?} is not below the server's directory: write {{{{ dir }}}}/NAME")]
    Outside(PathBuf),
    /// The kernel cannot bind it.
    #[error(
        "{path:?} has {bytes} bytes, and the path of a socket has {LONGEST_PATH} at most: choose a shorter name"
    )]
    TooLong {
        /// The path.
        path: PathBuf,
        /// Its length.
        bytes: usize,
    },
}

impl UnixSocket {
    /// The socket at a path that the user has given: links are followed, as by every other program.
    pub fn of_user(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), within: None }
    }

    /// The socket that a server makes in its own directory. Links below that are refused when a connection is opened.
    pub fn of_server(path: impl Into<PathBuf>, directory: &Path) -> Result<Self, UnixSocketError> {
        let path = path.into();
        let bytes = path.as_os_str().len();
        let below = path.strip_prefix(directory).ok().map(Path::components);
        let is_below = below.is_some_and(|mut parts| {
            parts.clone().next().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
        });
        match is_below {
            false => Err(UnixSocketError::Outside(path)),
            true if bytes > LONGEST_PATH => Err(UnixSocketError::TooLong { path, bytes }),
            true => Ok(Self { path, within: Some(directory.to_owned()) }),
        }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The address to connect to, and what must stay open until then.
    pub(super) fn address(&self) -> io::Result<(SocketAddrUnix, Option<OwnedFd>)> {
        let Some(directory) = &self.within else { return Ok((SocketAddrUnix::new(&self.path)?, None)) };
        let below = self.path.strip_prefix(directory).map_err(io::Error::other)?;
        let socket = open_below(directory, below)?;
        // The descriptor is the socket that was looked at, whatever is at its path by now.
        let address = SocketAddrUnix::new(format!("/proc/self/fd/{}", socket.as_raw_fd()))?;
        Ok((address, Some(socket)))
    }
}

/// Opens the socket below a directory, step by step and through no link.
fn open_below(directory: &Path, below: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at = fs::open(directory, flags, Mode::empty())?;
    for part in below.components() {
        // `..` cannot be in the path of a spec that this program made; another program's is read here, too.
        if !matches!(part, Component::Normal(_)) {
            return Err(Errno::INVAL.into());
        }
        at = fs::openat(&at, part.as_os_str(), flags, Mode::empty()).map_err(|errno| named(errno, part))?;
    }
    match FileType::from_raw_mode(fs::fstat(&at)?.st_mode) {
        FileType::Socket => Ok(at),
        FileType::Symlink => Err(io::Error::other("it is a link, which is not followed")),
        _ => Err(io::Error::other("it is not a socket")),
    }
}

/// A part of the path that is no directory may be a link, which is then not followed.
fn named(errno: Errno, part: Component<'_>) -> io::Error {
    match errno {
        Errno::NOTDIR => {
            let name = part.as_os_str().display();
            io::Error::other(format!("what is above {name:?} is no directory, and links are not followed"))
        }
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs as files;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::super::connect_to_socket;
    use super::*;

    fn refused(socket: &UnixSocket) -> String {
        connect_to_socket(socket).map(drop).expect_err("it is refused").detail
    }

    #[test]
    fn a_servers_socket_is_below_its_directory() {
        let of = |path: &str| UnixSocket::of_server(path, Path::new("/tmp/a/server"));
        assert_eq!(
            of("/tmp/a/server/app.sock").map(|socket| socket.path),
            Ok("/tmp/a/server/app.sock".into())
        );
        assert!(of("/tmp/a/server/run/app.sock").is_ok());
        for outside in [
            "/run/docker.sock",
            "/tmp/a/server",
            "/tmp/a/server2/app.sock",
            "/tmp/a/server/../private/app.sock",
            "app.sock",
            "",
        ] {
            let error = of(outside).expect_err("outside").to_string();
            assert!(error.ends_with("is not below the server's directory: write {{ dir }}/NAME"), "{error}");
        }
        let long = of(&format!("/tmp/a/server/{}", "x".repeat(100))).expect_err("too long").to_string();
        assert!(long.contains("has 114 bytes, and the path of a socket has 107 at most"), "{long}");
    }

    #[test]
    fn a_server_leads_its_client_to_no_other_socket() -> Result<(), Box<dyn std::error::Error>> {
        let temporary = tempfile::tempdir()?;
        let (own, others) = (temporary.path().join("server"), temporary.path().join("others"));
        files::create_dir(&own)?;
        files::create_dir(&others)?;
        let _service = UnixListener::bind(others.join("docker.sock"))?;
        let of_server = |name: &str| UnixSocket::of_server(own.join(name), &own);
        assert!(refused(&of_server("app.sock")?).contains("No such file"));
        let server = UnixListener::bind(own.join("app.sock"))?;
        connect_to_socket(&of_server("app.sock")?).map_err(|error| error.detail)?;
        drop(server);
        assert!(refused(&of_server("app.sock")?).contains("Connection refused"));

        files::remove_file(own.join("app.sock"))?;
        symlink(others.join("docker.sock"), own.join("app.sock"))?;
        assert!(refused(&of_server("app.sock")?).contains("it is a link, which is not followed"));
        symlink(&others, own.join("run"))?;
        assert!(refused(&of_server("run/docker.sock")?).contains("links are not followed"));
        files::write(own.join("file"), "")?;
        assert!(refused(&of_server("file")?).contains("it is not a socket"));
        // The directory itself, where somebody else could replace it.
        let moved = temporary.path().join("moved");
        symlink(&others, &moved)?;
        let socket = UnixSocket::of_server(moved.join("docker.sock"), &moved)?;
        assert!(refused(&socket).contains("links are not followed"));
        // What the user names is his own.
        let named = UnixSocket::of_user(own.join("run/docker.sock"));
        connect_to_socket(&named).map_err(|error| error.detail)?;
        Ok(())
    }
}
