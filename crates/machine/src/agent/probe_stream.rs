//! What both ends of a measurement of a network share: the head that its connection begins with, and how its bytes are counted after
//! their slow start.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::io::{read, retry_on_intr};

use crate::protocol::throughput_span::ThroughputSpan;

/// The reply to a head with the right token.
pub(super) const ACCEPTED: u8 = b'+';

/// How long either side waits for the other, beside the span of a throughput.
pub(super) const IO_TIMEOUT: Duration = Duration::from_secs(10);

/// The length of a token.
const TOKEN: usize = 32;

/// What the passive side does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Nothing.
    Connect,
    /// Echo each byte.
    Echo,
    /// Count what arrives.
    Swallow,
    /// Send.
    Send,
}

/// The length of a head.
const LENGTH: usize = TOKEN + 1 + 2 * 8;

/// Token, mode, and when to count.
pub(super) struct ProbeHead {
    pub token: String,
    pub mode: Mode,
    pub span: ThroughputSpan,
}

impl ProbeHead {
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let mut head = self.token.clone().into_bytes();
        head.resize(TOKEN, 0);
        head.push(self.mode as u8);
        for part in [self.span.slow_start, self.span.counted] {
            head.extend_from_slice(&(part.as_micros() as u64).to_le_bytes());
        }
        to.write_all(&head)
    }

    /// Reads the head of a connection until the deadline, however slowly its bytes come.
    pub fn read(from: &mut TcpStream, deadline: Instant) -> io::Result<Self> {
        let mut bytes = [0; LENGTH];
        let mut filled = 0;
        while filled < LENGTH {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ErrorKind::TimedOut.into());
            }
            from.set_read_timeout(Some(left))?;
            match from.read(&mut bytes[filled..]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => filled += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let mut from = &bytes[..];
        let (mut token, mut mode, mut slow_start, mut counted) = ([0; TOKEN], [0], [0; 8], [0; 8]);
        from.read_exact(&mut token)?;
        from.read_exact(&mut mode)?;
        from.read_exact(&mut slow_start)?;
        from.read_exact(&mut counted)?;
        let modes = [Mode::Connect, Mode::Echo, Mode::Swallow, Mode::Send];
        let mode = modes.into_iter().find(|known| *known as u8 == mode[0]).ok_or(ErrorKind::InvalidData)?;
        let part = |micros| Duration::from_micros(u64::from_le_bytes(micros));
        let span = ThroughputSpan { slow_start: part(slow_start), counted: part(counted) };
        Ok(Self { token: String::from_utf8_lossy(&token).into_owned(), mode, span })
    }
}

impl ProbeHead {
    /// Whether it has this token. The time that it takes does not tell how much of it is right.
    pub fn has(&self, token: &str) -> bool {
        let mut expected = token.as_bytes().to_vec();
        expected.resize(TOKEN, 0);
        let given = self.token.bytes().chain(std::iter::repeat(0)).take(TOKEN);
        given.zip(expected).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
    }
}

/// Bytes that no link can compress.
pub(super) fn random_bytes() -> Vec<u8> {
    let mut bytes = vec![0; 64 << 10];
    rand::fill(&mut bytes[..]);
    bytes
}

/// Counts the bytes that arrive after the slow start, and for how long.
pub(super) fn count_bytes(from: &mut TcpStream, span: ThroughputSpan) -> io::Result<(u64, Duration)> {
    let mut buffer = vec![0; 256 << 10];
    let mut next = || match retry_on_intr(|| read(&*from, &mut buffer))? {
        0 => Err(io::Error::from(ErrorKind::UnexpectedEof)),
        count => Ok(count as u64),
    };
    next()?;
    let first = Instant::now();
    while first.elapsed() < span.slow_start {
        next()?;
    }
    let (start, mut bytes) = (Instant::now(), 0);
    loop {
        let took = start.elapsed();
        if took >= span.counted && bytes > 0 {
            return Ok((bytes, took));
        }
        bytes += next()?;
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    #[test]
    fn a_head_that_comes_byte_by_byte_has_one_deadline() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let mut slow = TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
        let (mut here, _) = listener.accept().expect("a connection");
        let dripping = thread::spawn(move || {
            while slow.write_all(b"x").is_ok() {
                thread::sleep(Duration::from_millis(20));
            }
        });
        let deadline = Instant::now() + Duration::from_millis(300);
        let error = ProbeHead::read(&mut here, deadline).err().expect("no head").kind();
        assert!(matches!(error, ErrorKind::TimedOut | ErrorKind::WouldBlock), "{error:?}");
        drop(here);
        dripping.join().expect("it ends");
    }

    #[test]
    fn a_token_is_compared_as_a_whole() {
        let span = ThroughputSpan { slow_start: Duration::ZERO, counted: Duration::ZERO };
        let head = |token: &str| ProbeHead { token: token.to_owned(), mode: Mode::Echo, span };
        assert!(head("abc").has("abc") && head("abc\0\0").has("abc"));
        for other in ["abd", "ab", "abcd", ""] {
            assert!(!head(other).has("abc"), "{other}");
        }
    }
}
