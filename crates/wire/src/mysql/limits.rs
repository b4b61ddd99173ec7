//! The limit of packets. The decoder enforces it.

/// Most bytes of a packet of the server with its header. The rows of a load have a few hundred.
pub const MAX_PACKET_BYTES: usize = 1 << 20;
