//! The limit of messages. The decoder enforces it.

/// Most bytes of a message of the server with its header. The rows of a load have a few hundred.
pub const MAX_MESSAGE_BYTES: usize = 1 << 20;
