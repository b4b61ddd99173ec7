//! The limits of replies. The decoder enforces them.

use crate::line::LineLimit;

/// Most bytes of a line with its CRLF: the error of a script can be long.
pub const MAX_LINE_BYTES: usize = 64 * 1024;

/// Most bytes of a bulk string: twice the default of Redis (`proto-max-bulk-len`).
pub const MAX_BULK_BYTES: usize = 1 << 30;

/// Most elements of an aggregate; a decoder needs no memory for them.
pub const MAX_ELEMENTS: usize = 1 << 30;

/// Deepest nesting of aggregates.
pub const MAX_DEPTH: usize = 8;

/// [`MAX_LINE_BYTES`], for the buffer of lines.
pub(super) const LINE: LineLimit = LineLimit { bytes: MAX_LINE_BYTES, server: "a Redis server" };
