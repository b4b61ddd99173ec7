//! Failed operations, counted by kind.

use std::collections::BTreeMap;
use std::fmt;

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// How an operation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// No process listens (ECONNREFUSED).
    Refused,
    /// The peer reset the connection (ECONNRESET, EPIPE).
    Reset,
    /// The peer closed before the reply was complete.
    Closed,
    /// No complete reply within the timeout.
    Timeout,
    /// Bytes that the protocol does not allow.
    Protocol,
    /// A complete reply, but not the expected one.
    UnexpectedReply,
    /// The TLS handshake or a TLS record failed.
    Tls,
    /// This process may open no more descriptors (EMFILE, ENFILE).
    NoDescriptors,
    /// No local port is left towards the address (EADDRNOTAVAIL).
    NoPorts,
    /// No route (EHOSTUNREACH, ENETUNREACH).
    Unreachable,
    /// Due, but no connection became free within the timeout, or the run ended first.
    Unsent,
    /// A failure that a runner counted; a runner times its own operations.
    Reported,
    /// Any other error of the system.
    Io,
}

impl ErrorKind {
    /// All kinds.
    pub const ALL: [Self; 13] = [
        Self::Refused,
        Self::Reset,
        Self::Closed,
        Self::Timeout,
        Self::Protocol,
        Self::UnexpectedReply,
        Self::Tls,
        Self::NoDescriptors,
        Self::NoPorts,
        Self::Unreachable,
        Self::Unsent,
        Self::Reported,
        Self::Io,
    ];

    /// Whether a reply of the server was the failure.
    pub(crate) const fn is_reply(self) -> bool {
        matches!(self, Self::UnexpectedReply | Self::Protocol | Self::Reported)
    }

    /// The name in JSON: `unexpected_reply`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Reset => "reset",
            Self::Closed => "closed",
            Self::Timeout => "timeout",
            Self::Protocol => "protocol",
            Self::UnexpectedReply => "unexpected_reply",
            Self::Tls => "tls",
            Self::NoDescriptors => "no_descriptors",
            Self::NoPorts => "no_ports",
            Self::Unreachable => "unreachable",
            Self::Unsent => "unsent",
            Self::Reported => "reported",
            Self::Io => "io",
        }
    }
}

impl From<Errno> for ErrorKind {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::CONNREFUSED => Self::Refused,
            Errno::CONNRESET | Errno::PIPE | Errno::CONNABORTED => Self::Reset,
            Errno::TIMEDOUT => Self::Timeout,
            Errno::MFILE | Errno::NFILE => Self::NoDescriptors,
            Errno::ADDRNOTAVAIL | Errno::ADDRINUSE => Self::NoPorts,
            Errno::HOSTUNREACH | Errno::NETUNREACH => Self::Unreachable,
            _ => Self::Io,
        }
    }
}

impl fmt::Display for ErrorKind {
    /// For people: `unexpected reply`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name().replace('_', " "))
    }
}

/// Failed operations by kind, with the first example of each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Errors {
    /// Number of failures of each kind.
    pub counts: BTreeMap<ErrorKind, u64>,
    /// The first failure of each kind in a line.
    pub examples: BTreeMap<ErrorKind, String>,
}

impl Errors {
    /// Counts `count` failures of a kind, and keeps `example` if it is the first. A count of 0 changes nothing.
    pub fn add(&mut self, kind: ErrorKind, count: u64, example: &str) {
        if count == 0 {
            return;
        }
        *self.counts.entry(kind).or_default() += count;
        if !example.is_empty() && !self.examples.contains_key(&kind) {
            self.examples.insert(kind, example.to_owned());
        }
    }

    /// Failures of a kind.
    pub fn count(&self, kind: ErrorKind) -> u64 {
        self.counts.get(&kind).copied().unwrap_or(0)
    }

    /// The first failure in a line, or that there was no reply.
    pub fn example(&self) -> String {
        let first = self.examples.values().next().cloned();
        first.unwrap_or_else(|| "there is no reply".to_owned())
    }

    /// All failures.
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    /// Failures without a reply: whether the server has carried out the operation is not known.
    pub fn unanswered(&self) -> u64 {
        self.counts.iter().filter(|(kind, _)| !kind.is_reply()).map(|(_, count)| count).sum()
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (&kind, &count) in &other.counts {
            self.add(kind, count, other.examples.get(&kind).map_or("", String::as_str));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_kind_has_the_same_name_in_json_and_in_the_program() {
        for kind in ErrorKind::ALL {
            assert_eq!(serde_json::to_value(kind).expect("plain data"), kind.name());
        }
        assert_eq!(ErrorKind::NoPorts.to_string(), "no ports");
    }

    #[test]
    fn a_reply_that_was_not_expected_is_an_answer() {
        let mut errors = Errors::default();
        errors.add(ErrorKind::Closed, 3, "");
        errors.add(ErrorKind::UnexpectedReply, 2, "");
        assert_eq!((errors.unanswered(), errors.total()), (3, 5));
    }
}
