//! Parses one line of a reply. `decoder` keeps the nesting of aggregates and the data of bulk strings.

use super::error::Violation;
use super::limits::{MAX_BULK_BYTES, MAX_ELEMENTS};
use crate::{decimal, line};

/// An event of the decoder: a reply has one value, which contains more values if it is an aggregate, and one `End`. In
/// RESP3, attributes may precede any value, and pushes any reply.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event<'a> {
    /// `+`: a short text, such as `OK`.
    Simple(&'a [u8]),
    /// `-`: an error; its first word is its kind, such as `ERR` or `WRONGTYPE`.
    Error(&'a [u8]),
    /// `:`
    Integer(i64),
    /// `_`, `$-1` or `*-1`: no value.
    Null,
    /// `#`
    Boolean(bool),
    /// `,`
    Double(f64),
    /// `(`: an integer of any size, in decimal.
    BigNumber(&'a [u8]),
    /// A bulk string begins. Its data follows.
    Bulk {
        /// The kind of its data.
        kind: Bulk,
        /// The number of bytes of data, at most [`MAX_BULK_BYTES`].
        length: u32,
    },
    /// The next piece of a bulk string's data, never empty.
    Data(&'a [u8]),
    /// An aggregate begins. Its elements follow.
    Aggregate {
        /// The kind of the aggregate.
        kind: Aggregate,
        /// The number of its values, at most [`MAX_ELEMENTS`]; keys and values both count.
        elements: u32,
    },
    /// The reply is complete, or a push before it.
    End {
        /// Whether this ends a push, so that the reply is yet to come.
        push: bool,
    },
}

/// The kinds of bulk strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bulk {
    /// `$`: any bytes.
    String,
    /// `!`: an error whose text does not fit on a line.
    Error,
    /// `=`: text, after a format of three letters and a colon.
    Verbatim,
}

/// The kinds of aggregates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregate {
    /// `*`
    Array,
    /// `%`: keys, each followed by its value.
    Map,
    /// `~`
    Set,
    /// `>`: a message that answers no request, such as an invalidation.
    Push,
    /// `|`: keys and values about the next value, which is not part of the attribute.
    Attribute,
}

/// Checks that a value may begin with `byte`.
pub(super) fn check_type(byte: u8) -> Result<(), Violation> {
    if b"+-:$*_#,(!=%~>|".contains(&byte) { Ok(()) } else { Err(Violation::UnknownType(byte)) }
}

/// Parses a line (with its CRLF).
pub(super) fn parse(line: &[u8]) -> Result<Event<'_>, Violation> {
    match parse_common(line) {
        Some((event, [])) => Ok(event),
        _ => parse_rarer(line::content(line)),
    }
}

/// Parses the most common lines at the front of `input`, without a search for their end. `None` does not mean that the
/// line is malformed: it is another one, or incomplete.
#[inline]
pub(super) fn parse_common(input: &[u8]) -> Option<(Event<'_>, &[u8])> {
    match input {
        [b'$', rest @ ..] => {
            let (length, rest) = decimal::take(rest)?;
            let rest = rest.strip_prefix(b"\r\n")?;
            let length = u32::try_from(length).ok().filter(|&length| length as usize <= MAX_BULK_BYTES)?;
            Some((Event::Bulk { kind: Bulk::String, length }, rest))
        }
        [b'+', b'O', b'K', b'\r', b'\n', rest @ ..] => Some((Event::Simple(&input[1..3]), rest)),
        _ => None,
    }
}

fn parse_rarer(line: &[u8]) -> Result<Event<'_>, Violation> {
    let Some((&first, text)) = line.split_first() else { return Err(Violation::MalformedValue) };
    match (first, text) {
        (b'+', _) => Ok(Event::Simple(text)),
        (b'-', _) => Ok(Event::Error(text)),
        (b':', _) => integer(text).map(Event::Integer),
        (b'$' | b'*', b"-1") | (b'_', []) => Ok(Event::Null),
        (b'#', b"t") => Ok(Event::Boolean(true)),
        (b'#', b"f") => Ok(Event::Boolean(false)),
        (b',', _) => double(text).map(Event::Double),
        (b'(', _) => big_number(text).map(Event::BigNumber),
        (b'$', _) => bulk(Bulk::String, text),
        (b'!', _) => bulk(Bulk::Error, text),
        (b'=', _) => bulk(Bulk::Verbatim, text),
        (b'*', _) => aggregate(Aggregate::Array, text, 1),
        (b'~', _) => aggregate(Aggregate::Set, text, 1),
        (b'>', _) => aggregate(Aggregate::Push, text, 1),
        (b'%', _) => aggregate(Aggregate::Map, text, 2),
        (b'|', _) => aggregate(Aggregate::Attribute, text, 2),
        _ => Err(Violation::MalformedValue),
    }
}

fn bulk(kind: Bulk, text: &[u8]) -> Result<Event<'_>, Violation> {
    match decimal::parse(text) {
        Some(length) if length <= MAX_BULK_BYTES as u64 => Ok(Event::Bulk { kind, length: length as u32 }),
        Some(_) => Err(Violation::BulkTooLarge),
        None => Err(Violation::MalformedValue),
    }
}

/// `values` is the number of values for each element that the line counts.
fn aggregate(kind: Aggregate, text: &[u8], values: u64) -> Result<Event<'_>, Violation> {
    let counted = decimal::parse(text).ok_or(Violation::MalformedValue)?;
    match counted.checked_mul(values) {
        Some(elements) if elements <= MAX_ELEMENTS as u64 => {
            Ok(Event::Aggregate { kind, elements: elements as u32 })
        }
        _ => Err(Violation::AggregateTooLarge),
    }
}

/// An optional sign, and digits.
fn integer(text: &[u8]) -> Result<i64, Violation> {
    let (digits, sign) = split_sign(text);
    let magnitude = decimal::parse(digits).ok_or(Violation::MalformedValue)?;
    i64::try_from(i128::from(magnitude) * sign).map_err(|_| Violation::MalformedValue)
}

fn big_number(text: &[u8]) -> Result<&[u8], Violation> {
    let (digits, _) = split_sign(text);
    let fits = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    if fits { Ok(text) } else { Err(Violation::MalformedValue) }
}

fn split_sign(text: &[u8]) -> (&[u8], i128) {
    match text {
        [b'-', digits @ ..] => (digits, -1),
        [b'+', digits @ ..] | digits => (digits, 1),
    }
}

/// `f64::from_str` accepts what the specification allows: decimal numbers, `inf` and `nan`.
fn double(text: &[u8]) -> Result<f64, Violation> {
    str::from_utf8(text).ok().and_then(|text| text.parse().ok()).ok_or(Violation::MalformedValue)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(line: &'static str) -> Result<Event<'static>, Violation> {
        parse(line.as_bytes())
    }

    #[test]
    fn every_type_is_parsed() {
        for (line, event) in [
            ("+OK\r\n", Event::Simple(b"OK")),
            ("+\r\n", Event::Simple(b"")),
            ("-ERR no such key\r\n", Event::Error(b"ERR no such key")),
            (":7\r\n", Event::Integer(7)),
            (":+7\r\n", Event::Integer(7)),
            (":-9223372036854775808\r\n", Event::Integer(i64::MIN)),
            ("$-1\r\n", Event::Null),
            ("*-1\r\n", Event::Null),
            ("_\r\n", Event::Null),
            ("#t\r\n", Event::Boolean(true)),
            ("#f\r\n", Event::Boolean(false)),
            (",3.5e1\r\n", Event::Double(35.0)),
            (",-inf\r\n", Event::Double(f64::NEG_INFINITY)),
            (
                "(-1234567999999999999999999999999999999\r\n",
                Event::BigNumber(b"-1234567999999999999999999999999999999"),
            ),
            ("$0\r\n", Event::Bulk { kind: Bulk::String, length: 0 }),
            ("!21\r\n", Event::Bulk { kind: Bulk::Error, length: 21 }),
            ("=15\r\n", Event::Bulk { kind: Bulk::Verbatim, length: 15 }),
            ("*2\r\n", Event::Aggregate { kind: Aggregate::Array, elements: 2 }),
            ("~2\r\n", Event::Aggregate { kind: Aggregate::Set, elements: 2 }),
            (">2\r\n", Event::Aggregate { kind: Aggregate::Push, elements: 2 }),
            ("%2\r\n", Event::Aggregate { kind: Aggregate::Map, elements: 4 }),
            ("|2\r\n", Event::Aggregate { kind: Aggregate::Attribute, elements: 4 }),
        ] {
            assert_eq!(one(line), Ok(event), "{line}");
        }
        assert!(matches!(one(",nan\r\n"), Ok(Event::Double(number)) if number.is_nan()));
    }

    #[test]
    fn each_violation_has_its_own_error() {
        for line in [
            "\r\n",
            ":\r\n",
            ":1.5\r\n",
            ":9223372036854775808\r\n",
            ":--1\r\n",
            "$\r\n",
            "$-2\r\n",
            "$?\r\n",
            "$1 \r\n",
            "*-2\r\n",
            "!-1\r\n",
            "_x\r\n",
            "#true\r\n",
            ",\r\n",
            ",1,5\r\n",
            "(\r\n",
            "(1e9\r\n",
        ] {
            assert_eq!(one(line), Err(Violation::MalformedValue), "{line}");
        }
        assert_eq!(one("$1073741825\r\n"), Err(Violation::BulkTooLarge));
        assert_eq!(one("*1073741825\r\n"), Err(Violation::AggregateTooLarge));
        assert_eq!(one("%536870913\r\n"), Err(Violation::AggregateTooLarge));
        assert_eq!(one("%18446744073709551615\r\n"), Err(Violation::AggregateTooLarge));
    }
}
