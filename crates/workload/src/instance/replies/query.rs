//! One request and its reply over a connection of its own, blocking: for statistics in the protocols of caches. GETs are
//! [`load::drivers::http::HttpQuery`]'s, and the load itself is the engine's.

use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use load::connecting::Endpoint;
use load::drivers::http::HttpQueryError;

use crate::render::RenderError;

/// The timeout of a request: on loopback no reply takes this long.
pub const TIMEOUT: Duration = Duration::from_secs(2);

/// The longest reply that is read.
const MAX_BYTES: usize = 16 << 20;

/// Why a request has no usable reply.
#[derive(Debug, thiserror::Error)]
pub enum ServerQueryError {
    /// Connecting, sending or receiving failed.
    #[error("{to}: {source}")]
    Connection {
        /// Where it was sent.
        to: Endpoint,
        /// The system's error.
        source: io::Error,
    },
    /// A GET has no usable reply.
    #[error(transparent)]
    Http(#[from] HttpQueryError),
    /// A GET goes nowhere.
    #[error("{url:?} is not where a GET can go: {reason}")]
    Url {
        /// As rendered.
        url: String,
        /// What is wrong, and the remedy.
        reason: String,
    },
    /// The template of a query cannot be rendered.
    #[error(transparent)]
    Template(#[from] RenderError),
    /// A database did not answer a statement.
    #[error(transparent)]
    Sql(#[from] load::drivers::QueryError),
    /// The protocol has no statements.
    #[error("the protocol {0} does not have SQL statements")]
    NoSql(&'static str),
    /// A log could not be read.
    #[error("{}: {source}", path.display())]
    Log {
        /// The log.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// Sends `request`, and reads until the peer closes the connection, or until `is_complete` is true of the reply so far.
pub fn exchange(
    to: &Endpoint,
    request: &[u8],
    is_complete: impl Fn(&[u8]) -> bool,
) -> Result<String, ServerQueryError> {
    let send_and_receive = || -> io::Result<Vec<u8>> {
        let deadline = Instant::now() + TIMEOUT;
        let socket = to.connect(TIMEOUT)?;
        let mut stream = &socket;
        stream.write_all(request)?;
        let mut reply = Vec::new();
        let mut block = [0; 4096];
        while !is_complete(&reply) {
            if reply.len() > MAX_BYTES {
                return Err(io::Error::other("the reply is longer than 16 MiB: ask for less"));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            socket.set_read_timeout(Some(left))?;
            match stream.read(&mut block) {
                Ok(0) => break,
                Ok(count) => reply.extend_from_slice(&block[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                // A process that was stopped and goes on finds a wait with a time limit interrupted (signal(7)).
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(reply)
    };
    let reply =
        send_and_receive().map_err(|source| ServerQueryError::Connection { to: to.clone(), source })?;
    Ok(String::from_utf8_lossy(&reply).into_owned())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::process::Command;
    use std::thread;

    use super::*;

    /// A server that reads one request, does something, and sends one reply.
    fn replying_after(reply: &'static str, before: fn()) -> io::Result<Endpoint> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client connects");
            let mut block = [0; 1024];
            let _ = stream.read(&mut block);
            before();
            let _ = stream.write_all(reply.as_bytes());
        });
        Ok(address.into())
    }

    #[test]
    fn a_process_that_is_stopped_and_goes_on_still_gets_its_reply() -> Result<(), Box<dyn std::error::Error>>
    {
        // The shell stops its parent, which is this process, and lets it go on.
        let stop_and_go_on = || {
            thread::sleep(Duration::from_millis(50));
            let shell =
                Command::new("sh").args(["-c", "kill -STOP $PPID; sleep 0.05; kill -CONT $PPID"]).status();
            assert!(shell.expect("there is a shell").success());
        };
        let reply = exchange(&replying_after("hi\n", stop_and_go_on)?, b"x", |_| false)?;
        assert_eq!(reply, "hi\n");
        Ok(())
    }
}
