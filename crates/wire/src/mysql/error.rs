//! What can be wrong with a reply. What a server answers in due form is no fault of the protocol but an
//! [`Event::Error`](super::Event::Error).

use super::limits::MAX_PACKET_BYTES;

/// Why the bytes of a server are not the expected reply.
pub type DecodeError = crate::DecodeError<Violation>;

/// A rule of MySQL's protocol that the server has broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// A packet is announced as larger than [`MAX_PACKET_BYTES`].
    #[error("a packet is announced as larger than {MAX_PACKET_BYTES} bytes: is this MySQL or MariaDB?")]
    PacketTooLarge,
    /// A packet does not have the number that follows on the one before.
    #[error("a packet of the server is out of order: is this MySQL or MariaDB?")]
    OutOfOrder,
    /// The first packet of a server is no greeting of protocol 10.
    #[error("the server does not greet as MySQL and MariaDB do (protocol 10)")]
    NoGreeting,
    /// The server lacks what this codec cannot do without.
    #[error("the server is too old: this needs MySQL 5.7, MariaDB 10.2 or later")]
    TooOld,
    /// What is in a packet does not fit its place.
    #[error("a packet of the server is malformed")]
    MalformedPacket,
    /// The server asks for a file of the client, which it does not get.
    #[error("the server asks for a file of this machine (LOAD DATA LOCAL), which it does not get")]
    LocalFile,
}
