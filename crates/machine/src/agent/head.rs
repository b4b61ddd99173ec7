//! What a connection of a measurement says first.

use std::io::{self, ErrorKind, Read, Write};
use std::time::Duration;

/// The reply to a head with the right token.
pub(super) const ACCEPTED: u8 = b'+';

/// How long either side waits for the other.
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

/// Token, mode, and how long to count.
pub(super) struct RequestHead {
    pub token: String,
    pub mode: Mode,
    pub each: Duration,
}

impl RequestHead {
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let mut head = self.token.clone().into_bytes();
        head.resize(TOKEN, 0);
        head.push(self.mode as u8);
        head.extend_from_slice(&(self.each.as_millis() as u32).to_le_bytes());
        to.write_all(&head)
    }

    pub fn read(from: &mut impl Read) -> io::Result<Self> {
        let (mut token, mut mode, mut each) = ([0; TOKEN], [0], [0; 4]);
        from.read_exact(&mut token)?;
        from.read_exact(&mut mode)?;
        from.read_exact(&mut each)?;
        let modes = [Mode::Connect, Mode::Echo, Mode::Swallow, Mode::Send];
        let mode = modes.into_iter().find(|known| *known as u8 == mode[0]).ok_or(ErrorKind::InvalidData)?;
        let each = Duration::from_millis(u32::from_le_bytes(each).into());
        Ok(Self { token: String::from_utf8_lossy(&token).into_owned(), mode, each })
    }
}

/// Bytes that no link can compress.
pub(super) fn random_bytes() -> Vec<u8> {
    let mut bytes = vec![0; 64 << 10];
    rand::fill(&mut bytes[..]);
    bytes
}
