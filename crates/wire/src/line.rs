//! Lines that end in CRLF, cut off the front of whatever has arrived. A line that lies whole in the
//! input is handed on where it lies; one that is split over reads is put together here. What the lines
//! say is left to the codecs.

use memchr::memchr;

/// So much memory is kept from one split line for the next; few lines are longer.
const KEPT_BYTES: usize = 2048;

/// Puts together the lines of one connection.
#[derive(Debug, Default)]
pub(crate) struct LineBuffer {
    /// A split line: its front while `complete` is false, all of it after.
    bytes: Vec<u8>,
    /// The line in `bytes` has been handed out, and goes at the next call.
    complete: bool,
}

/// Why the bytes at the front of the input are not a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineFault {
    /// No line feed within the limit.
    TooLong,
    /// A line feed without a carriage return before it.
    BareLineFeed,
}

impl LineBuffer {
    pub const fn new() -> Self {
        Self { bytes: Vec::new(), complete: false }
    }

    /// Whether the front of a line is waiting for the rest.
    pub const fn is_partial(&self) -> bool {
        !self.complete && !self.bytes.is_empty()
    }

    /// Takes the next line off the front of `input`, with its CRLF. `None` means that `input` is used up
    /// and the line goes on. A line may have `limit` bytes; whether one is too long depends on its bytes
    /// alone, not on how they were split.
    #[inline]
    pub fn take<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
        limit: usize,
    ) -> Result<Option<&'a [u8]>, LineFault> {
        if self.bytes.is_empty()
            && let Some(at) = memchr(b'\n', &input[..input.len().min(limit)])
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
        limit: usize,
    ) -> Result<Option<&'a [u8]>, LineFault> {
        if self.complete {
            self.complete = false;
            self.bytes.clear();
            self.bytes.shrink_to(KEPT_BYTES);
            return self.take(input, limit);
        }
        let room = limit - self.bytes.len();
        let window = &input[..input.len().min(room)];
        let Some(at) = memchr(b'\n', window) else {
            if window.len() == room {
                return Err(LineFault::TooLong);
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

/// What stands on a line that [`LineBuffer::take`] gave.
pub(crate) fn content(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r\n").unwrap_or(line)
}

/// A line that ends in a line feed must end in CRLF.
#[inline]
fn check_end(line: &[u8]) -> Result<&[u8], LineFault> {
    if line.ends_with(b"\r\n") { Ok(line) } else { Err(LineFault::BareLineFeed) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds `pieces` one after another and collects the lines.
    fn lines(pieces: &[&[u8]]) -> Result<Vec<Vec<u8>>, LineFault> {
        let (mut buffer, mut lines) = (LineBuffer::new(), Vec::new());
        for mut piece in pieces.iter().copied() {
            while let Some(line) = buffer.take(&mut piece, 8)? {
                lines.push(line.to_vec());
            }
            assert!(piece.is_empty());
        }
        Ok(lines)
    }

    #[test]
    fn a_line_is_the_same_however_it_is_split() {
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
            assert_eq!(lines(split), Err(LineFault::TooLong));
        }
    }

    #[test]
    fn a_bare_line_feed_ends_no_line() {
        assert_eq!(lines(&[b"one\n"]), Err(LineFault::BareLineFeed));
        assert_eq!(lines(&[b"one", b"\n"]), Err(LineFault::BareLineFeed));
    }

    #[test]
    fn a_long_line_leaves_little_behind() {
        let mut buffer = LineBuffer::new();
        let mut take = |mut piece: &[u8]| {
            let length = buffer.take(&mut piece, 1 << 20).expect("not too long").map(<[u8]>::len);
            (length, buffer.bytes.capacity())
        };
        assert!(take(&[b'x'; 10_000]).1 >= 10_000);
        assert_eq!(take(b"\r\n").0, Some(10_002));
        let (length, kept) = take(b"the next");
        assert_eq!(length, None);
        assert!(kept <= KEPT_BYTES);
    }
}
