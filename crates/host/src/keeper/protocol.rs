//! What goes through the keeper's two pipes: one order down, then at most one byte; events up. A
//! restorer says one byte.
//!
//! The order is a frame (length, then JSON), so that its reader takes exactly its bytes and leaves the
//! stop byte in the pipe. Events are JSON lines. Both ends are the same program, so there is no version.

use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};

use crate::process::{Ending, ServerCommand};

/// The hidden first argument by which a program that embeds this crate becomes a keeper.
pub(crate) const VERB: &str = "__keeper";

/// The byte that asks for an orderly stop. The end of the pipe without it means that we died.
pub(crate) const STOP: u8 = b's';

/// The byte by which a restorer says that it waits.
pub(crate) const READY: u8 = b'r';

/// An order is some kilobytes of arguments and environment; what claims to be more is not from us.
const MAX_ORDER_BYTES: u64 = 16 << 20;

/// What a keeper tells, in this order: `Refused`, or `Started`, any number of `Daemonised`, `Exited`;
/// then the pipe ends, which says that no process is left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Event {
    /// The server could not be started, and why.
    Refused { reason: String },
    /// The server's first process runs.
    Started { pid: u32, keeper: u32 },
    /// The first process exited with 0 and left others behind: `pid` is the eldest of those.
    Daemonised { pid: u32 },
    /// The server ended, by itself or because it was stopped; `killed` when that took SIGKILL from us.
    Exited { ending: Ending, killed: bool },
}

pub(crate) fn send_order(mut to: impl Write, order: &ServerCommand) -> io::Result<()> {
    let json = serde_json::to_vec(order)?;
    to.write_all(&(json.len() as u64).to_le_bytes())?;
    to.write_all(&json)
}

pub(super) fn receive_order(mut from: impl Read) -> io::Result<ServerCommand> {
    let mut length = [0; 8];
    from.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    if length > MAX_ORDER_BYTES {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut json = vec![0; length as usize];
    from.read_exact(&mut json)?;
    Ok(serde_json::from_slice(&json)?)
}

/// Tells an event to whoever still listens; that nobody does is no reason to stop keeping.
pub(super) fn tell(event: &Event) {
    if let Ok(mut line) = serde_json::to_vec(event) {
        line.push(b'\n');
        let mut out = io::stdout().lock();
        let _ = out.write_all(&line).and_then(|()| out.flush());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reader_of_an_order_leaves_the_stop_byte_in_the_pipe() {
        let order = ServerCommand::new("sleep", ["sleep", "60"], "/", "/tmp/log");
        let mut pipe = Vec::new();
        send_order(&mut pipe, &order).expect("a vector takes all");
        pipe.push(STOP);
        let mut rest = pipe.as_slice();
        assert_eq!(receive_order(&mut rest).expect("what was sent"), order);
        assert_eq!(rest, [STOP]);
    }

    #[test]
    fn an_order_cut_short_or_absurd_is_an_error() {
        assert!(receive_order(&[1, 2, 3][..]).is_err());
        assert!(receive_order(&u64::MAX.to_le_bytes()[..]).is_err());
        assert!(receive_order(&[4, 0, 0, 0, 0, 0, 0, 0, b'{'][..]).is_err());
    }
}
