//! One question and its answer over a connection of its own, blocking: is it ready, what has it counted.
//! The load is the engine's; this is for what is asked once.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use load::spec::TlsSpec;
use load::tls;

/// On loopback an answer that takes longer than this is none.
pub const PATIENCE: Duration = Duration::from_secs(2);

/// No answer is longer.
const MOST_BYTES: usize = 1 << 20;

/// An HTTP reply.
#[derive(Debug, PartialEq, Eq)]
pub struct Reply {
    /// Its status.
    pub status: u16,
    /// Its body.
    pub body: String,
}

/// GET of a path. As HTTP/1.0, so that the body ends where the connection does (RFC 9112, 6.3).
pub fn http_get(address: SocketAddr, tls: Option<&TlsSpec>, path: &str) -> Result<Reply, String> {
    let request = format!("GET {path} HTTP/1.0\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    let text = converse(address, tls, request.as_bytes(), |_| false)?;
    parse_reply(&text).ok_or_else(|| {
        format!("{path} is answered with {:?}, which is no HTTP", text.lines().next().unwrap_or_default())
    })
}

fn parse_reply(text: &str) -> Option<Reply> {
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.parse().ok()?;
    Some(Reply { status, body: body.to_owned() })
}

/// What is read from and written to: a socket, or TLS over one.
trait Stream: Read + Write {}
impl<S: Read + Write> Stream for S {}

/// Sends `request` and reads until the peer closes, or `is_whole` says of the text so far that nothing more
/// will come.
pub fn converse(
    address: SocketAddr,
    tls: Option<&TlsSpec>,
    request: &[u8],
    is_whole: impl Fn(&[u8]) -> bool,
) -> Result<String, String> {
    let ask = || -> io::Result<Vec<u8>> {
        let deadline = Instant::now() + PATIENCE;
        let socket = TcpStream::connect_timeout(&address, PATIENCE)?;
        socket.set_write_timeout(Some(PATIENCE))?;
        socket.set_read_timeout(Some(PATIENCE))?;
        let mut stream: Box<dyn Stream> = match tls {
            None => Box::new(socket.try_clone()?),
            Some(tls) => {
                Box::new(tls::secure(tls, Some(b"http/1.1"), socket.try_clone()?).map_err(io::Error::other)?)
            }
        };
        stream.write_all(request)?;
        let mut answer = Vec::new();
        let mut block = [0; 4096];
        while !is_whole(&answer) && answer.len() < MOST_BYTES {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            socket.set_read_timeout(Some(left))?;
            match stream.read(&mut block) {
                Ok(0) => break,
                Ok(count) => answer.extend_from_slice(&block[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(answer)
    };
    let answer = ask().map_err(|error| format!("{address}: {error}"))?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// A server that reads up to an empty line and answers once.
    fn answering(answer: &'static str) -> io::Result<SocketAddr> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client comes");
            let mut block = [0; 1024];
            let _ = stream.read(&mut block);
            let _ = stream.write_all(answer.as_bytes());
        });
        Ok(address)
    }

    #[test]
    fn a_reply_is_taken_apart() -> Result<(), Box<dyn std::error::Error>> {
        let reply = http_get(answering("HTTP/1.1 200 OK\r\nA: b\r\n\r\nhi\n")?, None, "/")?;
        assert_eq!(reply, Reply { status: 200, body: "hi\n".to_owned() });
        Ok(())
    }

    #[test]
    fn what_is_no_reply_is_said() -> io::Result<()> {
        let error = http_get(answering("ERROR\r\n")?, None, "/status").expect_err("no HTTP");
        assert_eq!(error, "/status is answered with \"ERROR\", which is no HTTP");
        let refused = http_get(([127, 0, 0, 1], 1).into(), None, "/").expect_err("nobody listens");
        assert!(refused.starts_with("127.0.0.1:1: "), "{refused}");
        Ok(())
    }
}
