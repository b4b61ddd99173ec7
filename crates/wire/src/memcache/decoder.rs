//! The replies of one connection, as events. Keeps the place between lines and data; leaves what a line
//! says to `reply`.

use super::error::DecodeError;
use super::reply::{self, Event, Expect, MAX_LINE_BYTES, Outcome};
use crate::line::LineBuffer;

/// Decodes the replies of one connection.
///
/// Call [`expect`](Self::expect) for each request, then [`decode`](Self::decode) until it gives
/// [`Event::Done`], and again with more bytes whenever it gives `None`.
///
/// 48 bytes large. It allocates only when a line is split over reads, at most [`MAX_LINE_BYTES`], and keeps
/// that for the next one.
#[derive(Debug)]
pub struct ReplyDecoder {
    state: State,
    expect: Expect,
    /// Values seen in this reply.
    values: u32,
    lines: LineBuffer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No reply is expected.
    Idle,
    /// Before the first line of a reply.
    Start,
    /// Before a further line.
    Line,
    /// So many bytes of data are left, one or more.
    Data(u32),
    DataCr,
    DataLf,
}

impl Default for ReplyDecoder {
    fn default() -> Self {
        Self::new()
    }
}

impl ReplyDecoder {
    /// A decoder for a fresh connection, which expects nothing yet.
    pub const fn new() -> Self {
        Self { state: State::Idle, expect: Expect::Get, values: 0, lines: LineBuffer::new() }
    }

    /// Gets ready for the reply to the next request.
    #[inline]
    pub fn expect(&mut self, expect: Expect) {
        self.state = State::Start;
        self.expect = expect;
        self.values = 0;
    }

    /// Takes bytes off the front of `input` and returns the next event. `None` means that `input` is used
    /// up and more is needed. After [`Event::Done`], what is left in `input` belongs to the next reply.
    ///
    /// # Errors
    /// Any fault in the reply, and bytes while none is expected. The connection is to be closed then.
    #[inline]
    pub fn decode<'a, 'i: 'a>(&'a mut self, input: &mut &'i [u8]) -> Result<Option<Event<'a>>, DecodeError> {
        if input.is_empty() {
            return Ok(None);
        }
        match self.state {
            State::Start | State::Line => {}
            State::Data(left) => {
                let (data, rest) = input.split_at(input.len().min(left as usize));
                *input = rest;
                self.state = after_data(left - data.len() as u32);
                return Ok(Some(Event::Data(data)));
            }
            State::DataCr | State::DataLf => {
                if !self.end_value(input)? {
                    return Ok(None);
                }
                if self.expect == Expect::MetaGet {
                    self.state = State::Idle;
                    let outcome = Outcome::Retrieved { values: self.values };
                    return Ok(Some(Event::Done { outcome, detail: &[] }));
                }
                self.state = State::Line;
            }
            State::Idle => return Err(DecodeError::Unsolicited),
        }
        let Some(line) = self.lines.take(input, MAX_LINE_BYTES)? else { return Ok(None) };
        let event = reply::parse(self.expect, line, self.values)?;
        self.state = match event {
            Event::Value(value) => {
                self.values = self.values.saturating_add(1);
                after_data(value.length)
            }
            Event::Done { .. } => State::Idle,
            Event::Stat { .. } | Event::Data(_) => State::Line,
        };
        Ok(Some(event))
    }

    /// The server has closed. No reply ends that way: says what is cut off.
    pub fn eof(&self) -> DecodeError {
        match self.state {
            State::Idle => DecodeError::ClosedBeforeReply,
            State::Start if !self.lines.is_partial() => DecodeError::ClosedBeforeReply,
            _ => DecodeError::ClosedInReply,
        }
    }

    /// Takes the CRLF after a value's data; false if `input` ends within it.
    #[inline]
    fn end_value(&mut self, input: &mut &[u8]) -> Result<bool, DecodeError> {
        let (rest, whole) = match (self.state, *input) {
            (State::DataCr, [b'\r', b'\n', rest @ ..]) | (State::DataLf, [b'\n', rest @ ..]) => (rest, true),
            (State::DataCr, [b'\r']) => (&[][..], false),
            _ => return Err(DecodeError::MalformedValueEnd),
        };
        *input = rest;
        self.state = State::DataLf;
        Ok(whole)
    }
}

fn after_data(left: u32) -> State {
    if left == 0 { State::DataCr } else { State::Data(left) }
}
