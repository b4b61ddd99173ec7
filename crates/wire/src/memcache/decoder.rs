//! Decodes the replies of one connection into events: keeps the position between lines and data. `reply` parses a line.

use super::error::{DecodeError, Violation};
use super::limits::LINE;
use super::reply::{self, Event, Expect, Outcome};
use crate::line::LineBuffer;

/// Decodes the replies of one connection.
///
/// Call [`expect`](Self::expect) for each request, then [`decode`](Self::decode) until it returns
/// [`Event::Done`], and again with more bytes after each `None`.
///
/// It has 48 bytes. It allocates only when a line is split over reads, at most [`MAX_LINE_BYTES`](super::MAX_LINE_BYTES), and keeps
/// that for the next one.
#[derive(Debug)]
pub struct ReplyDecoder {
    state: MemcacheState,
    expect: Expect,
    /// Values of this reply so far.
    values: u32,
    lines: LineBuffer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MemcacheState {
    /// No reply is expected.
    Idle,
    /// Before the first line of a reply.
    Start,
    /// Before a further line.
    Line,
    /// This many bytes of data are left, at least one.
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
    /// A decoder for a new connection, which expects no reply yet.
    pub const fn new() -> Self {
        Self { state: MemcacheState::Idle, expect: Expect::Get, values: 0, lines: LineBuffer::new() }
    }

    /// Prepares for the reply to the next request.
    #[inline]
    pub fn expect(&mut self, expect: Expect) {
        self.state = MemcacheState::Start;
        self.expect = expect;
        self.values = 0;
    }

    /// Takes bytes off the front of `input` and returns the next event. `None` means that `input` is used
    /// up and more is needed. After [`Event::Done`], the rest of `input` belongs to the next reply.
    ///
    /// # Errors
    /// Any violation in the reply, and bytes while none is expected. Close the connection then.
    #[inline]
    pub fn decode<'a, 'i: 'a>(&'a mut self, input: &mut &'i [u8]) -> Result<Option<Event<'a>>, DecodeError> {
        if input.is_empty() {
            return Ok(None);
        }
        match self.state {
            MemcacheState::Start | MemcacheState::Line => {}
            MemcacheState::Data(left) => {
                let (data, rest) = input.split_at(input.len().min(left as usize));
                *input = rest;
                self.state = after_data(left - data.len() as u32);
                return Ok(Some(Event::Data(data)));
            }
            MemcacheState::DataCr | MemcacheState::DataLf => {
                if !self.end_value(input)? {
                    return Ok(None);
                }
                if self.expect == Expect::MetaGet {
                    self.state = MemcacheState::Idle;
                    let outcome = Outcome::Retrieved { values: self.values };
                    return Ok(Some(Event::Done { outcome, detail: &[] }));
                }
                self.state = MemcacheState::Line;
            }
            MemcacheState::Idle => return Err(DecodeError::Unsolicited),
        }
        let event = if !self.lines.is_partial()
            && let Some((event, rest)) = reply::parse_common(self.expect, input, self.values)
        {
            *input = rest;
            event
        } else {
            let Some(line) = self.lines.take(input, &LINE).map_err(DecodeError::of_line)? else {
                return Ok(None);
            };
            reply::parse(self.expect, line, self.values)?
        };
        self.state = match event {
            Event::Value(value) => {
                self.values = self.values.saturating_add(1);
                after_data(value.length)
            }
            Event::Done { .. } => MemcacheState::Idle,
            Event::Stat { .. } | Event::Data(_) => MemcacheState::Line,
        };
        Ok(Some(event))
    }

    /// The error where the server closes now: it ends no reply.
    pub fn eof(&self) -> DecodeError {
        DecodeError::closed(match self.state {
            MemcacheState::Idle => false,
            MemcacheState::Start => self.lines.is_partial(),
            _ => true,
        })
    }

    /// Takes the CRLF after the data of a value; false if `input` ends within it.
    #[inline]
    fn end_value(&mut self, input: &mut &[u8]) -> Result<bool, DecodeError> {
        let (rest, whole) = match (self.state, *input) {
            (MemcacheState::DataCr, [b'\r', b'\n', rest @ ..])
            | (MemcacheState::DataLf, [b'\n', rest @ ..]) => (rest, true),
            (MemcacheState::DataCr, [b'\r']) => (&[][..], false),
            _ => return Err(Violation::MalformedValueEnd.into()),
        };
        *input = rest;
        self.state = MemcacheState::DataLf;
        Ok(whole)
    }
}

fn after_data(left: u32) -> MemcacheState {
    if left == 0 { MemcacheState::DataCr } else { MemcacheState::Data(left) }
}

#[cfg(test)]
mod tests {
    use super::super::limits::MAX_LINE_BYTES;
    use super::*;
    use crate::error::ReplyPart;
    use crate::line::LineError;

    /// Decodes one reply and returns every event as text.
    fn read(expect: Expect, mut input: &[u8]) -> Result<Vec<String>, DecodeError> {
        let mut decoder = ReplyDecoder::new();
        decoder.expect(expect);
        let mut events = Vec::new();
        loop {
            match decoder.decode(&mut input)? {
                Some(Event::Value(value)) => events.push(format!("value {}", value.key.escape_ascii())),
                Some(Event::Data(data)) => events.push(format!("data {}", data.escape_ascii())),
                Some(Event::Stat { name, value }) => {
                    events.push(format!("stat {} {}", name.escape_ascii(), value.escape_ascii()));
                }
                Some(Event::Done { outcome, detail }) => {
                    events.push(format!("{outcome:?} {}", detail.escape_ascii()));
                    assert!(input.is_empty());
                    return Ok(events);
                }
                None => return Err(decoder.eof()),
            }
        }
    }

    #[test]
    fn a_decoder_is_small() {
        assert!(size_of::<ReplyDecoder>() <= 48);
    }

    /// As sent by memcached 1.6.18.
    #[test]
    fn replies_with_values() {
        let retrieved = |values| format!("Retrieved {{ values: {values} }} ");
        for (expect, reply, events) in [
            (Expect::Get, "END\r\n", vec![retrieved(0)]),
            (
                Expect::Get,
                "VALUE foo 5 3\r\nbar\r\nEND\r\n",
                vec!["value foo".into(), "data bar".into(), retrieved(1)],
            ),
            (Expect::Get, "VALUE e 0 0\r\n\r\nEND\r\n", vec!["value e".into(), retrieved(1)]),
            (Expect::MetaGet, "EN\r\n", vec![retrieved(0)]),
            (
                Expect::MetaGet,
                "VA 3 kfoo f5 c1 t-1 s3\r\nbar\r\n",
                vec!["value foo".into(), "data bar".into(), retrieved(1)],
            ),
            (Expect::MetaGet, "VA 0\r\n\r\n", vec!["value ".into(), retrieved(1)]),
            (Expect::MetaGet, "HD s3 t-1\r\n", vec!["Found s3 t-1".into()]),
            (
                Expect::Stats,
                "STAT pid 7\r\nSTAT v a b\r\nEND\r\n",
                vec!["stat pid 7".into(), "stat v a b".into(), "Ok ".into()],
            ),
        ] {
            assert_eq!(read(expect, reply.as_bytes()), Ok(events), "{reply}");
        }
    }

    #[test]
    fn a_value_may_look_like_a_reply() {
        let reply = b"VALUE foo 0 7\r\n\r\nEND\r\n\r\nEND\r\n";
        assert_eq!(read(Expect::Get, reply).map(|events| events[1].clone()), Ok(r"data \r\nEND\r\n".into()));
    }

    #[test]
    fn each_violation_has_its_own_error() {
        let long = [b'x'; MAX_LINE_BYTES];
        for (expect, reply, error) in [
            (Expect::Get, &b"STORED\r\n"[..], Violation::UnexpectedReply.into()),
            (Expect::Get, b"END\n", Violation::Line(LineError::BareLineFeed).into()),
            (Expect::Get, b"VALUE foo 0 3\r\nbarEND\r\n", Violation::MalformedValueEnd.into()),
            (Expect::Get, b"VALUE foo 0 2\r\nbar\r\n", Violation::MalformedValueEnd.into()),
            (Expect::Get, b"VALUE foo 0 -1\r\n", Violation::MalformedValue.into()),
            (Expect::Get, b"VALUE foo 4294967296 1\r\n", Violation::MalformedValue.into()),
            (Expect::Get, b"VALUE foo 0\r\n", Violation::MalformedValue.into()),
            (Expect::Get, b"VALUE foo 0 1 x\r\n", Violation::MalformedValue.into()),
            (Expect::Get, b"VALUE  0 1\r\n", Violation::MalformedValue.into()),
            (Expect::Get, b"VALUE foo 0 1073741825\r\n", Violation::ValueTooLarge.into()),
            (Expect::MetaGet, b"VA 1073741825 kfoo\r\n", Violation::ValueTooLarge.into()),
            (Expect::MetaGet, b"VA x\r\n", Violation::MalformedValue.into()),
            (Expect::Stats, b"STAT\r\n", Violation::UnexpectedReply.into()),
            (Expect::Store, b"STORED \r\n", Violation::UnexpectedReply.into()),
            (Expect::Arithmetic, b"18446744073709551616\r\n", Violation::UnexpectedReply.into()),
            (Expect::Store, &long, Violation::Line(LineError::TooLong(&LINE)).into()),
            (Expect::Get, b"", DecodeError::ClosedBeforeReply),
            (Expect::Get, b"EN", DecodeError::ClosedWithin(ReplyPart::Reply)),
            (Expect::Get, b"VALUE foo 0 3\r\nbar\r", DecodeError::ClosedWithin(ReplyPart::Reply)),
        ] {
            assert_eq!(read(expect, reply), Err(error), "{}", reply.escape_ascii());
        }
    }

    #[test]
    fn a_second_reply_is_unsolicited() {
        let mut decoder = ReplyDecoder::new();
        decoder.expect(Expect::Store);
        // As memcached answers a value that is longer than its length: it parses the rest as a command.
        let mut input: &[u8] = b"CLIENT_ERROR bad data chunk\r\nERROR\r\n";
        let done = Event::Done { outcome: Outcome::ClientError, detail: b"bad data chunk" };
        assert_eq!(decoder.decode(&mut input), Ok(Some(done)));
        assert_eq!(decoder.decode(&mut input), Err(DecodeError::Unsolicited));
    }
}
