//! What can be wrong with a reply. What a server answers in due form (`-ERR …`) is no fault of the
//! protocol but an [`Event::Error`](super::Event::Error).

use super::limits::{MAX_BULK_BYTES, MAX_DEPTH, MAX_ELEMENTS};
use crate::line::LineError;

/// Why the bytes of a server are not the expected reply.
pub type DecodeError = crate::DecodeError<Violation>;

/// A rule of RESP that the server has broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// A value begins with a byte that names no type.
    #[error("the reply has the byte {0:#04x} where a type should be: is this a Redis server?")]
    UnknownType(u8),
    /// A line is too long, or does not end in CRLF.
    #[error(transparent)]
    Line(#[from] LineError),
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
}
