//! What a connection of a measurement says first.

use std::io::{self, ErrorKind, Read, Write};
use std::time::Duration;

use crate::throughput_span::ThroughputSpan;

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

/// Token, mode, and when to count.
pub(super) struct RequestHead {
    pub token: String,
    pub mode: Mode,
    pub span: ThroughputSpan,
}

impl RequestHead {
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let mut head = self.token.clone().into_bytes();
        head.resize(TOKEN, 0);
        head.push(self.mode as u8);
        for part in [self.span.slow_start, self.span.counted] {
            head.extend_from_slice(&(part.as_micros() as u64).to_le_bytes());
        }
        to.write_all(&head)
    }

    pub fn read(from: &mut impl Read) -> io::Result<Self> {
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

/// Bytes that no link can compress.
pub(super) fn random_bytes() -> Vec<u8> {
    let mut bytes = vec![0; 64 << 10];
    rand::fill(&mut bytes[..]);
    bytes
}
