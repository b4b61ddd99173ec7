//! The limits of replies. The decoders enforce them.

/// Most bytes of a head, and of a trailer section.
pub const MAX_HEAD_BYTES: usize = 64 * 1024;

/// Most fields of a head.
pub const MAX_HEADERS: usize = 256;

/// Most bytes of the size line of one chunk with its extensions.
pub const MAX_CHUNK_LINE_BYTES: usize = 4096;
