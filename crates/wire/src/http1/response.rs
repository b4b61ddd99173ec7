//! Decodes the replies of one connection into events: decides what follows a head and keeps the position in the body.
//! `head` parses heads, `chunked` decodes chunks, `cache` keeps the last head.

use super::cache::HeadCache;
use super::chunked::{Chunk, Chunked};
use super::error::{DecodeError, Violation};
use super::head::{self, Framing, Head, Meaning};
use super::limits::MAX_HEAD_BYTES;
use crate::error::ReplyPart;

/// An event of the decoder: a reply has one head, any number of pieces of its body, and one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// The head of the final reply; interim ones (1xx) are skipped.
    Head(Head),
    /// The next piece of the body, never empty, without its transfer coding.
    Body(&'a [u8]),
    /// The reply is complete.
    End {
        /// Whether the connection may carry another request.
        keep_alive: bool,
    },
}

/// Decodes the replies of one connection.
///
/// Call [`expect`](Self::expect) for each request, then [`decode`](Self::decode) until it returns
/// [`Event::End`], and again with more bytes after each `None`.
///
/// It has 56 bytes. It allocates only for a head that is split over reads, at most
/// [`MAX_HEAD_BYTES`](super::MAX_HEAD_BYTES), until that head is complete.
#[derive(Debug, Default)]
pub struct ResponseDecoder {
    state: ResponseState,
    head_request: bool,
    keep_alive: bool,
    /// The front of a head whose end has not arrived; empty if no head is split.
    split_head: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default)]
enum ResponseState {
    /// No reply is expected.
    #[default]
    Idle,
    Head,
    Length(u64),
    Chunked(Chunked),
    UntilClose,
    /// Only the final event is left.
    Complete,
}

impl ResponseDecoder {
    /// A decoder for a new connection, which expects no reply yet.
    pub const fn new() -> Self {
        Self { state: ResponseState::Idle, head_request: false, keep_alive: false, split_head: Vec::new() }
    }

    /// Prepares for the reply to the next request. `head_request` says whether its method is HEAD:
    /// its reply then has no body, whatever the head announces.
    #[inline]
    pub fn expect(&mut self, head_request: bool) {
        self.state = ResponseState::Head;
        self.head_request = head_request;
    }

    /// Takes bytes off the front of `input` and returns the next event. `None` means that `input` is used
    /// up and more is needed. After [`Event::End`], the rest of `input` belongs to the next reply.
    ///
    /// The final event needs no bytes: call until it comes, also when `input` is empty.
    ///
    /// # Errors
    /// Any violation in the reply, and bytes while none is expected. Close the connection then.
    #[inline]
    pub fn decode<'a>(
        &mut self,
        cache: &mut HeadCache,
        input: &mut &'a [u8],
    ) -> Result<Option<Event<'a>>, DecodeError> {
        match &mut self.state {
            ResponseState::Complete => Ok(Some(self.end())),
            _ if input.is_empty() => Ok(None),
            ResponseState::Head => {
                if self.split_head.is_empty()
                    && let Some((meaning, length)) = cache.lookup(input)
                {
                    *input = &input[length..];
                    return self.begin(meaning, length).map(Some);
                }
                self.decode_head(cache, input)
            }
            ResponseState::Length(left) => {
                let length = usize::try_from(*left).map_or(input.len(), |left| left.min(input.len()));
                let (body, rest) = input.split_at(length);
                *input = rest;
                *left -= length as u64;
                if *left == 0 {
                    self.state = ResponseState::Complete;
                }
                Ok(Some(Event::Body(body)))
            }
            ResponseState::Chunked(chunked) => match chunked.decode(input)? {
                Some(Chunk::Data(data)) => Ok(Some(Event::Body(data))),
                Some(Chunk::End) => Ok(Some(self.end())),
                None => Ok(None),
            },
            ResponseState::UntilClose => Ok(Some(Event::Body(std::mem::take(input)))),
            ResponseState::Idle => Err(DecodeError::Unsolicited),
        }
    }

    /// Bytes of the body that are left, as the head has announced; 0 if the head has no length or the body is chunked.
    #[inline]
    pub fn body_left(&self) -> u64 {
        if let ResponseState::Length(left) = self.state { left } else { 0 }
    }

    /// Skips bytes of the body that the caller has discarded: at most [`Self::body_left`], more are ignored.
    #[inline]
    pub fn skip(&mut self, bytes: u64) {
        if let ResponseState::Length(left) = &mut self.state {
            *left = left.saturating_sub(bytes);
            if *left == 0 {
                self.state = ResponseState::Complete;
            }
        }
    }

    /// Whether a reply is expected whose head is not complete.
    #[inline]
    pub fn is_in_head(&self) -> bool {
        matches!(self.state, ResponseState::Head)
    }

    /// The server has closed: ends a body that is delimited by the close; otherwise an error.
    pub fn eof(&mut self) -> Result<Event<'static>, DecodeError> {
        match self.state {
            ResponseState::UntilClose | ResponseState::Complete => Ok(self.end()),
            ResponseState::Idle => Err(DecodeError::ClosedBeforeReply),
            ResponseState::Head if self.split_head.is_empty() => Err(DecodeError::ClosedBeforeReply),
            ResponseState::Head => Err(DecodeError::ClosedWithin(ReplyPart::Head)),
            ResponseState::Length(_) | ResponseState::Chunked(_) => {
                Err(DecodeError::ClosedWithin(ReplyPart::Body))
            }
        }
    }

    /// Decodes a head that is not cached, not complete, or interim.
    #[inline(never)]
    fn decode_head<'a>(
        &mut self,
        cache: &mut HeadCache,
        input: &mut &'a [u8],
    ) -> Result<Option<Event<'a>>, DecodeError> {
        while !input.is_empty() {
            let (meaning, length) = if self.split_head.is_empty() {
                let Some((meaning, length)) = Meaning::parse_front(input)? else {
                    self.split_head.extend_from_slice(std::mem::take(input));
                    return Ok(None);
                };
                let (head, rest) = input.split_at(length);
                *input = rest;
                cache.remember(head, meaning);
                (meaning, length)
            } else {
                let Some(head) = self.join_head(input)? else { return Ok(None) };
                let (meaning, length) = Meaning::parse(&head)?;
                debug_assert_eq!(length, head.len(), "the parser finds the same end");
                cache.remember(&head, meaning);
                (meaning, length)
            };
            if meaning.status == 101 {
                return Err(Violation::UnexpectedUpgrade.into());
            }
            if !meaning.is_interim() {
                return self.begin(meaning, length).map(Some);
            }
        }
        Ok(None)
    }

    /// Appends the front of `input` to the split head, and returns the head once it is complete.
    fn join_head(&mut self, input: &mut &[u8]) -> Result<Option<Vec<u8>>, DecodeError> {
        let before = self.split_head.len();
        let room = MAX_HEAD_BYTES - before;
        self.split_head.extend_from_slice(&input[..input.len().min(room)]);
        let Some(end) = head::find_end(&self.split_head, before)? else {
            // All of the input fitted: a head over the limit is an error of the search.
            *input = &[];
            return Ok(None);
        };
        *input = &input[end - before..];
        let mut head = std::mem::take(&mut self.split_head);
        head.truncate(end);
        Ok(Some(head))
    }

    /// Begins the body that a head announces.
    #[inline]
    fn begin(&mut self, meaning: Meaning, head_bytes: usize) -> Result<Event<'static>, DecodeError> {
        let framing = if self.head_request { Framing::None } else { meaning.framing? };
        self.keep_alive = meaning.persistent && framing != Framing::UntilClose;
        self.state = match framing {
            Framing::None | Framing::Length(0) => ResponseState::Complete,
            Framing::Length(length) => ResponseState::Length(length),
            Framing::Chunked => ResponseState::Chunked(Chunked::new()),
            Framing::UntilClose => ResponseState::UntilClose,
        };
        Ok(Event::Head(Head {
            status: meaning.status,
            keep_alive: self.keep_alive,
            framing,
            head_bytes: head_bytes as u32,
        }))
    }

    #[inline]
    fn end(&mut self) -> Event<'static> {
        self.state = ResponseState::Idle;
        Event::End { keep_alive: self.keep_alive }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Head, body, whether the connection stays open, and the rest of the input.
    type Reply<'a> = (Head, Vec<u8>, bool, &'a [u8]);

    /// Decodes one reply to GET.
    fn read(bytes: &[u8]) -> Result<Reply<'_>, DecodeError> {
        let (mut decoder, mut cache) = (ResponseDecoder::new(), HeadCache::new());
        decoder.expect(false);
        read_on(&mut decoder, &mut cache, bytes)
    }

    fn read_on<'a>(
        decoder: &mut ResponseDecoder,
        cache: &mut HeadCache,
        mut input: &'a [u8],
    ) -> Result<Reply<'a>, DecodeError> {
        let (mut head, mut body) = (None, Vec::new());
        loop {
            let event = match decoder.decode(cache, &mut input)? {
                Some(event) => event,
                None => decoder.eof()?,
            };
            match event {
                Event::Head(found) => head = Some(found),
                Event::Body(data) => body.extend_from_slice(data),
                Event::End { keep_alive } => {
                    return Ok((head.expect("a head comes first"), body, keep_alive, input));
                }
            }
        }
    }

    #[test]
    fn a_decoder_is_small() {
        assert!(size_of::<ResponseDecoder>() <= 56);
    }

    #[test]
    fn a_body_of_a_given_length_is_decoded() {
        let reply = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        let (head, body, keep_alive, left) = read(reply).expect("valid");
        let framing = Framing::Length(5);
        assert_eq!(head, Head { status: 200, keep_alive: true, framing, head_bytes: reply.len() as u32 - 5 });
        assert_eq!((&body[..], keep_alive, left), (&b"hello"[..], true, &b""[..]));
    }

    #[test]
    fn a_body_can_be_skipped_up_to_its_end() {
        let (mut decoder, mut cache) = (ResponseDecoder::new(), HeadCache::new());
        decoder.expect(false);
        assert!(decoder.is_in_head() && decoder.body_left() == 0);
        let mut input: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhel";
        assert!(matches!(decoder.decode(&mut cache, &mut input), Ok(Some(Event::Head(_)))));
        assert_eq!(decoder.decode(&mut cache, &mut input), Ok(Some(Event::Body(b"hel"))));
        assert_eq!(decoder.body_left(), 6);
        decoder.skip(2);
        assert_eq!((decoder.body_left(), decoder.decode(&mut cache, &mut input)), (4, Ok(None)));
        decoder.skip(99);
        assert_eq!(decoder.decode(&mut cache, &mut input), Ok(Some(Event::End { keep_alive: true })));
        assert_eq!(decoder.body_left(), 0);
    }

    #[test]
    fn several_replies_in_one_buffer_are_decoded() {
        let (mut decoder, mut cache) = (ResponseDecoder::new(), HeadCache::new());
        let mut input: &[u8] = &b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi".repeat(3);
        for _ in 0..3 {
            decoder.expect(false);
            let (head, body, _, left) = read_on(&mut decoder, &mut cache, input).expect("valid");
            assert_eq!((head.status, &body[..]), (200, &b"hi"[..]));
            input = left;
        }
        assert!(input.is_empty());
    }

    #[test]
    fn a_body_longer_than_announced_is_unsolicited() {
        let (mut decoder, mut cache) = (ResponseDecoder::new(), HeadCache::new());
        decoder.expect(false);
        let reply = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi!";
        let (_, _, _, mut left) = read_on(&mut decoder, &mut cache, reply).expect("valid so far");
        assert_eq!(decoder.decode(&mut cache, &mut left), Err(DecodeError::Unsolicited));
    }

    #[test]
    fn the_reply_to_head_has_no_body() {
        let (mut decoder, mut cache) = (ResponseDecoder::new(), HeadCache::new());
        let reply = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
        for (head_request, framing) in
            [(true, Framing::None), (false, Framing::Length(5)), (true, Framing::None)]
        {
            decoder.expect(head_request);
            let event = decoder.decode(&mut cache, &mut &reply[..]).expect("valid");
            assert!(matches!(event, Some(Event::Head(head)) if head.framing == framing), "{event:?}");
        }
    }

    #[test]
    fn interim_replies_are_skipped() {
        let bytes = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n\
                      HTTP/1.1 204 No Content\r\n\r\n";
        assert_eq!(read(bytes).map(|(head, body, ..)| (head.status, body.len())), Ok((204, 0)));
    }

    #[test]
    fn without_a_length_the_body_ends_when_the_server_closes() {
        let (head, body, keep_alive, _) = read(b"HTTP/1.1 200 OK\r\n\r\nhello").expect("valid");
        assert_eq!((head.framing, &body[..], keep_alive), (Framing::UntilClose, &b"hello"[..], false));
    }

    #[test]
    fn a_head_has_a_largest_size() {
        let head = |bytes: usize| {
            let frame = "HTTP/1.1 204 OK\r\nX: \r\n\r\n".len();
            format!("HTTP/1.1 204 OK\r\nX: {}\r\n\r\n", "x".repeat(bytes - frame)).into_bytes()
        };
        let whole = head(MAX_HEAD_BYTES);
        assert_eq!(read(&whole).map(|(head, ..)| head.head_bytes as usize), Ok(whole.len()));
        assert_eq!(read(&head(MAX_HEAD_BYTES + 1)).err(), Some(Violation::HeadTooLarge.into()));
    }

    #[test]
    fn an_early_close_names_the_part_of_the_reply() {
        for (bytes, error) in [
            (&b""[..], DecodeError::ClosedBeforeReply),
            (b"HTTP/1.1 200", DecodeError::ClosedWithin(ReplyPart::Head)),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", DecodeError::ClosedWithin(ReplyPart::Body)),
            (
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n",
                DecodeError::ClosedWithin(ReplyPart::Body),
            ),
        ] {
            assert_eq!(read(bytes).err(), Some(error), "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn another_protocol_is_refused_at_the_first_byte() {
        for bytes in [&b"SSH-2.0-OpenSSH"[..], b"\r\nHTTP/1.1 200 OK\r\n\r\n", b"\x15\x03\x01", b"HTTP/2"] {
            assert_eq!(read(bytes).err(), Some(Violation::NotHttp1.into()), "{}", bytes.escape_ascii());
        }
        assert_eq!(read(b"HTTP/1.1 101 Switching\r\n\r\n").err(), Some(Violation::UnexpectedUpgrade.into()));
    }
}
