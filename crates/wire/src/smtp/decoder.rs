//! Decodes the replies of one connection, a line at a time: counts the replies that are due and checks that the lines of
//! one belong together. `reply` parses a line.

use super::error::{DecodeError, Violation};
use super::limits::{LINE, MAX_LINES};
use super::reply::{self, Event};
use crate::line::LineBuffer;

/// Decodes the replies of one connection.
///
/// Call [`expect`](Self::expect) for the greeting and for each command, also if several are sent together. Then call
/// [`decode`](Self::decode) until it has returned as many [`Event::End`], and again with more bytes after each
/// `None`.
///
/// It has 40 bytes. It allocates only when a line is split over reads, at most [`MAX_LINE_BYTES`](super::MAX_LINE_BYTES), and keeps
/// that for the next one.
#[derive(Debug, Default)]
pub struct ReplyDecoder {
    /// Replies that have not ended.
    due: u16,
    /// The code of the reply in progress; 0 before its first line.
    code: u16,
    /// Lines of that reply so far.
    lines: u16,
    buffer: LineBuffer,
}

impl ReplyDecoder {
    /// A decoder for a new connection, which expects no reply yet.
    pub const fn new() -> Self {
        Self { due: 0, code: 0, lines: 0, buffer: LineBuffer::new() }
    }

    /// Prepares for one more reply.
    #[inline]
    pub fn expect(&mut self) {
        self.due = self.due.saturating_add(1);
    }

    /// Replies that were expected and have not ended.
    #[inline]
    pub fn due(&self) -> u16 {
        self.due
    }

    /// Takes a line off the front of `input`. `None` means that `input` is used up and more is needed. After
    /// [`Event::End`], the rest of `input` belongs to the next reply.
    ///
    /// # Errors
    /// Any violation in the reply, and bytes while none is expected. Close the connection then.
    #[inline]
    pub fn decode<'a, 'i: 'a>(&'a mut self, input: &mut &'i [u8]) -> Result<Option<Event<'a>>, DecodeError> {
        if input.is_empty() {
            return Ok(None);
        }
        if self.due == 0 {
            return Err(DecodeError::Unsolicited);
        }
        let Some(line) = self.buffer.take(input, &LINE).map_err(DecodeError::of_line)? else {
            return Ok(None);
        };
        let event = reply::parse(line)?;
        let (Event::Line(line) | Event::End(line)) = event;
        if self.code != 0 && self.code != line.code {
            return Err(Violation::CodeChanges { from: self.code, to: line.code }.into());
        }
        if let Event::End(_) = event {
            (self.code, self.lines) = (0, 0);
            self.due -= 1;
        } else {
            if self.lines + 1 >= MAX_LINES {
                return Err(Violation::TooManyLines.into());
            }
            (self.code, self.lines) = (line.code, self.lines + 1);
        }
        Ok(Some(event))
    }

    /// The error where the server closes now: it ends no reply.
    pub fn eof(&self) -> DecodeError {
        DecodeError::closed(self.code != 0 || self.buffer.is_partial())
    }
}

#[cfg(test)]
mod tests {
    use super::super::limits::MAX_LINE_BYTES;
    use super::*;
    use crate::error::ReplyPart;
    use crate::line::LineError;

    /// Decodes all replies that are due and returns their lines as text, the last of each with a full stop.
    fn read(due: u16, mut input: &[u8]) -> Result<Vec<String>, DecodeError> {
        let mut decoder = ReplyDecoder::new();
        (0..due).for_each(|_| decoder.expect());
        let mut lines = Vec::new();
        while decoder.due() > 0 {
            match decoder.decode(&mut input)? {
                Some(Event::Line(line)) => lines.push(format!("{} {}", line.code, line.text.escape_ascii())),
                Some(Event::End(line)) => lines.push(format!("{} {}.", line.code, line.text.escape_ascii())),
                None => return Err(decoder.eof()),
            }
        }
        decoder.decode(&mut input)?;
        Ok(lines)
    }

    #[test]
    fn a_decoder_is_small() {
        assert!(size_of::<ReplyDecoder>() <= 40);
    }

    /// As sent by Postfix 3.7.
    #[test]
    fn replies_have_one_line_or_many() {
        assert_eq!(
            read(1, b"220 mx.example ESMTP Postfix\r\n"),
            Ok(vec!["220 mx.example ESMTP Postfix.".into()])
        );
        let ehlo = b"250-mx.example\r\n250-PIPELINING\r\n250 CHUNKING\r\n";
        assert_eq!(
            read(1, ehlo),
            Ok(vec!["250 mx.example".into(), "250 PIPELINING".into(), "250 CHUNKING.".into()])
        );
    }

    #[test]
    fn replies_to_pipelined_commands_come_one_after_the_other() {
        let replies = b"250 2.1.0 Ok\r\n250-2.1.5 Ok\r\n250 really\r\n354\r\n";
        let lines = ["250 2.1.0 Ok.", "250 2.1.5 Ok", "250 really.", "354 ."].map(String::from);
        assert_eq!(read(3, replies), Ok(lines.to_vec()));
        assert_eq!(read(2, replies), Err(DecodeError::Unsolicited));
        assert_eq!(read(4, replies), Err(DecodeError::ClosedBeforeReply));
    }

    #[test]
    fn each_violation_has_its_own_error() {
        let endless = b"250-x\r\n".repeat(usize::from(MAX_LINES));
        for (reply, error) in [
            (&b"HTTP/1.1 400 Bad Request\r\n"[..], Violation::MalformedCode.into()),
            (b"250 Ok\n", Violation::Line(LineError::BareLineFeed).into()),
            (b"250-a\r\n550 b\r\n", Violation::CodeChanges { from: 250, to: 550 }.into()),
            (b"250 \x1b[2J\r\n", Violation::ControlCharacter(0x1b).into()),
            (b"250 a\rb\r\n", Violation::ControlCharacter(b'\r').into()),
            (&endless, Violation::TooManyLines.into()),
            (&[b'2'; MAX_LINE_BYTES], Violation::Line(LineError::TooLong(&LINE)).into()),
            (b"", DecodeError::ClosedBeforeReply),
            (b"25", DecodeError::ClosedWithin(ReplyPart::Reply)),
            (b"250-a\r\n", DecodeError::ClosedWithin(ReplyPart::Reply)),
        ] {
            assert_eq!(read(1, reply), Err(error), "{}", reply.escape_ascii());
        }
    }
}
