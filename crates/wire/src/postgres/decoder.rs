//! Decodes the replies of one connection into events: keeps the position between messages. `message` parses them.

use super::MAX_MESSAGE_BYTES;
use super::error::{DecodeError, Violation};
use super::message::{self, Event, Expect};
use crate::frame::{FrameBuffer, Header};

/// Decodes the replies of one connection.
///
/// Call [`expect`](Self::expect) for each request, then [`decode`](Self::decode) until an event
/// [`is_final`](Event::is_final), and again with more bytes after each `None`.
///
/// It has 40 bytes. It allocates only when a message is split over reads, at most [`MAX_MESSAGE_BYTES`], and
/// keeps little of that for the next one.
#[derive(Debug, Default)]
pub struct ReplyDecoder {
    /// None while no reply is expected.
    expected: Option<Expect>,
    /// Whether a byte of the reply has come.
    begun: bool,
    frames: FrameBuffer,
}

/// A byte with the type, and the length without that byte.
struct Tagged;

impl Header for Tagged {
    const BYTES: usize = 5;
    type Error = Violation;

    #[inline]
    fn frame_bytes(header: &[u8]) -> Result<usize, Violation> {
        let length = header.last_chunk().map_or(0, |length| u32::from_be_bytes(*length) as usize);
        match length {
            0..4 => Err(Violation::MalformedLength),
            4..MAX_MESSAGE_BYTES => Ok(1 + length),
            _ => Err(Violation::MessageTooLarge),
        }
    }
}

impl ReplyDecoder {
    /// A decoder for a new connection, which expects no reply yet.
    pub const fn new() -> Self {
        Self { expected: None, begun: false, frames: FrameBuffer::new() }
    }

    /// Prepares for the reply to the next request.
    #[inline]
    pub fn expect(&mut self, expect: Expect) {
        self.expected = Some(expect);
        self.begun = false;
    }

    /// Takes bytes off the front of `input` and returns the next event. `None` means that `input` is used
    /// up and more is needed. After a final event, the rest of `input` belongs to the next reply.
    ///
    /// # Errors
    /// Any violation in the reply, and bytes while none is expected. Close the connection then.
    #[inline]
    pub fn decode<'a, 'i: 'a>(&'a mut self, input: &mut &'i [u8]) -> Result<Option<Event<'a>>, DecodeError> {
        if input.is_empty() {
            return Ok(None);
        }
        let Some(expected) = self.expected else { return Err(DecodeError::Unsolicited) };
        self.begun = true;
        let Some(frame) = self.frames.take::<Tagged>(input)? else { return Ok(None) };
        let event = message::parse(expected, frame[0], &frame[Tagged::BYTES..])?;
        if event.is_final() {
            self.expected = None;
        }
        Ok(Some(event))
    }

    /// The error where the server closes now: it ends no reply.
    pub fn eof(&self) -> DecodeError {
        DecodeError::closed(self.expected.is_some() && self.begun)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ReplyPart;

    fn read(expect: Expect, mut input: &[u8]) -> Result<usize, DecodeError> {
        let mut decoder = ReplyDecoder::new();
        decoder.expect(expect);
        let mut events = 0;
        loop {
            match decoder.decode(&mut input)? {
                Some(event) if event.is_final() => return Ok(events + 1),
                Some(_) => events += 1,
                None => return Err(decoder.eof()),
            }
        }
    }

    #[test]
    fn a_decoder_is_small() {
        assert!(size_of::<ReplyDecoder>() <= 40);
    }

    #[test]
    fn a_reply_ends_where_the_next_message_is_the_client_s() {
        let prepared = b"1\0\0\0\x042\0\0\0\x04C\0\0\0\x0bBEGIN\0Z\0\0\0\x05T";
        assert_eq!(read(Expect::Query, &prepared[..]), Err(Violation::MalformedMessage(b'C').into()));
        let prepared = b"1\0\0\0\x042\0\0\0\x04C\0\0\0\x0aBEGIN\0Z\0\0\0\x05T";
        assert_eq!(read(Expect::Query, prepared), Ok(4));
        assert_eq!(read(Expect::Query, b"G\0\0\0\x07\0\0\0"), Ok(1));
        assert_eq!(read(Expect::Login, b"R\0\0\0\x08\0\0\0\x03"), Ok(1));
        assert_eq!(read(Expect::Login, b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I"), Ok(2));
    }

    #[test]
    fn each_violation_has_its_own_error() {
        for (reply, error) in [
            (&b"HTTP/1.1 400 Bad Request\r\n"[..], Violation::MessageTooLarge.into()),
            (b"Z\0\0\0\x03", Violation::MalformedLength.into()),
            (b"Z\0\0\0\x05X", Violation::MalformedMessage(b'Z').into()),
            (b"", DecodeError::ClosedBeforeReply),
            (b"2\0\0\0\x04", DecodeError::ClosedWithin(ReplyPart::Reply)),
        ] {
            assert_eq!(read(Expect::Query, reply), Err(error), "{}", reply.escape_ascii());
        }
        let mut input: &[u8] = b"Z\0\0\0\x05I";
        assert_eq!(ReplyDecoder::new().decode(&mut input), Err(DecodeError::Unsolicited));
    }
}
