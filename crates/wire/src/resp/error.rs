//! The errors of replies. An error that the server reports (`-ERR …`) is no violation but an
//! [`Event::Error`](super::Event::Error).

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
    /// The text after the type does not fit it, such as a malformed number or a boolean other than `t` and `f`.
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
    /// Aggregates are nested more than [`MAX_DEPTH`] deep.
    #[error("aggregates are nested more than {MAX_DEPTH} deep")]
    TooDeep,
    /// A push within a reply: pushes may only come between replies.
    #[error("a push came within a reply")]
    MisplacedPush,
}
