//! The messages in the supervisor's two pipes. The control pipe carries one order, then bytes. The event
//! pipe carries events.
//!
//! The order is a frame (length, then JSON), so that its reader reads exactly its bytes and leaves the next byte
//! in the pipe. Events are JSON lines. Both ends are the same program, so there is no version number.

use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};

use crate::process::{ProcessExit, ServerCommand};

/// The byte that requests a stop. If the pipe ends without it, the owner died.
pub(super) const STOP: u8 = b's';

/// The byte that says that another program has started the server, which listens at the address of the order.
pub(super) const EXTERNAL: u8 = b'e';

/// The limit on the size of an order. A real order has some kilobytes of arguments and environment.
const MAX_ORDER_BYTES: u64 = 16 << 20;

/// The events of a supervisor, in this order: either `Refused`, or `Started`, any number of `Daemonised`,
/// perhaps `LogTooLong`, `Exited`.
/// Then the pipe ends, which means that no process is left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum SupervisorEvent {
    /// The server cannot be started.
    Refused { reason: String },
    /// The server's first process runs.
    Started { pid: u32, supervisor: u32 },
    /// The first process exited with status 0, and others remain. `pid` is the oldest of those.
    Daemonised { pid: u32 },
    /// The server's log is too long and cannot be shortened: the server is killed.
    LogTooLong { reason: String },
    /// The server ended, by itself or because it was stopped. `killed`: the supervisor had to send SIGKILL.
    Exited { exit: ProcessExit, killed: bool },
}

pub(super) fn send_order(mut to: impl Write, order: &ServerCommand) -> io::Result<()> {
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

/// Sends an event to the owner. Errors are ignored: the supervisor continues when its owner is gone.
pub(super) fn send_event(event: &SupervisorEvent) {
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
    fn reading_an_order_leaves_the_stop_byte_in_the_pipe() {
        let order = ServerCommand::new("sleep", ["sleep", "60"], "/", "/tmp/log");
        let mut pipe = Vec::new();
        send_order(&mut pipe, &order).expect("write to memory");
        pipe.push(STOP);
        let mut rest = pipe.as_slice();
        assert_eq!(receive_order(&mut rest).expect("the order that was sent"), order);
        assert_eq!(rest, [STOP]);
    }

    #[test]
    fn a_truncated_or_oversized_order_is_an_error() {
        assert!(receive_order(&[1, 2, 3][..]).is_err());
        assert!(receive_order(&u64::MAX.to_le_bytes()[..]).is_err());
        assert!(receive_order(&[4, 0, 0, 0, 0, 0, 0, 0, b'{'][..]).is_err());
    }
}
