//! How much of a reply is taken before it is refused; leaves the refusing to the decoders.

/// A head longer than this is refused, however it arrives; so is a longer trailer section.
pub const MAX_HEAD_BYTES: usize = 64 * 1024;

/// A head with more fields than this is refused.
pub const MAX_HEADERS: usize = 256;

/// The size line of one chunk, with its extensions, may be this long.
pub const MAX_CHUNK_LINE_BYTES: usize = 4096;
