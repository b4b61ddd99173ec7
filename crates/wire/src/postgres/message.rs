//! Parses the messages of the server, one at a time ("Message Formats" in the manual). `decoder` keeps their order.

use super::error::Violation;
use crate::decimal;
use crate::frame::{take_array, take_bytes, take_terminated};

/// The reply that comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// The reply to the startup message, and to each answer of a login.
    Login,
    /// The reply to a simple query, to anything that ends in `Sync`, and to the end of a copy.
    Query,
}

/// An event of the decoder. A reply ends with the first event that [`is_final`](Event::is_final).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// The server asks for a password, or has accepted the login.
    Authentication(Authentication<'a>),
    /// A setting of the server or of the session, such as `server_version`.
    Setting {
        /// Its name.
        name: &'a [u8],
        /// Its value.
        value: &'a [u8],
    },
    /// The key to cancel requests of this session.
    CancelKey {
        /// The server's process.
        process: u32,
        /// The secret of this session.
        secret: u32,
    },
    /// A statement is prepared.
    Parsed,
    /// Parameters are bound.
    Bound,
    /// A statement or portal is closed.
    Closed,
    /// Rows with this number of columns follow.
    Columns(u16),
    /// A row.
    Row(Row<'a>),
    /// A statement is done, see [`rows_of`].
    Complete {
        /// The tag, such as `UPDATE 1`.
        tag: &'a [u8],
    },
    /// The statement was empty.
    Empty,
    /// The server waits for the data of a copy.
    CopyIn,
    /// The statement or the connection has failed.
    Error(ServerError<'a>),
    /// A notice of the server.
    Notice(ServerError<'a>),
    /// The reply is complete.
    Ready(TransactionStatus),
}

impl Event<'_> {
    /// Whether it ends a reply: the next message is the client's, or there is none.
    pub fn is_final(&self) -> bool {
        match self {
            Self::Ready(_) | Self::CopyIn => true,
            Self::Authentication(asked) => {
                !matches!(asked, Authentication::Satisfied | Authentication::SaslFinal(_))
            }
            Self::Error(error) => error.is_fatal(),
            _ => false,
        }
    }
}

/// A step of a login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authentication<'a> {
    /// The login is accepted; settings follow.
    Satisfied,
    /// The password in clear text.
    Cleartext,
    /// See [`auth::md5`](super::auth::md5).
    Md5 {
        /// Random for each login.
        salt: [u8; 4],
    },
    /// One of these mechanisms (RFC 4422), each with a NUL after it.
    Sasl {
        /// Their names, such as `SCRAM-SHA-256\0`.
        mechanisms: &'a [u8],
    },
    /// The server's next message.
    SaslContinue(&'a [u8]),
    /// The server's last message, which the client verifies.
    SaslFinal(&'a [u8]),
}

/// The state of a session between replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionStatus {
    /// In no transaction.
    Idle,
    /// In a transaction.
    Open,
    /// In a transaction that can only be rolled back.
    Failed,
}

/// An error or notice ("Error and Notice Message Fields").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerError<'a> {
    /// `ERROR`, `FATAL`, `NOTICE`, in English for every server.
    pub severity: &'a [u8],
    /// SQLSTATE, five characters.
    pub code: &'a [u8],
    /// The text for people.
    pub message: &'a [u8],
}

impl ServerError<'_> {
    /// Whether it also ends the connection.
    pub fn is_fatal(&self) -> bool {
        matches!(self.severity, b"FATAL" | b"PANIC")
    }
}

/// A complete row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Row<'a> {
    columns: u16,
    fields: &'a [u8],
}

impl<'a> Row<'a> {
    /// Number of fields.
    pub fn columns(&self) -> u16 {
        self.columns
    }

    /// Its fields in the order of the columns; `None` for NULL.
    pub fn fields(&self) -> Fields<'a> {
        Fields { left: self.fields }
    }

    #[inline]
    fn parse(mut body: &'a [u8]) -> Option<Self> {
        let columns = u16::from_be_bytes(*take_array(&mut body)?);
        let mut rest = body;
        for _ in 0..columns {
            take_field(&mut rest)?;
        }
        rest.is_empty().then_some(Self { columns, fields: body })
    }
}

impl std::fmt::Debug for Row<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let fields = self.fields().map(|field| field.map(|bytes| bytes.escape_ascii().to_string()));
        f.debug_list().entries(fields).finish()
    }
}

/// The fields of a row.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    left: &'a [u8],
}

impl<'a> Iterator for Fields<'a> {
    type Item = Option<&'a [u8]>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        take_field(&mut self.left)
    }
}

/// Takes a length, -1 for NULL, and that many bytes.
#[inline]
#[expect(clippy::option_option, reason = "there is no field, or the field is NULL or a value")]
fn take_field<'a>(fields: &mut &'a [u8]) -> Option<Option<&'a [u8]>> {
    let length = i32::from_be_bytes(*take_array(fields)?);
    match usize::try_from(length) {
        Ok(length) => take_bytes(fields, length).map(Some),
        Err(_) => (length == -1).then_some(None),
    }
}

/// The number of rows that a statement has returned or changed, from its tag: `SELECT 3`, `INSERT 0 1`. `None` where the
/// tag has no number, as that of `BEGIN`.
pub fn rows_of(tag: &[u8]) -> Option<u64> {
    let at = memchr::memrchr(b' ', tag)?;
    decimal::parse(&tag[at + 1..])
}

/// Parses a message of the type `kind`.
#[inline]
pub(super) fn parse(expect: Expect, kind: u8, body: &[u8]) -> Result<Event<'_>, Violation> {
    let malformed = Violation::MalformedMessage(kind);
    let alone = |event| if body.is_empty() { Ok(event) } else { Err(malformed) };
    match (expect, kind) {
        (Expect::Query, b'2') => alone(Event::Bound),
        (Expect::Query, b'D') => Row::parse(body).map(Event::Row).ok_or(malformed),
        (Expect::Query, b'C') => match body {
            [tag @ .., 0] => Ok(Event::Complete { tag }),
            _ => Err(malformed),
        },
        (_, b'Z') => match body {
            b"I" => Ok(Event::Ready(TransactionStatus::Idle)),
            b"T" => Ok(Event::Ready(TransactionStatus::Open)),
            b"E" => Ok(Event::Ready(TransactionStatus::Failed)),
            _ => Err(malformed),
        },
        (Expect::Query, b'1') => alone(Event::Parsed),
        (Expect::Query, b'3') => alone(Event::Closed),
        (Expect::Query, b'n') => alone(Event::Columns(0)),
        (Expect::Query, b'I') => alone(Event::Empty),
        (Expect::Query, b'T') => {
            body.first_chunk().map(|columns| Event::Columns(u16::from_be_bytes(*columns))).ok_or(malformed)
        }
        (Expect::Query, b'G') => Ok(Event::CopyIn),
        (_, b'E') => server_error(body).map(Event::Error).ok_or(malformed),
        (_, b'N') => server_error(body).map(Event::Notice).ok_or(malformed),
        (_, b'S') => setting(body).ok_or(malformed),
        (Expect::Login, b'K') => cancel_key(body).ok_or(malformed),
        (Expect::Login, b'R') => authentication(body),
        _ => Err(Violation::UnexpectedMessage(kind)),
    }
}

fn authentication(mut body: &[u8]) -> Result<Event<'_>, Violation> {
    let malformed = Violation::MalformedMessage(b'R');
    let kind = u32::from_be_bytes(*take_array(&mut body).ok_or(malformed)?);
    let asked = match (kind, body) {
        (0, []) => Authentication::Satisfied,
        (3, []) => Authentication::Cleartext,
        (5, salt) => Authentication::Md5 { salt: salt.try_into().map_err(|_| malformed)? },
        (10, mechanisms) => Authentication::Sasl { mechanisms },
        (11, message) => Authentication::SaslContinue(message),
        (12, message) => Authentication::SaslFinal(message),
        (0 | 3, _) => return Err(malformed),
        (other, _) => return Err(Violation::UnknownAuthentication(other)),
    };
    Ok(Event::Authentication(asked))
}

fn setting(mut body: &[u8]) -> Option<Event<'_>> {
    let (name, value) = (take_terminated(&mut body)?, take_terminated(&mut body)?);
    body.is_empty().then_some(Event::Setting { name, value })
}

fn cancel_key(mut body: &[u8]) -> Option<Event<'_>> {
    let (process, secret) = (take_array(&mut body)?, take_array(&mut body)?);
    let key = Event::CancelKey { process: u32::from_be_bytes(*process), secret: u32::from_be_bytes(*secret) };
    body.is_empty().then_some(key)
}

fn server_error(mut body: &[u8]) -> Option<ServerError<'_>> {
    let mut error = ServerError { severity: b"", code: b"", message: b"" };
    loop {
        let [field] = *take_array(&mut body)?;
        match field {
            0 => return body.is_empty().then_some(error),
            // The localized severity comes first; servers before 9.6 send no other.
            b'S' if error.severity.is_empty() => error.severity = take_terminated(&mut body)?,
            b'V' => error.severity = take_terminated(&mut body)?,
            b'C' => error.code = take_terminated(&mut body)?,
            b'M' => error.message = take_terminated(&mut body)?,
            _ => drop(take_terminated(&mut body)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As sent by PostgreSQL 15.
    #[test]
    fn messages_of_the_server_are_parsed() {
        let error = b"SERROR\0VERROR\0C40P01\0Mdeadlock detected\0Fdeadlock.c\0\0";
        let parsed = parse(Expect::Query, b'E', error);
        assert_eq!(
            parsed,
            Ok(Event::Error(ServerError {
                severity: b"ERROR",
                code: b"40P01",
                message: b"deadlock detected"
            }))
        );
        assert!(!parsed.is_ok_and(|event| event.is_final()));
        let fatal = parse(Expect::Login, b'E', b"SFEHLER\0VFATAL\0C28P01\0Mpassword\0\0");
        assert!(fatal.is_ok_and(|event| event.is_final()));
        assert_eq!(
            parse(Expect::Login, b'R', b"\0\0\0\x0aSCRAM-SHA-256\0\0"),
            Ok(Event::Authentication(Authentication::Sasl { mechanisms: b"SCRAM-SHA-256\0\0" }))
        );
        assert_eq!(
            parse(Expect::Login, b'S', b"TimeZone\0Etc/UTC\0"),
            Ok(Event::Setting { name: b"TimeZone", value: b"Etc/UTC" })
        );
    }

    #[test]
    fn a_row_has_its_fields_and_no_other_bytes() {
        let body = b"\0\x03\0\0\0\x02ab\xff\xff\xff\xff\0\0\0\0";
        let row = Row::parse(body).expect("a row");
        assert_eq!(row.columns(), 3);
        assert_eq!(row.fields().collect::<Vec<_>>(), [Some(&b"ab"[..]), None, Some(&b""[..])]);
        for bad in [&b"\0\x01"[..], b"\0\x01\0\0\0\x05ab", b"\0\0x", b"\0\x01\xff\xff\xff\xfe"] {
            assert_eq!(parse(Expect::Query, b'D', bad), Err(Violation::MalformedMessage(b'D')), "{bad:?}");
        }
    }

    #[test]
    fn a_tag_has_the_number_of_rows() {
        assert_eq!(
            [rows_of(b"INSERT 0 3"), rows_of(b"UPDATE 1"), rows_of(b"BEGIN")],
            [Some(3), Some(1), None]
        );
    }

    #[test]
    fn unexpected_messages_are_refused() {
        for (expect, kind) in [(Expect::Login, b'D'), (Expect::Query, b'R'), (Expect::Query, b'H')] {
            assert_eq!(parse(expect, kind, b""), Err(Violation::UnexpectedMessage(kind)));
        }
        assert_eq!(parse(Expect::Login, b'R', b"\0\0\0\x07"), Err(Violation::UnknownAuthentication(7)));
    }
}
