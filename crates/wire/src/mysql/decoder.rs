//! Decodes the replies of one connection into events: keeps the position between packets. `packet` and `row` parse them.

use super::MAX_PACKET_BYTES;
use super::error::{DecodeError, Violation};
use super::packet::{self, Event, Prepared};
use super::row::{Row, take_integer};
use crate::frame::{FrameBuffer, Header};

/// The reply that comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// The first packet of the server.
    Greeting,
    /// The reply to each answer of a login.
    Login,
    /// The reply to a query: rows come as text.
    Query,
    /// The reply to a prepared statement: rows come in binary.
    Execute,
    /// The reply to the preparation of a statement.
    Prepare,
}

/// Decodes the replies of one connection.
///
/// Call [`expect`](Self::expect) for each request, then [`decode`](Self::decode) until an event
/// [`is_final`](Event::is_final), and again with more bytes after each `None`.
///
/// It has 64 bytes. It allocates only when a packet is split over reads, at most [`MAX_PACKET_BYTES`], and
/// keeps little of that for the next one.
#[derive(Debug)]
pub struct ReplyDecoder {
    state: MysqlState,
    /// Columns of the rows.
    columns: u16,
    /// Whether rows come in binary.
    is_binary: bool,
    /// Whether both sides have agreed that the server may omit the descriptions of columns.
    caches_metadata: bool,
    /// The number of the next packet, from either side.
    sequence: u8,
    /// Whether a byte of the reply has come.
    begun: bool,
    frames: FrameBuffer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MysqlState {
    Idle,
    Greeting,
    Login,
    /// Before a result.
    Start,
    /// Descriptions of columns that are left before the rows.
    Columns(u16),
    Rows,
    Prepare,
    /// Descriptions of parameters and columns that are left of a prepared statement.
    Definitions(u32, Prepared),
}

/// Three bytes of length, and the packet's number.
struct Numbered;

impl Header for Numbered {
    const BYTES: usize = 4;
    type Error = Violation;

    #[inline]
    fn frame_bytes(header: &[u8]) -> Result<usize, Violation> {
        let length = header[..4].first_chunk().map_or(0, |word| u32::from_le_bytes(*word) & 0xff_ffff);
        let length = Self::BYTES + length as usize;
        if length <= MAX_PACKET_BYTES { Ok(length) } else { Err(Violation::PacketTooLarge) }
    }
}

const OK: u8 = 0x00;
const MORE: u8 = 0x01;
const LOCAL_FILE: u8 = 0xfb;
const SWITCH_OR_END: u8 = 0xfe;
const ERROR: u8 = 0xff;
/// The first field of every description of a column: its catalogue.
const DEFINITION: &[u8] = b"\x03def";

impl Default for ReplyDecoder {
    fn default() -> Self {
        Self::new()
    }
}

impl ReplyDecoder {
    /// A decoder for a new connection, which expects no reply yet.
    pub const fn new() -> Self {
        Self {
            state: MysqlState::Idle,
            columns: 0,
            is_binary: false,
            caches_metadata: false,
            sequence: 0,
            begun: false,
            frames: FrameBuffer::new(),
        }
    }

    /// Prepares for the reply to the next request.
    #[inline]
    pub fn expect(&mut self, expect: Expect) {
        self.begun = false;
        self.is_binary = expect == Expect::Execute;
        (self.state, self.sequence) = match expect {
            Expect::Greeting => (MysqlState::Greeting, 0),
            Expect::Login => (MysqlState::Login, self.sequence.wrapping_add(1)),
            Expect::Query | Expect::Execute => (MysqlState::Start, 1),
            Expect::Prepare => (MysqlState::Prepare, 1),
        };
    }

    /// The number for the next answer of a login.
    pub fn sequence(&self) -> u8 {
        self.sequence
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
        if self.state == MysqlState::Idle {
            return Err(DecodeError::Unsolicited);
        }
        self.begun = true;
        // Borrowed separately: the state changes while the packet is in use.
        let Self { state, columns, is_binary, caches_metadata, sequence, frames, .. } = self;
        let Some(frame) = frames.take::<Numbered>(input)? else { return Ok(None) };
        let (number, packet) = (frame[3], &frame[Numbered::BYTES..]);
        let first = *packet.first().ok_or(Violation::MalformedPacket)?;
        // An error may come at any time, with any number.
        if number != *sequence && first != ERROR {
            return Err(Violation::OutOfOrder.into());
        }
        *sequence = number.wrapping_add(1);
        let malformed = Violation::MalformedPacket;
        let event = match (*state, first) {
            (MysqlState::Rows, OK) if *is_binary => {
                Event::Row(Row::binary(packet, *columns).ok_or(malformed)?)
            }
            (_, ERROR) => Event::Error(packet::server_error(packet).ok_or(malformed)?),
            (MysqlState::Start | MysqlState::Login, OK) | (MysqlState::Rows, SWITCH_OR_END) => {
                let done = packet::done(packet).ok_or(malformed)?;
                *state = MysqlState::Start;
                Event::Done(done)
            }
            (MysqlState::Start, LOCAL_FILE) => return Err(Violation::LocalFile.into()),
            (MysqlState::Start, _) => {
                let described = head(packet, *caches_metadata, columns).ok_or(malformed)?;
                *state = if described { MysqlState::Columns(*columns) } else { MysqlState::Rows };
                Event::Columns(*columns)
            }
            (MysqlState::Columns(left), _) if packet.starts_with(DEFINITION) => {
                *state = if left > 1 { MysqlState::Columns(left - 1) } else { MysqlState::Rows };
                Event::Described
            }
            (MysqlState::Rows, _) if !*is_binary => Event::Row(Row::text(packet, *columns).ok_or(malformed)?),
            (MysqlState::Greeting, _) => {
                let greeting = packet::greeting(packet)?;
                *caches_metadata = greeting.caches_metadata;
                Event::Greeting(greeting)
            }
            (MysqlState::Login, SWITCH_OR_END) => packet::auth_switch(packet).ok_or(malformed)?,
            (MysqlState::Login, MORE) => Event::AuthMore(&packet[1..]),
            (MysqlState::Prepare, OK) => {
                let prepared = packet::prepared(packet).ok_or(malformed)?;
                let left = u32::from(prepared.parameters) + u32::from(prepared.columns);
                *state = MysqlState::Definitions(left, prepared);
                if left > 0 { Event::Described } else { Event::Prepared(prepared) }
            }
            (MysqlState::Definitions(left, prepared), _) if packet.starts_with(DEFINITION) => {
                *state = MysqlState::Definitions(left - 1, prepared);
                if left > 1 { Event::Described } else { Event::Prepared(prepared) }
            }
            _ => return Err(malformed.into()),
        };
        if event.is_final() {
            *state = MysqlState::Idle;
        }
        Ok(Some(event))
    }

    /// The error where the server closes now: it ends no reply.
    pub fn eof(&self) -> DecodeError {
        DecodeError::closed(self.state != MysqlState::Idle && self.begun)
    }
}

/// Parses the number of columns, and returns whether their descriptions follow.
fn head(packet: &[u8], caches_metadata: bool, columns: &mut u16) -> Option<bool> {
    let mut rest = packet;
    *columns = take_integer(&mut rest)?.try_into().ok().filter(|&count| count > 0)?;
    match (caches_metadata, rest) {
        (false, []) | (true, [1]) => Some(true),
        (true, [0]) => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::packet::tests::GREETING;
    use super::*;
    use crate::error::ReplyPart;

    /// Packets, numbered from `first`.
    fn packets(first: u8, payloads: &[&[u8]]) -> Vec<u8> {
        let mut out = Vec::new();
        for (at, payload) in payloads.iter().enumerate() {
            out.extend_from_slice(&(payload.len() as u32).to_le_bytes()[..3]);
            out.push(first + at as u8);
            out.extend_from_slice(payload);
        }
        out
    }

    fn read(decoder: &mut ReplyDecoder, mut input: &[u8]) -> Result<Vec<String>, DecodeError> {
        let mut events = Vec::new();
        loop {
            match decoder.decode(&mut input)? {
                Some(event) => {
                    events.push(format!("{event:?}").split([' ', '(']).next().unwrap_or_default().to_owned());
                    if event.is_final() {
                        return Ok(events);
                    }
                }
                None => return Err(decoder.eof()),
            }
        }
    }

    fn reply(expect: Expect, payloads: &[&[u8]]) -> Result<Vec<String>, DecodeError> {
        let mut decoder = ReplyDecoder::new();
        decoder.expect(expect);
        read(&mut decoder, &packets(u8::from(expect != Expect::Greeting), payloads))
    }

    const END: &[u8] = b"\xfe\0\0\x02\0\0\0";
    const FIELD: &[u8] = b"\x03def\x01d\x01t\x01t\x01c\x01c\x0c\x08\0\xe0\x01\0\0\xfe\0\0\0\0\0";

    #[test]
    fn a_decoder_is_small() {
        assert!(size_of::<ReplyDecoder>() <= 64);
    }

    #[test]
    fn results_in_text_and_in_binary() {
        let events = reply(Expect::Query, &[b"\x01", FIELD, b"\x02ab", b"\xfb", END]);
        assert_eq!(events.expect("a reply"), ["Columns", "Described", "Row", "Row", "Done"]);
        let events = reply(Expect::Execute, &[b"\x01", FIELD, b"\0\0\x02ab", END]);
        assert_eq!(events.expect("a reply"), ["Columns", "Described", "Row", "Done"]);
        let events = reply(Expect::Query, &[b"\x01", FIELD, b"\xfe\0\0\x0a\0\0\0", b"\0\x01\0\x02\0\0\0"]);
        assert_eq!(events.expect("two results"), ["Columns", "Described", "Done", "Done"]);
        let events = reply(Expect::Query, &[b"\x01", FIELD, b"\x02ab", b"\xff\xbd\x04#40001Deadlock"]);
        assert_eq!(events.expect("an error within rows"), ["Columns", "Described", "Row", "Error"]);
    }

    #[test]
    fn a_statement_is_prepared_after_all_its_descriptions() {
        let events = reply(Expect::Prepare, &[b"\0\x07\0\0\0\x01\0\x01\0\0\0\0", FIELD, FIELD]);
        assert_eq!(events.expect("prepared"), ["Described", "Described", "Prepared"]);
        assert_eq!(
            reply(Expect::Prepare, &[b"\0\x07\0\0\0\x01\0\x01\0\0\0\0", FIELD]),
            Err(DecodeError::ClosedWithin(ReplyPart::Reply))
        );
    }

    #[test]
    fn the_packets_of_a_login_are_numbered_in_sequence() {
        let mut decoder = ReplyDecoder::new();
        decoder.expect(Expect::Greeting);
        assert_eq!(read(&mut decoder, &packets(0, &[GREETING])).expect("a greeting"), ["Greeting"]);
        assert_eq!(decoder.sequence(), 1);
        decoder.expect(Expect::Login);
        let switch = packets(2, &[b"\xfecaching_sha2_password\0abcdefghijklmnopqrst\0"]);
        assert_eq!(read(&mut decoder, &switch).expect("a switch"), ["AuthSwitch"]);
        assert_eq!(decoder.sequence(), 3);
        decoder.expect(Expect::Login);
        let accepted = packets(4, &[b"\x01\x03", b"\0\0\0\x02\0\0\0"]);
        assert_eq!(read(&mut decoder, &accepted).expect("accepted"), ["AuthMore", "Done"]);
        // MariaDB omits the descriptions of columns that it has sent before.
        decoder.expect(Expect::Execute);
        let events = read(&mut decoder, &packets(1, &[b"\x01\0", b"\0\0\x02ab", END]));
        assert_eq!(events.expect("a result"), ["Columns", "Row", "Done"]);
    }

    #[test]
    fn each_violation_has_its_own_error() {
        for (expect, payload, error) in [
            (Expect::Greeting, &b"\x09"[..], Violation::NoGreeting.into()),
            (Expect::Query, b"", Violation::MalformedPacket.into()),
            (Expect::Query, b"\xfb/etc/passwd", Violation::LocalFile.into()),
            (Expect::Query, b"\x01\x01", Violation::MalformedPacket.into()),
            (Expect::Execute, b"\0\x01", Violation::MalformedPacket.into()),
        ] {
            assert_eq!(reply(expect, &[payload]), Err(error), "{}", payload.escape_ascii());
        }
        let mut decoder = ReplyDecoder::new();
        decoder.expect(Expect::Query);
        assert_eq!(read(&mut decoder, b"\x01\0\0\x02\0"), Err(Violation::OutOfOrder.into()));
        let mut other = ReplyDecoder::new();
        other.expect(Expect::Greeting);
        assert_eq!(read(&mut other, b"HTTP/1.1 400"), Err(Violation::PacketTooLarge.into()));
        assert_eq!(read(&mut ReplyDecoder::new(), b"\0"), Err(DecodeError::Unsolicited));
    }
}
