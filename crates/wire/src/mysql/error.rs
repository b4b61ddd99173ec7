//! The errors of replies. An error that the server reports is no violation but an
//! [`Event::Error`](super::Event::Error).

use super::MAX_PACKET_BYTES;

/// Why the bytes of a server are not the expected reply.
pub type DecodeError = crate::DecodeError<Violation>;

/// A rule of MySQL's protocol that the server has broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// A packet is announced as larger than [`MAX_PACKET_BYTES`].
    #[error("a packet is announced as larger than {MAX_PACKET_BYTES} bytes: is this MySQL or MariaDB?")]
    PacketTooLarge,
    /// The number of a packet does not follow that of the last one.
    #[error("a packet of the server is out of order: is this MySQL or MariaDB?")]
    OutOfOrder,
    /// The first packet is no greeting of protocol 10.
    #[error("the first packet of the server is no greeting of MySQL or MariaDB (protocol 10)")]
    NoGreeting,
    /// The server lacks a capability that this codec needs.
    #[error("the server is too old: use MySQL 5.7, MariaDB 10.2 or later")]
    TooOld,
    /// The contents of a packet do not fit its place.
    #[error("a packet of the server is malformed")]
    MalformedPacket,
    /// The server asks for a file of the client, which is refused.
    #[error("the server asks for a file of this machine (LOAD DATA LOCAL), which is refused")]
    LocalFile,
}
