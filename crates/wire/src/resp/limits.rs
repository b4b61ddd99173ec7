//! How much of a reply is taken before it is refused; leaves the refusing to the decoder.

use crate::line::LineLimit;

/// A line of a reply may have this many bytes with its CRLF: an error of a script can be long.
pub const MAX_LINE_BYTES: usize = 64 * 1024;

/// A bulk string may have this many bytes; twice what Redis allows by default (`proto-max-bulk-len`).
pub const MAX_BULK_BYTES: usize = 1 << 30;

/// An aggregate may have this many elements, for which a decoder needs no memory.
pub const MAX_ELEMENTS: usize = 1 << 30;

/// So many aggregates may stand within one another.
pub const MAX_DEPTH: usize = 8;

/// [`MAX_LINE_BYTES`], for the buffer of lines.
pub(super) const LINE: LineLimit = LineLimit { bytes: MAX_LINE_BYTES, server: "a Redis server" };
