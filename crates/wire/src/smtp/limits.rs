//! How long the parts of a dialogue may be. Enforced where they are read and written.

use crate::line::LineLimit;

/// Most bytes of a line of a reply, its end included. RFC 5321, 4.5.3.1.5 says 512 and asks for no limit where that
/// can be had: servers explain their refusals at length.
pub const MAX_LINE_BYTES: usize = 2048;

/// Most lines of a reply: more than any server has extensions.
pub const MAX_LINES: u16 = 256;

/// Most bytes of a path, its angle brackets included (RFC 5321, 4.5.3.1.3).
pub const MAX_PATH_BYTES: usize = 256;

/// [`MAX_LINE_BYTES`], for the buffer of lines.
pub(super) const LINE: LineLimit = LineLimit { bytes: MAX_LINE_BYTES, server: "an SMTP server" };
