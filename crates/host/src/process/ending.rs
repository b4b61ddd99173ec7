//! How a process ended.

use std::fmt;

use rustix::process::WaitStatus;
use serde::{Deserialize, Serialize};

/// How a process ended, as wait(2) tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// It exited with this status.
    Code(i32),
    /// This signal killed it.
    Signal(i32),
    /// It is gone, and nobody could ask how.
    Unknown,
}

impl From<WaitStatus> for Ending {
    fn from(status: WaitStatus) -> Self {
        match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Self::Code(code),
            (None, Some(signal)) => Self::Signal(signal),
            (None, None) => Self::Unknown,
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exited with status {code}"),
            Self::Signal(signal) => match signal_hook::low_level::signal_name(*signal) {
                Some(name) => write!(f, "was killed by {name}"),
                None => write!(f, "was killed by signal {signal}"),
            },
            Self::Unknown => write!(f, "ended"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_as_the_middle_of_a_sentence() {
        assert_eq!(Ending::Code(1).to_string(), "exited with status 1");
        assert_eq!(Ending::Signal(11).to_string(), "was killed by SIGSEGV");
        assert_eq!(Ending::Signal(64).to_string(), "was killed by signal 64");
    }
}
