//! What a load needs of a machine that makes a part of it: the pipes to load processes there, and how far its clock is
//! from the one here. The crate `machine` has machines behind a connection.

use std::error::Error;
use std::fmt;
use std::io::{BufRead, Write};
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::clock::Nanos;

/// Why a client cannot be used: the host, the reason and the remedy in one line.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ClientError(pub Box<dyn Error + Send + Sync>);

/// A machine that makes a part of a load.
pub trait LoadClient: fmt::Debug + Send + Sync {
    /// Its name in results.
    fn name(&self) -> &str;

    /// The local address of its connections; none to let its system choose.
    fn source(&self) -> Option<IpAddr>;

    /// How many connections one of its processes can have open.
    fn connections_a_process(&self) -> u64;

    /// Starts a load process there: one that calls [`load_process_main`](crate::worker_groups::processes::load_process_main).
    fn start(&self) -> Result<ProcessPipes, ClientError>;

    /// Compares its clock with the one here, while no load runs.
    fn clock(&self) -> Result<ClientClock, ClientError>;
}

/// The pipes to a load process. Lines go in and out; the end of either ends the process.
pub struct ProcessPipes {
    /// Its standard input. Dropping it ends the process.
    pub input: Box<dyn Write + Send>,
    /// Its standard output. An error says in one line why nothing more comes.
    pub output: Box<dyn BufRead + Send>,
    /// Waits until it has ended.
    pub end: Box<dyn FnOnce(ProcessEnd) + Send>,
}

/// How a load process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessEnd {
    /// By itself: its output has ended.
    Itself,
    /// It is silent, and killed where it is a process of this machine.
    Killed,
}

/// How far the clock of a client is ahead of the one here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientClock {
    /// Nanoseconds of `CLOCK_MONOTONIC`; mostly the difference of the machines' starts.
    pub ahead_ns: i64,
    /// That is wrong by this at most.
    pub error_ns: u64,
    /// How long an exchange with it takes.
    pub round_trip_ns: u64,
}

impl ClientClock {
    /// An instant of the clock here, on the client's.
    #[must_use]
    pub fn there(&self, here: Nanos) -> Nanos {
        Nanos(here.0.saturating_add_signed(self.ahead_ns))
    }

    /// An instant of the client's clock, on the one here.
    #[must_use]
    pub fn here(&self, there: Nanos) -> Nanos {
        Nanos(there.0.saturating_add_signed(self.ahead_ns.saturating_neg()))
    }

    /// How far the clock has drifted since this comparison, by a later one.
    #[must_use]
    pub fn drift_to(&self, later: &Self) -> ClockDrift {
        ClockDrift {
            ns: later.ahead_ns.saturating_sub(self.ahead_ns),
            error_ns: self.error_ns.saturating_add(later.error_ns),
        }
    }
}

/// By how much a client's clock ran faster than the one here during a part of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockDrift {
    /// Nanoseconds; negative where it ran slower.
    pub ns: i64,
    /// That is wrong by this at most.
    pub error_ns: u64,
}

impl ClockDrift {
    /// The least drift that the two comparisons leave possible, nanoseconds.
    pub fn certain_ns(&self) -> u64 {
        self.ns.unsigned_abs().saturating_sub(self.error_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_converted_both_ways() {
        let clock = |ahead_ns| ClientClock { ahead_ns, ..ClientClock::default() };
        assert_eq!(clock(-50).there(Nanos(70)), Nanos(20));
        assert_eq!(clock(-50).here(Nanos(20)), Nanos(70));
        assert_eq!(clock(i64::MAX).here(clock(i64::MAX).there(Nanos(7))), Nanos(7));
    }

    #[test]
    fn what_the_comparisons_may_be_wrong_by_is_no_drift() {
        let clock = |ahead_ns, error_ns| ClientClock { ahead_ns, error_ns, ..ClientClock::default() };
        let drift = clock(1_000, 30).drift_to(&clock(900, 50));
        assert_eq!((drift, drift.certain_ns()), (ClockDrift { ns: -100, error_ns: 80 }, 20));
        assert_eq!(clock(1_000, 60).drift_to(&clock(900, 50)).certain_ns(), 0);
    }
}
