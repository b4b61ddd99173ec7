//! The limits of replies and commands. The decoder and the renderer enforce them.

use crate::line::LineLimit;

/// Most bytes of a line of a reply with its end. RFC 5321, 4.5.3.1.5 has 512, and recommends to set no limit where
/// possible: servers explain their refusals in long lines.
pub const MAX_LINE_BYTES: usize = 2048;

/// Most lines of a reply: more than any server has extensions.
pub const MAX_LINES: u16 = 256;

/// Most bytes of a path with its angle brackets (RFC 5321, 4.5.3.1.3).
pub const MAX_PATH_BYTES: usize = 256;

/// [`MAX_LINE_BYTES`], for the buffer of lines.
pub(super) const LINE: LineLimit = LineLimit { bytes: MAX_LINE_BYTES, server: "an SMTP server" };
