//! One GET and its reply over a connection of its own, blocking: for readiness and statistics of servers. It is sent as
//! operations are, HTTP/1.1 with `Host`, and its reply ends as theirs do.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use socket2::Socket;
use wire::http1::{DecodeError, Event, HeadCache, Request, RequestError, ResponseDecoder};

use crate::connecting::Endpoint;
use crate::tls;
use crate::tls::TlsSpec;

/// The longest body that is read.
const MOST_BYTES: usize = 16 << 20;

/// A GET.
#[derive(Clone, Copy, Debug)]
pub struct HttpQuery<'q> {
    /// Where it is sent.
    pub to: &'q Endpoint,
    /// TLS on the connection.
    pub tls: Option<&'q TlsSpec>,
    /// The value of `Host`, unless `headers` has one.
    pub host: &'q str,
    /// Path and query.
    pub path: &'q str,
    /// Further header fields.
    pub headers: &'q [(String, String)],
}

/// Why a GET has no usable reply.
#[derive(Debug, thiserror::Error)]
pub enum HttpQueryError {
    /// It cannot be sent.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// Connecting, sending or receiving failed.
    #[error("{to}: {source}")]
    Connection {
        /// Where it was sent.
        to: Endpoint,
        /// The system's error.
        source: io::Error,
    },
    /// The reply is not one of HTTP/1.1.
    #[error("{path} is answered with {beginning:?}: {source}")]
    Reply {
        /// The requested path.
        path: String,
        /// How the reply begins.
        beginning: String,
        /// What is wrong with it.
        source: DecodeError,
    },
    /// The status of the reply is not from 200 to 399.
    #[error("{path} is answered with status {status}{remedy}")]
    Status {
        /// The requested path.
        path: String,
        /// The status.
        status: u16,
        /// What may help.
        remedy: &'static str,
    },
    /// The body is longer than what is read.
    #[error("the reply to {path} is longer than 16 MiB: ask for less")]
    TooLong {
        /// The requested path.
        path: String,
    },
}

/// Why header fields cannot be sent, if so.
pub fn check_headers(headers: &[(&str, &str)]) -> Result<(), RequestError> {
    Request { headers, ..Request::get("/", "localhost") }.check()
}

/// A connection: a socket, or TLS over one.
trait Stream: Read + Write {}
impl<S: Read + Write> Stream for S {}

impl HttpQuery<'_> {
    /// Sends it and returns the body. The status must be from 200 to 399.
    pub fn send(&self, timeout: Duration) -> Result<String, HttpQueryError> {
        let headers: Vec<(&str, &str)> =
            self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let closes = [("Connection", "close")];
        let own_close = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("connection"));
        let headers = if own_close { headers } else { [&headers[..], &closes].concat() };
        let request = Request { headers: &headers, ..Request::get(self.path, self.host) }.render()?;
        let failed = |source| HttpQueryError::Connection { to: self.to.clone(), source };
        let deadline = Instant::now() + timeout;
        let socket = self.to.connect(timeout).map_err(failed)?;
        let mut stream = self.secured(&socket).map_err(failed)?;
        stream.write_all(&request).map_err(failed)?;
        let mut body = ReplyBody::new(self.path);
        loop {
            let mut block = [0; 16 * 1024];
            match receive(&mut *stream, &socket, &mut block, deadline).map_err(failed)? {
                0 => return body.closed(),
                count => {
                    if let Some(done) = body.take(&block[..count])? {
                        return Ok(done);
                    }
                }
            }
        }
    }

    fn secured(&self, socket: &Socket) -> io::Result<Box<dyn Stream>> {
        let stream = socket.try_clone()?;
        Ok(match self.tls {
            None => Box::new(stream),
            Some(tls) => Box::new(tls::secure(tls, Some(b"http/1.1"), stream).map_err(io::Error::other)?),
        })
    }
}

fn receive(
    stream: &mut dyn Stream,
    socket: &Socket,
    block: &mut [u8],
    deadline: Instant,
) -> io::Result<usize> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        socket.set_read_timeout(Some(left))?;
        match stream.read(block) {
            // A peer that closes TCP without TLS's own end: whether the reply is complete is for its framing to say.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Err(io::ErrorKind::TimedOut.into());
            }
            // A process that was stopped and goes on finds a wait with a time limit interrupted (signal(7)).
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// A reply that is being received.
struct ReplyBody<'p> {
    path: &'p str,
    decoder: ResponseDecoder,
    cache: HeadCache,
    status: u16,
    body: Vec<u8>,
    beginning: String,
}

impl<'p> ReplyBody<'p> {
    fn new(path: &'p str) -> Self {
        let mut decoder = ResponseDecoder::new();
        decoder.expect(false);
        let (cache, body, beginning) = (HeadCache::new(), Vec::new(), String::new());
        Self { path, decoder, cache, status: 0, body, beginning }
    }

    /// Takes bytes. Returns the body when it is complete.
    fn take(&mut self, mut input: &[u8]) -> Result<Option<String>, HttpQueryError> {
        if self.beginning.is_empty() {
            let line = String::from_utf8_lossy(&input[..input.len().min(80)]);
            line.lines().next().unwrap_or_default().clone_into(&mut self.beginning);
        }
        loop {
            match self.decoder.decode(&mut self.cache, &mut input) {
                Ok(Some(Event::Head(head))) => self.status = head.status,
                Ok(Some(Event::Body(data))) => {
                    self.body.extend_from_slice(data);
                    if self.body.len() > MOST_BYTES {
                        return Err(HttpQueryError::TooLong { path: self.path.to_owned() });
                    }
                }
                Ok(Some(Event::End { .. })) => return self.done().map(Some),
                Ok(None) => return Ok(None),
                Err(source) => return Err(self.refused(source)),
            }
        }
    }

    fn closed(&mut self) -> Result<String, HttpQueryError> {
        match self.decoder.eof() {
            Ok(_) => self.done(),
            Err(source) => Err(self.refused(source)),
        }
    }

    fn refused(&self, source: DecodeError) -> HttpQueryError {
        HttpQueryError::Reply { path: self.path.to_owned(), beginning: self.beginning.clone(), source }
    }

    fn done(&mut self) -> Result<String, HttpQueryError> {
        let remedy = match self.status {
            200..400 => return Ok(String::from_utf8_lossy(&self.body).into_owned()),
            400 | 421 => ": if it wants its own name, give it with headers = { Host = \"NAME\" }",
            401 | 403 => ": if it wants a login, give it with headers = { Authorization = \"…\" }",
            _ => "",
        };
        Err(HttpQueryError::Status { path: self.path.to_owned(), status: self.status, remedy })
    }
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpListener};
    use std::thread::{self, JoinHandle};

    use super::*;

    /// A server that reads one request, sends one reply and keeps the connection open until the client closes it.
    fn replying(reply: Vec<u8>) -> (SocketAddr, JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client connects");
            let mut block = [0; 1024];
            let count = stream.read(&mut block).expect("a request");
            let _ = stream.write_all(&reply);
            let _ = stream.read(&mut [0; 16]);
            String::from_utf8_lossy(&block[..count]).into_owned()
        });
        (address, server)
    }

    fn get(reply: &str, headers: &[(String, String)]) -> (Result<String, HttpQueryError>, String) {
        let (address, server) = replying(reply.as_bytes().to_vec());
        let query = HttpQuery { to: &address.into(), tls: None, host: "box:80", path: "/x", headers };
        (query.send(Duration::from_secs(5)), server.join().expect("the server ends"))
    }

    #[test]
    fn a_reply_ends_with_its_length_and_not_with_the_connection() {
        let (body, request) = get("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi\n", &[]);
        assert_eq!(body.expect("a reply"), "hi\n");
        assert_eq!(request, "GET /x HTTP/1.1\r\nHost: box:80\r\nConnection: close\r\n\r\n");
        let (body, _) = get("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", &[]);
        assert_eq!(body.expect("a reply"), "hi");
    }

    #[test]
    fn own_headers_are_sent() {
        let headers = [("Host", "shop.example"), ("Authorization", "Bearer x")];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let (_, request) = get("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", &headers);
        let expected =
            "GET /x HTTP/1.1\r\nHost: shop.example\r\nAuthorization: Bearer x\r\nConnection: close\r\n\r\n";
        assert_eq!(request, expected);
    }

    #[test]
    fn what_cannot_be_used_is_an_error_with_its_reason() {
        let refused = |reply: &str| get(reply, &[]).0.expect_err("refused").to_string();
        let text = refused("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n");
        assert_eq!(text, "/x is answered with status 503");
        assert!(refused("HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n").contains("headers = { Host ="));
        let text = refused("ERROR\r\n");
        assert!(text.starts_with("/x is answered with \"ERROR\": "), "{text}");
        let long = format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}",
            MOST_BYTES + 1,
            "x".repeat(MOST_BYTES + 1)
        );
        assert!(refused(&long).contains("longer than 16 MiB"));
    }
}
