//! How large packets may be; leaves the refusing to the decoder.

/// A packet of the server may have this many bytes, header included; rows of a load's tables have a few hundred.
pub const MAX_PACKET_BYTES: usize = 1 << 20;
