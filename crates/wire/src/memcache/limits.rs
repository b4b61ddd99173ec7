//! The limits of keys, values and lines, in requests and replies. The decoder and the renderer enforce them.

use crate::line::LineLimit;

/// Most bytes of a key.
pub const MAX_KEY_BYTES: usize = 250;

/// Most bytes of a value: the maximum of memcached's `-I`.
pub const MAX_VALUE_BYTES: usize = 1 << 30;

/// Most bytes of a line of a reply with its CRLF.
pub const MAX_LINE_BYTES: usize = 2048;

/// [`MAX_LINE_BYTES`], for the buffer of lines.
pub(super) const LINE: LineLimit = LineLimit { bytes: MAX_LINE_BYTES, server: "a memcached server" };
