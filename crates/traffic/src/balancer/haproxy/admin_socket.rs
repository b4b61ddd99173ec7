//! HAProxy's admin socket: one command, one answer. HAProxy closes the connection after the answer. What answers mean is left to
//! [`super::answers`].

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::net::sockopt::socket_peercred;
use socket2::{Domain, SockAddr, Socket, Type};

use crate::balancer::interface::BalancerError;

/// How long an answer may take, from the connection to its end. A balancer that serves users answers within milliseconds.
const ANSWER_LIMIT: Duration = Duration::from_secs(1);

/// The longest answer. The statistics of a server have about 500 bytes.
pub const MOST_ANSWER_BYTES: usize = 8 << 20;

/// The admin socket of a balancer.
#[derive(Debug, Clone)]
pub struct AdminSocket {
    path: PathBuf,
    limit: Duration,
}

impl AdminSocket {
    /// The socket at this path, which is not opened yet.
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), limit: ANSWER_LIMIT }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Sends one command and returns the answer. Bytes that are no text are replaced.
    pub fn ask(&self, command: &str) -> Result<String, BalancerError> {
        debug_assert!(!command.contains(['\n', ';']), "one command");
        let deadline = Instant::now() + self.limit;
        let socket = self
            .connect()
            .map_err(|source| BalancerError::Unreachable { socket: self.path.clone(), source })?;
        self.exchange(socket, command, deadline).map_err(|reason| BalancerError::Silent {
            socket: self.path.clone(),
            command: command.to_owned(),
            reason,
        })
    }

    /// The process that has opened the socket, if it can be told: that of a HAProxy in the background has ended.
    pub fn listener(&self) -> Option<u32> {
        let socket = self.connect().ok()?;
        let credentials = socket_peercred(&socket).ok()?;
        Some(credentials.pid.as_raw_pid().cast_unsigned())
    }

    /// A stopped process has a full queue of connections after a while, so the time limit is set before the connection is made.
    fn connect(&self) -> std::io::Result<Socket> {
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
        socket.set_write_timeout(Some(self.limit))?;
        socket.connect(&SockAddr::unix(&self.path)?)?;
        Ok(socket)
    }

    fn exchange(&self, mut socket: Socket, command: &str, deadline: Instant) -> Result<String, String> {
        let written = socket.write_all(format!("{command}\n").as_bytes());
        written.map_err(|error| error.to_string())?;
        let mut answer = Vec::new();
        let mut buffer = vec![0; 64 << 10];
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(format!("no end of the answer within {} s", self.limit.as_secs_f64()));
            }
            socket.set_read_timeout(Some(left)).map_err(|error| error.to_string())?;
            match socket.read(&mut buffer) {
                Ok(0) => return Ok(String::from_utf8_lossy(&answer).into_owned()),
                Ok(count) if answer.len() + count > MOST_ANSWER_BYTES => {
                    return Err(format!("the answer is longer than {MOST_ANSWER_BYTES} bytes"));
                }
                Ok(count) => answer.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.to_string()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::thread;

    use super::*;

    fn quick(path: &Path) -> AdminSocket {
        AdminSocket { path: path.to_owned(), limit: Duration::from_millis(200) }
    }

    #[test]
    fn nothing_silence_and_an_endless_answer_are_errors() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("admin");
        let missing = quick(&path).ask("show info");
        assert!(matches!(missing, Err(BalancerError::Unreachable { .. })), "{missing:?}");
        let listener = UnixListener::bind(&path).unwrap();
        let silent = quick(&path).ask("show info").expect_err("nobody answers").to_string();
        assert!(silent.contains("no end of the answer within 0.2 s"), "{silent}");
        let endless = thread::spawn(move || {
            let (_silent, _) = listener.accept().unwrap();
            let (mut stream, _) = listener.accept().unwrap();
            let chunk = vec![b'x'; 1 << 20];
            while stream.write_all(&chunk).is_ok() {}
        });
        let generous = AdminSocket { path, limit: Duration::from_mins(1) };
        let too_long = generous.ask("show stat").expect_err("it does not end").to_string();
        assert!(too_long.contains("longer than"), "{too_long}");
        endless.join().unwrap();
    }
}
