//! The replies of one connection, as events. Decides what follows a head and keeps the place in the
//! body; leaves what a head means to `head`, chunks to `chunked`, and remembered heads to `cache`.

use super::cache::HeadCache;
use super::chunked::{Chunk, Chunked};
use super::error::DecodeError;
use super::head::{self, Framing, Head, Meaning};

/// What a reply consists of: one head, any number of pieces of its body, one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// The head of the final reply; interim ones (1xx) are swallowed.
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
/// Call [`expect`](Self::expect) for each request, then [`decode`](Self::decode) until it gives
/// [`Event::End`], and again with more bytes whenever it gives `None`.
///
/// 56 bytes large. It allocates only to hold a head that is split over reads, at most
/// [`MAX_HEAD_BYTES`](super::MAX_HEAD_BYTES), until that head is whole.
#[derive(Debug, Default)]
pub struct ResponseDecoder {
    state: State,
    head_request: bool,
    keep_alive: bool,
    /// The front of a head whose end has not arrived; empty when no head is split.
    split_head: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    /// No reply is expected.
    #[default]
    Idle,
    Head,
    Length(u64),
    Chunked(Chunked),
    UntilClose,
    /// Nothing but the final event is left.
    Complete,
}

impl ResponseDecoder {
    /// A decoder for a fresh connection, which expects nothing yet.
    pub const fn new() -> Self {
        Self { state: State::Idle, head_request: false, keep_alive: false, split_head: Vec::new() }
    }

    /// Gets ready for the reply to the next request. `head_request` says whether its method is HEAD:
    /// its reply has no body, whatever the head announces.
    #[inline]
    pub fn expect(&mut self, head_request: bool) {
        self.state = State::Head;
        self.head_request = head_request;
    }

    /// Takes bytes off the front of `input` and returns the next event. `None` means that `input` is used
    /// up and more is needed. After [`Event::End`], what is left in `input` belongs to the next reply.
    ///
    /// The final event needs no bytes of its own: call until it comes, also when `input` is empty.
    ///
    /// # Errors
    /// Any fault in the reply, and bytes while none is expected. The connection is to be closed then.
    #[inline]
    pub fn decode<'a>(
        &mut self,
        cache: &mut HeadCache,
        input: &mut &'a [u8],
    ) -> Result<Option<Event<'a>>, DecodeError> {
        match &mut self.state {
            State::Complete => Ok(Some(self.end())),
            _ if input.is_empty() => Ok(None),
            State::Head => {
                if self.split_head.is_empty()
                    && let Some((meaning, length)) = cache.lookup(input)
                {
                    *input = &input[length..];
                    return self.begin(meaning, length).map(Some);
                }
                self.decode_head(cache, input)
            }
            State::Length(left) => {
                let length = usize::try_from(*left).map_or(input.len(), |left| left.min(input.len()));
                let (body, rest) = input.split_at(length);
                *input = rest;
                *left -= length as u64;
                if *left == 0 {
                    self.state = State::Complete;
                }
                Ok(Some(Event::Body(body)))
            }
            State::Chunked(chunked) => match chunked.decode(input)? {
                Some(Chunk::Data(data)) => Ok(Some(Event::Body(data))),
                Some(Chunk::End) => Ok(Some(self.end())),
                None => Ok(None),
            },
            State::UntilClose => Ok(Some(Event::Body(std::mem::take(input)))),
            State::Idle => Err(DecodeError::Unsolicited),
        }
    }

    /// The server has closed: ends a body that is delimited by that, and names what else is cut off.
    pub fn eof(&mut self) -> Result<Event<'static>, DecodeError> {
        match self.state {
            State::UntilClose | State::Complete => Ok(self.end()),
            State::Idle => Err(DecodeError::ClosedBeforeReply),
            State::Head if self.split_head.is_empty() => Err(DecodeError::ClosedBeforeReply),
            State::Head => Err(DecodeError::ClosedInHead),
            State::Length(_) | State::Chunked(_) => Err(DecodeError::ClosedInBody),
        }
    }

    /// A head that is not the remembered one, not whole, or interim.
    #[inline(never)]
    fn decode_head<'a>(
        &mut self,
        cache: &mut HeadCache,
        input: &mut &'a [u8],
    ) -> Result<Option<Event<'a>>, DecodeError> {
        while !input.is_empty() {
            let (meaning, length) = if self.split_head.is_empty() {
                let Some(end) = head::find_end(input, 0)? else {
                    self.split_head.extend_from_slice(std::mem::take(input));
                    return Ok(None);
                };
                let (head, rest) = input.split_at(end);
                *input = rest;
                (cache.interpret(head)?, end)
            } else {
                let Some(head) = self.join_head(input)? else { return Ok(None) };
                (cache.interpret(&head)?, head.len())
            };
            if meaning.status == 101 {
                return Err(DecodeError::UnexpectedUpgrade);
            }
            if !meaning.is_interim() {
                return self.begin(meaning, length).map(Some);
            }
        }
        Ok(None)
    }

    /// Puts the front of `input` behind the part of the head that came before; gives the head once whole.
    fn join_head(&mut self, input: &mut &[u8]) -> Result<Option<Vec<u8>>, DecodeError> {
        let before = self.split_head.len();
        let room = head::MAX_HEAD_BYTES - before;
        self.split_head.extend_from_slice(&input[..input.len().min(room)]);
        let Some(end) = head::find_end(&self.split_head, before)? else {
            // All fitted, or the search would have failed for the size.
            *input = &[];
            return Ok(None);
        };
        *input = &input[end - before..];
        let mut head = std::mem::take(&mut self.split_head);
        head.truncate(end);
        Ok(Some(head))
    }

    /// Moves on to the body that a head announces.
    #[inline]
    fn begin(&mut self, meaning: Meaning, head_bytes: usize) -> Result<Event<'static>, DecodeError> {
        let framing = if self.head_request { Framing::None } else { meaning.framing? };
        self.keep_alive = meaning.persistent && framing != Framing::UntilClose;
        self.state = match framing {
            Framing::None | Framing::Length(0) => State::Complete,
            Framing::Length(length) => State::Length(length),
            Framing::Chunked => State::Chunked(Chunked::new()),
            Framing::UntilClose => State::UntilClose,
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
        self.state = State::Idle;
        Event::End { keep_alive: self.keep_alive }
    }
}
