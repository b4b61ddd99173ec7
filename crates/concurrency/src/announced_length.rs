//! The length that a server announces for a file, before anything is changed or started for it. The server is anybody's: its head has
//! a time and a size, however it sends it.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use load::transfers::TransferSpecError;
use wire::http1::{Event, Framing, HeadCache, MAX_HEAD_BYTES, Request, ResponseDecoder};

use crate::error::ConcurrencyError;

/// How often it looks for an interruption.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The length that the server announces for a file; none where it does not. Its body is not read. The head must be there within
/// `longest`.
pub(crate) fn announced_length(
    (authority, path): (&str, &str),
    address: SocketAddr,
    longest: Duration,
    interrupted: &AtomicBool,
) -> Result<Option<u64>, ConcurrencyError> {
    let target = || format!("http://{authority}{path}");
    let no_file = |reply: String| ConcurrencyError::NoFile { target: target(), reply };
    let request = Request::get(path, authority).render().map_err(TransferSpecError::from)?;
    let head = ask(address, &request, longest, interrupted).map_err(|error| match error.kind() {
        ErrorKind::Interrupted => ConcurrencyError::Interrupted,
        _ => no_file(format!("an error ({error})")),
    })?;
    let mut decoder = ResponseDecoder::new();
    decoder.expect(false);
    match decoder.decode(&mut HeadCache::new(), &mut head.as_slice()) {
        Ok(Some(Event::Head(head))) if head.status == 200 => Ok(match head.framing {
            Framing::Length(bytes) => Some(bytes),
            _ => None,
        }),
        Ok(Some(Event::Head(head))) => Err(no_file(format!("status {}", head.status))),
        Ok(_) => Err(no_file("no whole head".to_owned())),
        Err(error) => Err(no_file(format!("something else than HTTP ({error})"))),
    }
}

/// What the server sends until its head ends, or is too large for one. [`ErrorKind::Interrupted`] is that of the user.
fn ask(
    address: SocketAddr,
    request: &[u8],
    longest: Duration,
    interrupted: &AtomicBool,
) -> io::Result<Vec<u8>> {
    let deadline = Instant::now() + longest;
    let mut stream = TcpStream::connect_timeout(&address, longest)?;
    stream.set_read_timeout(Some(POLL_INTERVAL))?;
    stream.set_write_timeout(Some(longest))?;
    stream.write_all(request)?;
    let mut head = Vec::new();
    let mut buffer = [0; 4096];
    while head.len() <= MAX_HEAD_BYTES {
        if interrupted.load(Ordering::Relaxed) {
            return Err(ErrorKind::Interrupted.into());
        }
        if Instant::now() >= deadline {
            let why = format!("no whole head within {} s", longest.as_secs());
            return Err(io::Error::new(ErrorKind::TimedOut, why));
        }
        let count = match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if is_early(&error) => continue,
            Err(error) => return Err(error),
        };
        // The end may be in two pieces.
        let from = head.len().saturating_sub(3);
        head.extend_from_slice(&buffer[..count]);
        if head[from..].windows(4).any(|end| end == b"\r\n\r\n") {
            break;
        }
    }
    Ok(head)
}

/// Whether nothing has come yet.
fn is_early(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    const LONG: Duration = Duration::from_mins(2);

    /// What is found of a server that answers like this.
    fn found(
        longest: Duration,
        interrupted: &AtomicBool,
        answer: impl FnOnce(TcpStream) -> io::Result<()> + Send + 'static,
    ) -> Result<Option<u64>, ConcurrencyError> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        thread::spawn(move || listener.accept().and_then(|(stream, _)| answer(stream)));
        announced_length(("h", "/f"), address, longest, interrupted)
    }

    fn go_on(mut stream: TcpStream, piece: &[u8], pause: Duration) -> io::Result<()> {
        stream.write_all(b"HTTP/1.1 200 OK\r\n")?;
        loop {
            stream.write_all(piece)?;
            thread::sleep(pause);
        }
    }

    #[test]
    fn the_length_of_a_head_in_any_pieces_is_found() {
        let no = AtomicBool::new(false);
        let pieces = |pieces: &'static [&'static [u8]]| {
            move |mut stream: TcpStream| {
                // A server that ends with the request unread resets the connection.
                let _ = stream.read(&mut [0; 1024])?;
                for piece in pieces {
                    stream.write_all(piece)?;
                    thread::sleep(Duration::from_millis(20));
                }
                Ok(())
            }
        };
        let whole = pieces(&[b"HTTP/1.1 200 OK\r\nContent-Length: 70", b"00\r\n\r", b"\nbody"]);
        assert_eq!(found(LONG, &no, whole).expect("a head"), Some(7000));
        let cut = found(LONG, &no, pieces(&[b"HTTP/1.1 200 OK\r\n"])).expect_err("no head").to_string();
        assert_eq!(cut, "http://h/f answers with no whole head: name the URL of a file");
    }

    #[test]
    fn a_head_that_never_ends_ends_by_its_size_by_its_time_or_by_ctrl_c() {
        let (no, yes) = (AtomicBool::new(false), AtomicBool::new(true));
        let flood = |stream| go_on(stream, &b"x: y\r\n".repeat(1000), Duration::ZERO);
        let error = found(LONG, &no, flood).expect_err("no head").to_string();
        assert!(error.contains("the head of the reply is larger than 65536 bytes"), "{error}");
        let drip = |stream| go_on(stream, b"x", Duration::from_millis(10));
        let error = found(Duration::from_secs(1), &no, drip).expect_err("no head").to_string();
        assert!(error.contains("no whole head within 1 s"), "{error}");
        let error = found(LONG, &yes, drip).expect_err("no head");
        assert!(matches!(error, ConcurrencyError::Interrupted), "{error}");
    }
}
