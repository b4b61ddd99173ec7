//! What can be wrong with a reply ([`DecodeError`]) or a command ([`RequestError`]). What a server answers in due
//! form (`550 no such user`) is no fault of the protocol but a [`ReplyLine`](super::ReplyLine) with its code.

use super::limits::{MAX_LINE_BYTES, MAX_LINES, MAX_PATH_BYTES};
use crate::line::LineFault;

/// Why the bytes of a server are not an SMTP reply. The connection cannot be used further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Bytes arrived when no reply was expected.
    #[error("the server sent bytes that no command asked for")]
    Unsolicited,
    /// A line does not end within [`MAX_LINE_BYTES`].
    #[error("a line of the reply is longer than {MAX_LINE_BYTES} bytes: is this an SMTP server?")]
    LineTooLong,
    /// A line ends in a line feed alone.
    #[error("a line of the reply does not end in CRLF")]
    MalformedLine,
    /// A line does not begin with a code, 200 to 559, and a space or hyphen after it.
    #[error("a line of the reply does not begin with a code: is this an SMTP server?")]
    MalformedCode,
    /// A control character in the text.
    #[error("the text of the reply has the control character {0:#04x}")]
    ControlCharacter(u8),
    /// The lines of one reply have different codes (RFC 5321, 4.2.1).
    #[error("the code changes from {from} to {to} within a reply")]
    CodeChanges {
        /// That of the first line.
        from: u16,
        /// That of a later one.
        to: u16,
    },
    /// More than [`MAX_LINES`] lines.
    #[error("the reply is longer than {MAX_LINES} lines")]
    TooManyLines,
    /// Closed before the first byte of a reply.
    #[error("the server closed the connection before it replied")]
    ClosedBeforeReply,
    /// Closed within a reply.
    #[error("the server closed the connection within its reply")]
    ClosedInReply,
}

impl From<LineFault> for DecodeError {
    fn from(fault: LineFault) -> Self {
        match fault {
            LineFault::TooLong => Self::LineTooLong,
            LineFault::BareLineFeed => Self::MalformedLine,
        }
    }
}

/// Why a command is refused. Each names the bad part and the mend.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// What the client calls itself is no word.
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
