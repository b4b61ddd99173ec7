//! Long work on a CPU that somebody else may need at once.
//!
//! A thread that wakes up does not end the slice of the one that runs (EEVDF, since Linux 6.6, with `RUN_TO_PARITY`):
//! it waits for up to 3 ms. Reading what there is of a server of 250 processes takes 4 ms, so that a load generator on
//! the same CPU sent 2.0 ms late (p99) at 8,000 requests/s to Apache's prefork, which then seemed to answer in 3.0 ms
//! (p99); with pauses it is 0.06 ms late, and the p99 is 0.4 ms (medians of 12 trials each, taken in turns).
//! `SCHED_IDLE` does as much, but gets nothing at all where the CPUs are full, which is when readings are wanted.

use std::cell::Cell;
use std::time::{Duration, Instant};

use rustix::thread::sched_yield;

/// How long others may have to wait: about as long as a wake-up takes anyway.
const PIECE: Duration = Duration::from_micros(50);

/// Gives way to others after every piece of a long work.
pub(crate) struct Courtesy(Cell<Instant>);

impl Courtesy {
    /// The work begins.
    pub(crate) fn new() -> Self {
        Self(Cell::new(Instant::now()))
    }

    /// To be called often.
    pub(crate) fn give_way(&self) {
        if self.0.get().elapsed() >= PIECE {
            sched_yield();
            self.0.set(Instant::now());
        }
    }
}
