//! How a process exited.

use std::fmt;

use rustix::process::WaitStatus;
use serde::{Deserialize, Serialize};

/// How a process exited, from wait(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessExit {
    /// It exited with this status.
    Code(i32),
    /// This signal killed it.
    Signal(i32),
    /// It is gone, and its status is not known.
    Unknown,
}

impl From<WaitStatus> for ProcessExit {
    fn from(status: WaitStatus) -> Self {
        match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Self::Code(code),
            (None, Some(signal)) => Self::Signal(signal),
            (None, None) => Self::Unknown,
        }
    }
}

impl fmt::Display for ProcessExit {
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
    fn the_text_fits_into_a_sentence() {
        assert_eq!(ProcessExit::Code(1).to_string(), "exited with status 1");
        assert_eq!(ProcessExit::Signal(11).to_string(), "was killed by SIGSEGV");
        assert_eq!(ProcessExit::Signal(64).to_string(), "was killed by signal 64");
    }
}
