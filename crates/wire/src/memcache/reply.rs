//! Parses the lines of replies, one at a time. `decoder` keeps their order and the data between them.

use super::error::Violation;
use super::limits::{MAX_KEY_BYTES, MAX_VALUE_BYTES};
use crate::{decimal, line};

/// The reply that comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// To `get`, `gets`, `gat`, `gats`: any number of values.
    Get,
    /// To `set`, `add`, `replace`, `append`, `prepend`, `cas`.
    Store,
    /// To `delete`.
    Delete,
    /// To `incr` and `decr`.
    Arithmetic,
    /// To `touch`.
    Touch,
    /// To `mg`.
    MetaGet,
    /// To `ms`.
    MetaStore,
    /// To `md`.
    MetaDelete,
    /// To `mn`.
    MetaNoop,
    /// To `flush_all` and `verbosity`.
    Ok,
    /// To `version`.
    Version,
    /// To `stats`: any number of statistics.
    Stats,
}

/// An event of the decoder: a reply has any number of values or statistics, and one `Done`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A value begins. Its data follows.
    Value(Value<'a>),
    /// The next piece of the value's data, never empty.
    Data(&'a [u8]),
    /// One statistic.
    Stat {
        /// Its name, such as `curr_items`.
        name: &'a [u8],
        /// Its value, which may have spaces.
        value: &'a [u8],
    },
    /// The reply is complete.
    Done {
        /// The result of the request.
        outcome: Outcome,
        /// The rest of the final line: the text of an error, the version, or the flags of a meta reply
        /// (see [`meta_flag`]).
        detail: &'a [u8],
    },
}

/// The line before a value's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value<'a> {
    /// The key. Empty in a meta reply without flag `k`.
    pub key: &'a [u8],
    /// The client's flags; 0 in a meta reply without flag `f`.
    pub flags: u32,
    /// The number of bytes of data, at most [`MAX_VALUE_BYTES`].
    pub length: u32,
    /// The rest of the line: the CAS unique, or the flags of a meta reply.
    rest: &'a [u8],
}

impl<'a> Value<'a> {
    /// The CAS unique, if the request was `gets` or had flag `c`.
    pub fn cas(&self) -> Option<u64> {
        decimal::parse(self.rest).or_else(|| decimal::parse(self.meta_flag(b'c')?))
    }

    /// The text of a flag of a meta reply, see [`meta_flag`].
    pub fn meta_flag(&self, flag: u8) -> Option<&'a [u8]> {
        meta_flag(self.rest, flag)
    }
}

/// The text after the letter of a flag, in the flags of a meta reply (`s1024 t-1`).
pub fn meta_flag(flags: &[u8], flag: u8) -> Option<&[u8]> {
    words(flags).find_map(|word| word.strip_prefix(&[flag]))
}

/// The result of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// `END` after the values, `EN`, or the end of the one value of `mg`: no value is a miss.
    Retrieved {
        /// Number of values.
        values: u32,
    },
    /// `HD` to an `mg` without flag `v`: the item exists.
    Found,
    /// `STORED`, or `HD` to `ms`.
    Stored,
    /// `NOT_STORED`, or `NS`: the condition of `add`, `replace`, `append` or `prepend` was not met.
    NotStored,
    /// `EXISTS`, or `EX`: the item has changed since its CAS unique was read.
    Exists,
    /// `NOT_FOUND`, or `NF`.
    NotFound,
    /// `DELETED`, or `HD` to `md`.
    Deleted,
    /// `TOUCHED`.
    Touched,
    /// The number after `incr` or `decr`.
    Number(u64),
    /// `OK`, `MN`, `RESET`, or the `END` of statistics.
    Ok,
    /// `VERSION`, with the version as detail.
    Version,
    /// `ERROR`: the server does not know the command, or has no connection left.
    Error,
    /// `CLIENT_ERROR`: the server could not parse the request. It may parse the rest of the request as commands
    /// and answer them: close the connection.
    ClientError,
    /// `SERVER_ERROR`: the server could not carry out the request, for example for lack of memory.
    ServerError,
}

impl Outcome {
    /// Whether the server answered with one of its three errors.
    pub fn is_error(self) -> bool {
        matches!(self, Self::Error | Self::ClientError | Self::ServerError)
    }
}

/// Parses a line (with its CRLF) of the expected reply, after `values` values.
pub(super) fn parse(expect: Expect, line: &[u8], values: u32) -> Result<Event<'_>, Violation> {
    match parse_common(expect, line, values) {
        Some((event, [])) => Ok(event),
        _ => parse_rarer(expect, line::content(line)),
    }
}

/// Parses the most common lines at the front of `input`, without a search for their end. `None` does not mean that the
/// line is malformed: it is another one, or incomplete.
#[inline]
pub(super) fn parse_common(expect: Expect, input: &[u8], values: u32) -> Option<(Event<'_>, &[u8])> {
    let done = |outcome, rest| Some((Event::Done { outcome, detail: &[] }, rest));
    match (expect, input) {
        (Expect::Get, [b'V', b'A', b'L', b'U', b'E', b' ', rest @ ..]) => value(rest),
        (Expect::Get, [b'E', b'N', b'D', b'\r', b'\n', rest @ ..]) => {
            done(Outcome::Retrieved { values }, rest)
        }
        (Expect::Store, [b'S', b'T', b'O', b'R', b'E', b'D', b'\r', b'\n', rest @ ..]) => {
            done(Outcome::Stored, rest)
        }
        _ => None,
    }
}

/// Parses the less common lines, apart from the caller's loop.
fn parse_rarer(expect: Expect, line: &[u8]) -> Result<Event<'_>, Violation> {
    let (word, detail) = split_word(line);
    let outcome = match (expect, word) {
        (_, b"ERROR") => Outcome::Error,
        (_, b"CLIENT_ERROR") => Outcome::ClientError,
        (_, b"SERVER_ERROR") => Outcome::ServerError,
        (Expect::Version, b"VERSION") => Outcome::Version,
        (Expect::Get, b"VALUE") => {
            // `value` has refused it for its length or its form.
            let length = words(detail).nth(2).map_or(Ok(0), value_length);
            return Err(length.err().unwrap_or(Violation::MalformedValue));
        }
        (Expect::MetaGet, b"VA") => return meta_value(detail),
        (Expect::Stats, b"STAT") => {
            return match split_word(detail) {
                ([], _) => Err(Violation::UnexpectedReply),
                (name, value) => Ok(Event::Stat { name, value }),
            };
        }

        (Expect::MetaGet, b"EN") => Outcome::Retrieved { values: 0 },
        (Expect::MetaGet, b"HD") => Outcome::Found,
        (Expect::MetaStore, b"HD") => Outcome::Stored,
        (Expect::MetaStore, b"NS") => Outcome::NotStored,
        (Expect::MetaDelete, b"HD") => Outcome::Deleted,
        (Expect::MetaStore | Expect::MetaDelete, b"EX") => Outcome::Exists,
        (Expect::MetaStore | Expect::MetaDelete, b"NF") => Outcome::NotFound,

        // No other line has text after its first word.
        _ if word.len() < line.len() => return Err(Violation::UnexpectedReply),
        (Expect::Store, b"NOT_STORED") => Outcome::NotStored,
        (Expect::Store, b"EXISTS") => Outcome::Exists,
        (Expect::Store | Expect::Delete | Expect::Arithmetic | Expect::Touch, b"NOT_FOUND") => {
            Outcome::NotFound
        }
        (Expect::Delete, b"DELETED") => Outcome::Deleted,
        (Expect::Touch, b"TOUCHED") => Outcome::Touched,
        (Expect::Ok, b"OK") | (Expect::MetaNoop, b"MN") | (Expect::Stats, b"END" | b"RESET" | b"OK") => {
            Outcome::Ok
        }
        (Expect::Arithmetic, digits) => match decimal::parse(digits) {
            Some(number) => Outcome::Number(number),
            None => return Err(Violation::UnexpectedReply),
        },
        _ => return Err(Violation::UnexpectedReply),
    };
    Ok(Event::Done { outcome, detail })
}

/// `<key> <flags> <bytes> [<cas unique>]` and CRLF.
#[inline]
fn value(line: &[u8]) -> Option<(Event<'_>, &[u8])> {
    let window = &line[..line.len().min(MAX_KEY_BYTES + 1)];
    let (key, line) = line.split_at(window.iter().position(|&byte| byte <= b' ')?);
    let (flags, line) = decimal::take(line.strip_prefix(b" ")?)?;
    let (length, after) = decimal::take(line.strip_prefix(b" ")?)?;
    let (rest, line) = match after {
        [b' ', unique @ ..] => {
            let (_, line) = decimal::take(unique)?;
            (&unique[..unique.len() - line.len()], line)
        }
        _ => (&[][..], after),
    };
    let line = line.strip_prefix(b"\r\n")?;
    if key.is_empty() || length > MAX_VALUE_BYTES as u64 {
        return None;
    }
    Some((Event::Value(Value { key, flags: flags.try_into().ok()?, length: length as u32, rest }), line))
}

/// `<size> <flags>*`
fn meta_value(line: &[u8]) -> Result<Event<'_>, Violation> {
    let (length, rest) = split_word(line);
    let mut value = Value { key: &[], flags: 0, length: value_length(length)?, rest };
    for word in words(rest) {
        match word {
            [b'k', key @ ..] => value.key = key,
            [b'f', flags @ ..] => value.flags = client_flags(flags)?,
            _ => {}
        }
    }
    Ok(Event::Value(value))
}

fn client_flags(digits: &[u8]) -> Result<u32, Violation> {
    decimal::parse(digits).and_then(|flags| flags.try_into().ok()).ok_or(Violation::MalformedValue)
}

fn value_length(digits: &[u8]) -> Result<u32, Violation> {
    match decimal::parse(digits) {
        Some(length) if length <= MAX_VALUE_BYTES as u64 => Ok(length as u32),
        Some(_) => Err(Violation::ValueTooLarge),
        None => Err(Violation::MalformedValue),
    }
}

/// The first word of a line, and the text after the space.
#[inline]
fn split_word(line: &[u8]) -> (&[u8], &[u8]) {
    match line.iter().position(|&byte| byte == b' ') {
        Some(at) => (&line[..at], &line[at + 1..]),
        None => (line, &[]),
    }
}

fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|&byte| byte == b' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result of a request with a reply of one line, and the detail.
    fn outcome(expect: Expect, line: &str) -> (Outcome, String) {
        match parse(expect, format!("{line}\r\n").as_bytes(), 0) {
            Ok(Event::Done { outcome, detail }) => (outcome, String::from_utf8_lossy(detail).into_owned()),
            other => panic!("{line}: {other:?}"),
        }
    }

    /// As sent by memcached 1.6.18.
    #[test]
    fn final_lines() {
        for (expect, line, expected) in [
            (Expect::Store, "STORED", Outcome::Stored),
            (Expect::Store, "NOT_STORED", Outcome::NotStored),
            (Expect::Store, "EXISTS", Outcome::Exists),
            (Expect::Store, "NOT_FOUND", Outcome::NotFound),
            (Expect::Delete, "DELETED", Outcome::Deleted),
            (Expect::Delete, "NOT_FOUND", Outcome::NotFound),
            (Expect::Arithmetic, "18446744073709551615", Outcome::Number(u64::MAX)),
            (Expect::Touch, "TOUCHED", Outcome::Touched),
            (Expect::MetaStore, "HD", Outcome::Stored),
            (Expect::MetaStore, "NS", Outcome::NotStored),
            (Expect::MetaStore, "EX", Outcome::Exists),
            (Expect::MetaDelete, "HD", Outcome::Deleted),
            (Expect::MetaDelete, "NF", Outcome::NotFound),
            (Expect::MetaNoop, "MN", Outcome::Ok),
            (Expect::Ok, "OK", Outcome::Ok),
            (Expect::Stats, "RESET", Outcome::Ok),
        ] {
            assert_eq!(outcome(expect, line), (expected, String::new()), "{line}");
        }
        assert_eq!(outcome(Expect::Version, "VERSION 1.6.18"), (Outcome::Version, "1.6.18".into()));
        assert_eq!(outcome(Expect::MetaStore, "HD c2"), (Outcome::Stored, "c2".into()));
    }

    #[test]
    fn errors_answer_any_request() {
        let too_large = "object too large for cache".to_owned();
        for expect in [Expect::Get, Expect::Store, Expect::MetaGet, Expect::Stats] {
            let error = outcome(expect, "SERVER_ERROR object too large for cache");
            assert_eq!(error, (Outcome::ServerError, too_large.clone()));
            assert!(error.0.is_error());
            assert_eq!(outcome(expect, "ERROR"), (Outcome::Error, String::new()));
        }
    }

    #[test]
    fn a_value_says_what_was_asked_for() {
        let value = |expect, line: &'static str| match parse(expect, line.as_bytes(), 0) {
            Ok(Event::Value(value)) => value,
            other => panic!("{line}: {other:?}"),
        };
        let classic = value(Expect::Get, "VALUE foo 5 3 17\r\n");
        assert_eq!(
            (classic.key, classic.flags, classic.length, classic.cas()),
            (&b"foo"[..], 5, 3, Some(17))
        );
        assert_eq!(value(Expect::Get, "VALUE foo 5 3\r\n").cas(), None);

        let meta = value(Expect::MetaGet, "VA 3 kfoo f5 c17 t-1\r\n");
        assert_eq!((meta.key, meta.flags, meta.length, meta.cas()), (&b"foo"[..], 5, 3, Some(17)));
        assert_eq!((meta.meta_flag(b't'), meta.meta_flag(b's')), (Some(&b"-1"[..]), None));
    }
}
