//! The errors of replies. An error that the server reports is no violation but an
//! [`Event::Error`](super::Event::Error).

use super::MAX_MESSAGE_BYTES;

/// Why the bytes of a server are not the expected reply.
pub type DecodeError = crate::DecodeError<Violation>;

/// A rule of PostgreSQL's protocol that the server has broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// A message of a type that cannot come here.
    #[error("the server sent an unexpected message of type {0:#04x}: is this PostgreSQL?")]
    UnexpectedMessage(u8),
    /// A length below four.
    #[error("a message of the server has an impossible length: is this PostgreSQL?")]
    MalformedLength,
    /// A message is announced as larger than [`MAX_MESSAGE_BYTES`].
    #[error("a message is announced as larger than {MAX_MESSAGE_BYTES} bytes")]
    MessageTooLarge,
    /// The contents of a message do not fit its type.
    #[error("a message of type {:?} is malformed", char::from(*.0))]
    MalformedMessage(u8),
    /// An authentication that is not supported, by its number in the protocol.
    #[error(
        "the server asks for authentication of kind {0}, which is not supported: set scram-sha-256 in pg_hba.conf"
    )]
    UnknownAuthentication(u32),
}
