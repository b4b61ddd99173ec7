//! One request and its reply over a connection of its own, blocking: for readiness and statistics. The load itself is
//! the engine's.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use load::spec::TlsSpec;
use load::tls;

/// The timeout of a request: on loopback no reply takes this long.
pub const TIMEOUT: Duration = Duration::from_secs(2);

/// The longest reply that is read.
const MAX_BYTES: usize = 1 << 20;

/// Why a request has no usable reply.
#[derive(Debug, thiserror::Error)]
pub enum ServerQueryError {
    /// Connecting, sending or receiving failed.
    #[error("{address}: {source}")]
    Connection {
        /// The server's address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The reply is not HTTP.
    #[error("{path} is answered with {first_line:?}, which is not HTTP")]
    NotHttp {
        /// The requested path.
        path: String,
        /// The first line of the reply.
        first_line: String,
    },
    /// The status of the reply is not from 200 to 399.
    #[error("{path} is answered with status {status}")]
    Status {
        /// The requested path.
        path: String,
        /// The status.
        status: u16,
    },
    /// A database did not answer a statement.
    #[error(transparent)]
    Sql(#[from] load::drivers::sql::QueryError),
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

/// GET of a path, with HTTP/1.0: the body then ends where the connection ends (RFC 9112, 6.3). The status must be from
/// 200 to 399. Returns the body.
pub fn http_get(address: SocketAddr, tls: Option<&TlsSpec>, path: &str) -> Result<String, ServerQueryError> {
    let request = format!("GET {path} HTTP/1.0\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    let text = exchange(address, tls, request.as_bytes(), |_| false)?;
    let (status, body) = parse_reply(&text).ok_or_else(|| {
        let first_line = text.lines().next().unwrap_or_default().to_owned();
        ServerQueryError::NotHttp { path: path.to_owned(), first_line }
    })?;
    match status {
        200..400 => Ok(body.to_owned()),
        status => Err(ServerQueryError::Status { path: path.to_owned(), status }),
    }
}

/// The status and the body of a reply.
fn parse_reply(text: &str) -> Option<(u16, &str)> {
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.parse().ok()?;
    Some((status, body))
}

/// A connection: a socket, or TLS over one.
trait Stream: Read + Write {}
impl<S: Read + Write> Stream for S {}

/// Sends `request`, and reads until the peer closes the connection, or until `is_complete` is true of the reply so far.
pub fn exchange(
    address: SocketAddr,
    tls: Option<&TlsSpec>,
    request: &[u8],
    is_complete: impl Fn(&[u8]) -> bool,
) -> Result<String, ServerQueryError> {
    let send_and_receive = || -> io::Result<Vec<u8>> {
        let deadline = Instant::now() + TIMEOUT;
        let socket = TcpStream::connect_timeout(&address, TIMEOUT)?;
        socket.set_write_timeout(Some(TIMEOUT))?;
        socket.set_read_timeout(Some(TIMEOUT))?;
        let mut stream: Box<dyn Stream> = match tls {
            None => Box::new(socket.try_clone()?),
            Some(tls) => {
                Box::new(tls::secure(tls, Some(b"http/1.1"), socket.try_clone()?).map_err(io::Error::other)?)
            }
        };
        stream.write_all(request)?;
        let mut reply = Vec::new();
        let mut block = [0; 4096];
        while !is_complete(&reply) && reply.len() < MAX_BYTES {
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
    let reply = send_and_receive().map_err(|source| ServerQueryError::Connection { address, source })?;
    Ok(String::from_utf8_lossy(&reply).into_owned())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::process::Command;
    use std::thread;

    use super::*;

    /// A server that reads one request and sends one reply.
    fn replying(reply: &'static str) -> io::Result<SocketAddr> {
        replying_after(reply, || {})
    }

    /// A server that reads one request, does something, and sends one reply.
    fn replying_after(reply: &'static str, before: fn()) -> io::Result<SocketAddr> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client connects");
            let mut block = [0; 1024];
            let _ = stream.read(&mut block);
            before();
            let _ = stream.write_all(reply.as_bytes());
        });
        Ok(address)
    }

    #[test]
    fn the_body_of_a_reply_is_returned_and_a_bad_status_is_an_error() -> Result<(), Box<dyn std::error::Error>>
    {
        let reply = http_get(replying("HTTP/1.1 200 OK\r\nA: b\r\n\r\nhi\n")?, None, "/")?;
        assert_eq!(reply, "hi\n");
        let error = http_get(replying("HTTP/1.1 503 No\r\n\r\n")?, None, "/x").expect_err("503 is an error");
        assert_eq!(error.to_string(), "/x is answered with status 503");
        Ok(())
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
        let reply = http_get(replying_after("HTTP/1.1 200 OK\r\n\r\nhi\n", stop_and_go_on)?, None, "/")?;
        assert_eq!(reply, "hi\n");
        Ok(())
    }

    #[test]
    fn a_reply_that_is_not_http_is_reported() -> io::Result<()> {
        let error = http_get(replying("ERROR\r\n")?, None, "/status").expect_err("the reply is not HTTP");
        assert_eq!(error.to_string(), "/status is answered with \"ERROR\", which is not HTTP");
        let refused = http_get(([127, 0, 0, 1], 1).into(), None, "/").expect_err("nothing listens on port 1");
        assert!(refused.to_string().starts_with("127.0.0.1:1: "), "{refused}");
        Ok(())
    }
}
