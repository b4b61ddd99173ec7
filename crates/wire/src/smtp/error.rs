//! The errors of replies ([`DecodeError`]) and of commands ([`RequestError`]). A refusal (`550 no such user`) is no
//! violation but a [`ReplyLine`](super::ReplyLine) with its code.

use super::limits::{MAX_LINES, MAX_PATH_BYTES};
use crate::line::LineError;

/// Why the bytes of a server are not the expected reply.
pub type DecodeError = crate::DecodeError<Violation>;

/// A rule of SMTP that the server has broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// A line is too long, or does not end in CRLF.
    #[error(transparent)]
    Line(#[from] LineError),
    /// A line does not begin with a code, 200 to 559, and a space or hyphen after it.
    #[error("a line of the reply does not begin with a code: is this an SMTP server?")]
    MalformedCode,
    /// A control character in the text.
    #[error("the text of the reply has the control character {0:#04x}")]
    ControlCharacter(u8),
    /// The lines of one reply have different codes (RFC 5321, 4.2.1).
    #[error("the code changes from {from} to {to} within a reply")]
    CodeChanges {
        /// The code of the first line.
        from: u16,
        /// The code of a later line.
        to: u16,
    },
    /// More than [`MAX_LINES`] lines.
    #[error("the reply is longer than {MAX_LINES} lines")]
    TooManyLines,
}

/// Why a command is refused. Each names the bad part and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// The client's name is no word.
    #[error("{0:?} is neither a host name nor an address in brackets, as in mx.example or [127.0.0.1]")]
    Domain(String),
    /// An address that would break its command.
    #[error(
        "{0:?} is no mail address: write it as name@mx.example, in printable ASCII without <, > and spaces"
    )]
    Address(String),
    /// An address longer than [`MAX_PATH_BYTES`] with its brackets.
    #[error("the mail address has {bytes} bytes: shorten it to {}", MAX_PATH_BYTES - 2)]
    AddressTooLong {
        /// Its length.
        bytes: usize,
    },
    /// A line of a message that does not end in CRLF (RFC 5321, 2.3.8), so that it could end the message early.
    #[error("the message has a bare CR or LF at {at}: end its lines in CRLF")]
    LineEnd {
        /// Its position in bytes.
        at: usize,
    },
}
