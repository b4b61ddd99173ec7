//! What can be wrong with a reply. What a server answers in due form is no fault of the protocol but an
//! [`Event::Error`](super::Event::Error).

use super::limits::MAX_MESSAGE_BYTES;

/// Why the bytes of a server are not the expected reply.
pub type DecodeError = crate::DecodeError<Violation>;

/// A rule of PostgreSQL's protocol that the server has broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// A message of a type that cannot come here.
    #[error("the server sent a message of type {0:#04x} where none can be: is this PostgreSQL?")]
    UnexpectedMessage(u8),
    /// A length below four.
    #[error("a message of the server has an impossible length: is this PostgreSQL?")]
    MalformedLength,
    /// A message is announced as larger than [`MAX_MESSAGE_BYTES`].
    #[error("a message is announced as larger than {MAX_MESSAGE_BYTES} bytes")]
    MessageTooLarge,
    /// What is in a message of this type does not fit it.
    #[error("a message of type {:?} is malformed", char::from(*.0))]
    MalformedMessage(u8),
    /// A way to log in that is not spoken here, by its number in the protocol.
    #[error("the server asks for authentication of kind {0}: let it ask for scram-sha-256 (pg_hba.conf)")]
    UnknownAuthentication(u32),
}
