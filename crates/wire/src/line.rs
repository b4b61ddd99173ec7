//! Takes lines that end in CRLF off the front of the input. A line that is complete in the input is passed on without a
//! copy; one that is split over reads is joined in a buffer. The codecs parse the lines.

use memchr::memchr;

/// Memory kept from one split line for the next; few lines are longer.
const KEPT_BYTES: usize = 2048;

/// Joins the lines of one connection.
#[derive(Debug, Default)]
pub(crate) struct LineBuffer {
    /// A split line: its front while `complete` is false, then all of it.
    bytes: Vec<u8>,
    /// The line in `bytes` has been returned and is removed at the next call.
    complete: bool,
}

/// The longest line of a protocol.
#[derive(Debug, PartialEq, Eq)]
pub struct LineLimit {
    /// Its length with CRLF.
    pub bytes: usize,
    /// The kind of server that keeps to it.
    pub server: &'static str,
}

/// Why the bytes at the front of the input are not a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// No line feed within the limit.
    #[error("a line of the reply is longer than {} bytes: is this {}?", .0.bytes, .0.server)]
    TooLong(&'static LineLimit),
    /// A line feed without a carriage return before it.
    #[error("a line of the reply does not end in CRLF")]
    BareLineFeed,
}

impl LineBuffer {
    pub const fn new() -> Self {
        Self { bytes: Vec::new(), complete: false }
    }

    /// Whether the front of a line waits for the rest.
    pub const fn is_partial(&self) -> bool {
        !self.complete && !self.bytes.is_empty()
    }

    /// Takes the next line off the front of `input`, with its CRLF. `None` means that `input` is used up
    /// and the line goes on. Whether a line is too long depends on its bytes alone, not on how they were split.
    #[inline]
    pub fn take<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
        limit: &'static LineLimit,
    ) -> Result<Option<&'a [u8]>, LineError> {
        if self.bytes.is_empty()
            && let Some(at) = memchr(b'\n', &input[..input.len().min(limit.bytes)])
        {
            let (line, rest) = input.split_at(at + 1);
            *input = rest;
            return check_end(line).map(Some);
        }
        self.join(input, limit)
    }

    #[cold]
    fn join<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
        limit: &'static LineLimit,
    ) -> Result<Option<&'a [u8]>, LineError> {
        if self.complete {
            self.complete = false;
            self.bytes.clear();
            self.bytes.shrink_to(KEPT_BYTES);
            return self.take(input, limit);
        }
        let room = limit.bytes - self.bytes.len();
        let window = &input[..input.len().min(room)];
        let Some(at) = memchr(b'\n', window) else {
            if window.len() == room {
                return Err(LineError::TooLong(limit));
            }
            self.bytes.extend_from_slice(window);
            *input = &[];
            return Ok(None);
        };
        self.bytes.extend_from_slice(&window[..=at]);
        *input = &input[at + 1..];
        self.complete = true;
        check_end(&self.bytes).map(Some)
    }
}

/// A line of [`LineBuffer::take`] without its end.
pub(crate) fn content(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r\n").unwrap_or(line)
}

/// A line that ends in a line feed must end in CRLF.
#[inline]
fn check_end(line: &[u8]) -> Result<&[u8], LineError> {
    if line.ends_with(b"\r\n") { Ok(line) } else { Err(LineError::BareLineFeed) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: LineLimit = LineLimit { bytes: 8, server: "a test" };
    const LONG: LineLimit = LineLimit { bytes: 1 << 20, server: "a test" };

    /// Feeds `pieces` one after another and collects the lines.
    fn lines(pieces: &[&[u8]]) -> Result<Vec<Vec<u8>>, LineError> {
        let (mut buffer, mut lines) = (LineBuffer::new(), Vec::new());
        for mut piece in pieces.iter().copied() {
            while let Some(line) = buffer.take(&mut piece, &SHORT)? {
                lines.push(line.to_vec());
            }
            assert!(piece.is_empty());
        }
        Ok(lines)
    }

    #[test]
    fn the_split_of_a_line_does_not_matter() {
        let whole = b"one\r\n\r\nthree\r\n";
        let expected = Ok(vec![b"one\r\n".to_vec(), b"\r\n".to_vec(), b"three\r\n".to_vec()]);
        for at in 0..whole.len() {
            let (front, back) = whole.split_at(at);
            assert_eq!(lines(&[front, back]), expected, "split at {at}");
        }
        let bytes: Vec<_> = whole.chunks(1).collect();
        assert_eq!(lines(&bytes), expected);
    }

    #[test]
    fn the_limit_counts_the_line_end() {
        assert_eq!(lines(&[b"123456\r\n"]), Ok(vec![b"123456\r\n".to_vec()]));
        for split in [&[&b"1234567\r\n"[..]][..], &[b"123", b"4567\r\n"], &[b"12345678"]] {
            assert_eq!(lines(split), Err(LineError::TooLong(&SHORT)));
        }
    }

    #[test]
    fn a_bare_line_feed_ends_no_line() {
        assert_eq!(lines(&[b"one\n"]), Err(LineError::BareLineFeed));
        assert_eq!(lines(&[b"one", b"\n"]), Err(LineError::BareLineFeed));
    }

    #[test]
    fn little_memory_is_kept_after_a_long_line() {
        let mut buffer = LineBuffer::new();
        let mut take = |mut piece: &[u8]| {
            let length = buffer.take(&mut piece, &LONG).expect("not too long").map(<[u8]>::len);
            (length, buffer.bytes.capacity())
        };
        assert!(take(&[b'x'; 10_000]).1 >= 10_000);
        assert_eq!(take(b"\r\n").0, Some(10_002));
        let (length, kept) = take(b"the next");
        assert_eq!(length, None);
        assert!(kept <= KEPT_BYTES);
    }
}
