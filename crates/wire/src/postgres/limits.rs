//! How large messages may be; leaves the refusing to the decoder.

/// A message of the server may have this many bytes, header included; rows of a load's tables have a few hundred.
pub const MAX_MESSAGE_BYTES: usize = 1 << 20;
