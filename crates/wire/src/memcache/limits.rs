//! How large keys, values and lines may be, in requests and replies alike; leaves the refusing to the
//! files that read and write them.

use crate::line::LineLimit;

/// A key may have this many bytes.
pub const MAX_KEY_BYTES: usize = 250;

/// A value may have this many bytes: the most that memcached's `-I` allows.
pub const MAX_VALUE_BYTES: usize = 1 << 30;

/// A line of a reply may have this many bytes with its CRLF.
pub const MAX_LINE_BYTES: usize = 2048;

/// [`MAX_LINE_BYTES`], for the buffer of lines.
pub(super) const LINE: LineLimit = LineLimit { bytes: MAX_LINE_BYTES, server: "a memcached server" };
