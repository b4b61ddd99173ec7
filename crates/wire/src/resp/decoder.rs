//! Decodes the replies of one connection into events: keeps the position in nested aggregates and in data. `reply` parses
//! a line.

use super::error::{DecodeError, Violation};
use super::limits::{LINE, MAX_DEPTH};
use super::reply::{self, Aggregate, Event};
use crate::line::LineBuffer;

/// Decodes the replies of one connection.
///
/// Call [`expect`](Self::expect) for each request, then [`decode`](Self::decode) until it returns an
/// [`Event::End`] that does not end a push, and again with more bytes after each `None`.
///
/// It has 80 bytes. It allocates only when a line is split over reads, at most [`MAX_LINE_BYTES`](super::MAX_LINE_BYTES), and keeps
/// that for the next one.
#[derive(Debug, Default)]
pub struct ReplyDecoder {
    state: RespState,
    /// Whether a reply is expected; otherwise only pushes may come.
    awaited: bool,
    /// Whether a push is being decoded.
    push: bool,
    nesting: Nesting,
    lines: LineBuffer,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum RespState {
    /// Before a reply or a push.
    #[default]
    Start,
    /// Before a value within a reply.
    Value,
    /// This many bytes of data are left, at least one.
    Data(u32),
    DataCr,
    DataLf,
    /// Only the final event is left.
    Complete,
}

impl ReplyDecoder {
    /// A decoder for a new connection, which expects no reply yet.
    pub const fn new() -> Self {
        Self {
            state: RespState::Start,
            awaited: false,
            push: false,
            nesting: Nesting::new(),
            lines: LineBuffer::new(),
        }
    }

    /// Prepares for the reply to the next request.
    #[inline]
    pub fn expect(&mut self) {
        self.awaited = true;
    }

    /// Takes bytes off the front of `input` and returns the next event. `None` means that `input` is used
    /// up and more is needed. After [`Event::End`], the rest of `input` belongs to the next reply.
    ///
    /// The final event needs no bytes: call until it comes, also when `input` is empty.
    ///
    /// # Errors
    /// Any violation in the reply, and bytes other than a push while none is expected. Close the connection
    /// then.
    #[inline]
    pub fn decode<'a, 'i: 'a>(&'a mut self, input: &mut &'i [u8]) -> Result<Option<Event<'a>>, DecodeError> {
        if self.state == RespState::Complete {
            return Ok(Some(self.end()));
        }
        if input.is_empty() {
            return Ok(None);
        }
        match self.state {
            RespState::Data(left) => {
                let (data, rest) = input.split_at(input.len().min(left as usize));
                *input = rest;
                self.state = after_data(left - data.len() as u32);
                return Ok(Some(Event::Data(data)));
            }
            RespState::DataCr | RespState::DataLf => {
                if !self.end_bulk(input)? {
                    return Ok(None);
                }
                self.state = self.nesting.end_value();
                if self.state == RespState::Complete {
                    return Ok(Some(self.end()));
                }
            }
            RespState::Start | RespState::Value | RespState::Complete => {}
        }
        let Some(&first) = input.first() else { return Ok(None) };
        if !self.lines.is_partial() {
            if self.state == RespState::Start && !self.awaited && first != b'>' {
                return Err(DecodeError::Unsolicited);
            }
            reply::check_type(first)?;
            if let Some((event, rest)) = reply::parse_common(input) {
                *input = rest;
                self.state = next_state(&mut self.nesting, event)?;
                return Ok(Some(event));
            }
        }
        let Some(line) = self.lines.take(input, &LINE).map_err(DecodeError::of_line)? else {
            return Ok(None);
        };
        let event = reply::parse(line)?;
        if let Event::Aggregate { kind: Aggregate::Push, .. } = event {
            if self.state != RespState::Start {
                return Err(Violation::MisplacedPush.into());
            }
            self.push = true;
        }
        self.state = next_state(&mut self.nesting, event)?;
        Ok(Some(event))
    }

    /// The error where the server closes now: it ends no reply.
    pub fn eof(&self) -> DecodeError {
        DecodeError::closed(self.state != RespState::Start || self.lines.is_partial())
    }

    /// Takes the CRLF after the data of a bulk string; false if `input` ends within it.
    #[inline]
    fn end_bulk(&mut self, input: &mut &[u8]) -> Result<bool, DecodeError> {
        let (rest, whole) = match (self.state, *input) {
            (RespState::DataCr, [b'\r', b'\n', rest @ ..]) | (RespState::DataLf, [b'\n', rest @ ..]) => {
                (rest, true)
            }
            (RespState::DataCr, [b'\r']) => (&[][..], false),
            _ => return Err(Violation::MalformedBulkEnd.into()),
        };
        *input = rest;
        self.state = RespState::DataLf;
        Ok(whole)
    }

    #[inline]
    fn end(&mut self) -> Event<'static> {
        self.state = RespState::Start;
        let push = std::mem::take(&mut self.push);
        self.awaited &= push;
        Event::End { push }
    }
}

/// The state after a line.
#[inline]
fn next_state(nesting: &mut Nesting, event: Event<'_>) -> Result<RespState, DecodeError> {
    match event {
        Event::Bulk { length, .. } => Ok(after_data(length)),
        Event::Aggregate { kind, elements } => nesting.begin(kind, elements),
        _ => Ok(nesting.end_value()),
    }
}

fn after_data(left: u32) -> RespState {
    if left == 0 { RespState::DataCr } else { RespState::Data(left) }
}

/// The aggregates around the next value.
#[derive(Clone, Copy, Debug, Default)]
struct Nesting {
    depth: u8,
    /// Bit `n` is set if the aggregate at depth `n` is an attribute, which its parent does not count.
    attributes: u8,
    /// Values that are left at each depth.
    left: [u32; MAX_DEPTH],
}

impl Nesting {
    const fn new() -> Self {
        Self { depth: 0, attributes: 0, left: [0; MAX_DEPTH] }
    }

    fn begin(&mut self, kind: Aggregate, elements: u32) -> Result<RespState, DecodeError> {
        let attribute = kind == Aggregate::Attribute;
        let bit = 1u8.checked_shl(self.depth.into()).ok_or(Violation::TooDeep)?;
        if elements == 0 {
            return Ok(if attribute { RespState::Value } else { self.end_value() });
        }
        self.left[usize::from(self.depth)] = elements;
        self.attributes = if attribute { self.attributes | bit } else { self.attributes & !bit };
        self.depth += 1;
        Ok(RespState::Value)
    }

    /// Counts a complete value, and the aggregates that it completes.
    #[inline]
    fn end_value(&mut self) -> RespState {
        while self.depth > 0 {
            let top = self.depth - 1;
            let left = &mut self.left[usize::from(top)];
            *left -= 1;
            if *left > 0 {
                return RespState::Value;
            }
            self.depth = top;
            if self.attributes >> top & 1 == 1 {
                return RespState::Value;
            }
        }
        RespState::Complete
    }
}

#[cfg(test)]
mod tests {
    use super::super::limits::MAX_LINE_BYTES;
    use super::*;
    use crate::error::ReplyPart;
    use crate::line::LineError;

    /// Decodes one reply and returns every event as text.
    fn read(mut input: &[u8]) -> Result<Vec<String>, DecodeError> {
        let mut decoder = ReplyDecoder::new();
        decoder.expect();
        let mut events = Vec::new();
        loop {
            match decoder.decode(&mut input)? {
                Some(Event::End { push: false }) => {
                    assert!(input.is_empty());
                    return Ok(events);
                }
                Some(Event::End { push: true }) => events.push("end of push".into()),
                Some(Event::Simple(text) | Event::Error(text) | Event::Data(text)) => {
                    events.push(text.escape_ascii().to_string());
                }
                Some(Event::Integer(number)) => events.push(number.to_string()),
                Some(Event::Bulk { length, .. }) => events.push(format!("${length}")),
                Some(Event::Aggregate { kind, elements }) => events.push(format!("{kind:?} {elements}")),
                Some(other) => events.push(format!("{other:?}")),
                None => return Err(decoder.eof()),
            }
        }
    }

    #[test]
    fn a_decoder_is_small() {
        assert!(size_of::<ReplyDecoder>() <= 80);
    }

    /// As sent by Redis 7.0.15.
    #[test]
    fn nested_values_are_decoded() {
        for (reply, events) in [
            ("+OK\r\n", vec!["OK"]),
            ("$3\r\nbar\r\n", vec!["$3", "bar"]),
            ("$0\r\n\r\n", vec!["$0"]),
            ("$-1\r\n", vec!["Null"]),
            ("*0\r\n", vec!["Array 0"]),
            ("*2\r\n$1\r\na\r\n$1\r\nb\r\n", vec!["Array 2", "$1", "a", "$1", "b"]),
            ("*2\r\n*2\r\n:1\r\n*0\r\n:2\r\n", vec!["Array 2", "Array 2", "1", "Array 0", "2"]),
            ("%1\r\n$1\r\na\r\n#t\r\n", vec!["Map 2", "$1", "a", "Boolean(true)"]),
            ("|1\r\n+k\r\n*1\r\n:9\r\n$1\r\nx\r\n", vec!["Attribute 2", "k", "Array 1", "9", "$1", "x"]),
            ("*1\r\n|1\r\n+k\r\n:9\r\n:7\r\n", vec!["Array 1", "Attribute 2", "k", "9", "7"]),
            ("|0\r\n:7\r\n", vec!["Attribute 0", "7"]),
            (">1\r\n+k\r\n:7\r\n", vec!["Push 1", "k", "end of push", "7"]),
        ] {
            let events: Vec<String> = events.into_iter().map(String::from).collect();
            assert_eq!(read(reply.as_bytes()), Ok(events), "{reply}");
        }
    }

    #[test]
    fn aggregates_nest_to_a_limit() {
        let nested = |depth| format!("{}:1\r\n", "*1\r\n".repeat(depth)).into_bytes();
        assert!(read(&nested(MAX_DEPTH)).is_ok());
        assert_eq!(read(&nested(MAX_DEPTH + 1)), Err(Violation::TooDeep.into()));
    }

    #[test]
    fn only_a_push_may_come_without_a_request() {
        let mut decoder = ReplyDecoder::new();
        let mut input: &[u8] = b">1\r\n:1\r\n+OK\r\n";
        let push = Event::Aggregate { kind: Aggregate::Push, elements: 1 };
        assert_eq!(decoder.decode(&mut input), Ok(Some(push)));
        assert_eq!(decoder.decode(&mut input), Ok(Some(Event::Integer(1))));
        assert_eq!(decoder.decode(&mut input), Ok(Some(Event::End { push: true })));
        assert_eq!(decoder.decode(&mut input), Err(DecodeError::Unsolicited));
    }

    #[test]
    fn each_violation_has_its_own_error() {
        for (reply, error) in [
            (&b"HTTP/1.1"[..], Violation::UnknownType(b'H').into()),
            (b"*1\r\nx", Violation::UnknownType(b'x').into()),
            (b"+OK\n", Violation::Line(LineError::BareLineFeed).into()),
            (b"$2\r\nbar\r\n", Violation::MalformedBulkEnd.into()),
            (b"$3\r\nbar\rx", Violation::MalformedBulkEnd.into()),
            (b"*1\r\n>1\r\n", Violation::MisplacedPush.into()),
            (&vec![b'+'; MAX_LINE_BYTES], Violation::Line(LineError::TooLong(&LINE)).into()),
            (b"", DecodeError::ClosedBeforeReply),
            (b"+", DecodeError::ClosedWithin(ReplyPart::Reply)),
            (b"*1\r\n", DecodeError::ClosedWithin(ReplyPart::Reply)),
        ] {
            assert_eq!(read(reply), Err(error), "{}", reply.escape_ascii());
        }
    }
}
