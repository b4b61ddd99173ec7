//! What can be wrong with a reply. What a server answers in due form (`-ERR …`) is no fault of the
//! protocol but an [`Event::Error`](super::Event::Error).

use super::limits::{MAX_BULK_BYTES, MAX_DEPTH, MAX_ELEMENTS, MAX_LINE_BYTES};
use crate::line::LineFault;

/// Why the bytes of a server are not a RESP reply. The connection cannot be used further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Bytes other than a push arrived when no reply was expected.
    #[error("the server sent bytes that no request asked for")]
    Unsolicited,
    /// A value begins with a byte that names no type.
    #[error("the reply has the byte {0:#04x} where a type should be: is this a Redis server?")]
    UnknownType(u8),
    /// A line does not end within [`MAX_LINE_BYTES`].
    #[error("a line of the reply is longer than {MAX_LINE_BYTES} bytes")]
    LineTooLong,
    /// A line ends in a line feed alone.
    #[error("a line of the reply does not end in CRLF")]
    MalformedLine,
    /// What follows the type is not of that type: a number that is none, a boolean but `t` and `f`.
    #[error("a value of the reply is malformed")]
    MalformedValue,
    /// A bulk string is announced as larger than [`MAX_BULK_BYTES`].
    #[error("a bulk string is announced as larger than {MAX_BULK_BYTES} bytes")]
    BulkTooLarge,
    /// The data of a bulk string is not followed by CRLF: it is longer or shorter than announced.
    #[error("a bulk string does not end where its length says")]
    MalformedBulkEnd,
    /// An aggregate is announced as larger than [`MAX_ELEMENTS`].
    #[error("an aggregate is announced as larger than {MAX_ELEMENTS} elements")]
    AggregateTooLarge,
    /// More than [`MAX_DEPTH`] aggregates within one another.
    #[error("more than {MAX_DEPTH} aggregates within one another")]
    TooDeep,
    /// A push within a reply: it may only come between replies.
    #[error("a push stands within a reply")]
    MisplacedPush,
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
