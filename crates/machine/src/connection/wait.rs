//! Waiting for a reply, as long as the user does not interrupt.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::transport::POLL_INTERVAL;

/// Why a wait ended without a value.
pub(super) enum WaitError {
    /// Nothing has come in time.
    Late,
    /// Nothing can come any more.
    Gone,
    /// The user does not wait any longer.
    Interrupted,
}

/// Waits for a value this long.
pub(super) fn wait<T>(
    from: &mpsc::Receiver<T>,
    longest: Duration,
    mut is_interrupted: impl FnMut() -> bool,
) -> Result<T, WaitError> {
    let until = Instant::now() + longest;
    loop {
        match from.recv_timeout(POLL_INTERVAL) {
            Ok(value) => return Ok(value),
            Err(RecvTimeoutError::Disconnected) => return Err(WaitError::Gone),
            Err(RecvTimeoutError::Timeout) if is_interrupted() => return Err(WaitError::Interrupted),
            Err(RecvTimeoutError::Timeout) if Instant::now() > until => return Err(WaitError::Late),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}
