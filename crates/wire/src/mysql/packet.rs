//! Parses the packets of the server, one at a time. `decoder` keeps their order.

use super::error::Violation;
use super::row::{Row, take_integer};
use crate::frame::{take_array, take_bytes, take_terminated};

/// An event of the decoder. A reply ends with the first event that [`is_final`](Event::is_final).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// The first packet of the server.
    Greeting(Greeting<'a>),
    /// The server asks for another plugin of the login.
    AuthSwitch {
        /// Its name, such as `mysql_native_password`.
        plugin: &'a [u8],
        /// The data for it, different for each login.
        nonce: &'a [u8],
    },
    /// A further message of the login, see [`auth`](super::auth).
    AuthMore(&'a [u8]),
    /// Rows with this number of columns follow.
    Columns(u16),
    /// The description of a column or a parameter, which is not decoded.
    Described,
    /// A row.
    Row(Row<'a>),
    /// A statement is prepared, and all its descriptions have come.
    Prepared(Prepared),
    /// A statement is done.
    Done(Done),
    /// The statement or the connection has failed.
    Error(ServerError<'a>),
}

/// The message of `caching_sha2_password` that the server has accepted the login: an [`Event::Done`] follows.
pub(super) const FAST_AUTH_DONE: &[u8] = &[3];

impl Event<'_> {
    /// Whether it ends a reply: the next message is the client's, or there is none.
    pub fn is_final(&self) -> bool {
        match self {
            Self::Done(done) => !done.has_more,
            Self::AuthMore(data) => *data != FAST_AUTH_DONE,
            Self::Columns(_) | Self::Described | Self::Row(_) => false,
            _ => true,
        }
    }
}

/// The greeting of the server ("`Protocol::HandshakeV10`").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Greeting<'a> {
    /// The server's version, such as `10.11.6-MariaDB`.
    pub version: &'a [u8],
    /// The connection's number.
    pub connection: u32,
    /// The plugin of the login.
    pub plugin: &'a [u8],
    /// Different for each login: 20 bytes.
    pub nonce: [u8; 20],
    /// Whether it can omit descriptions of columns that it has sent before.
    pub(super) caches_metadata: bool,
}

/// A prepared statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// Its number on this connection.
    pub statement: u32,
    /// Number of parameters.
    pub parameters: u16,
    /// Number of columns of its rows.
    pub columns: u16,
}

/// The result of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// Rows that the statement found to change, because the client asks for `CLIENT_FOUND_ROWS`.
    pub affected_rows: u64,
    /// Whether the session is in a transaction.
    pub in_transaction: bool,
    /// Whether another result follows in this reply.
    pub has_more: bool,
}

/// An error ("`ERR_Packet`").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerError<'a> {
    /// MySQL's number of the error.
    pub number: u16,
    /// SQLSTATE, five characters; empty before the login.
    pub state: &'a [u8],
    /// The text for people.
    pub message: &'a [u8],
}

/// Bits of the status ("Status Flags").
const IN_TRANSACTION: u16 = 0x0001;
const MORE_RESULTS: u16 = 0x0008;

/// Bits of the capabilities ("Capabilities Flags").
pub(super) mod capability {
    pub const LONG_PASSWORD: u64 = 1;
    pub const FOUND_ROWS: u64 = 1 << 1;
    pub const LONG_FLAG: u64 = 1 << 2;
    pub const CONNECT_WITH_DB: u64 = 1 << 3;
    pub const PROTOCOL_41: u64 = 1 << 9;
    pub const TRANSACTIONS: u64 = 1 << 13;
    pub const SECURE_CONNECTION: u64 = 1 << 15;
    pub const PLUGIN_AUTH: u64 = 1 << 19;
    pub const DEPRECATE_EOF: u64 = 1 << 24;
    /// In MariaDB's extended capabilities, which exist where `LONG_PASSWORD` is not set.
    pub const CACHE_METADATA: u64 = 1 << 36;
    /// Capabilities that this codec needs.
    pub const NEEDED: u64 = PROTOCOL_41 | SECURE_CONNECTION | PLUGIN_AUTH | DEPRECATE_EOF;
}

/// The first packet of the server.
pub(super) fn greeting(packet: &[u8]) -> Result<Greeting<'_>, Violation> {
    let Some(mut rest) = packet.strip_prefix(&[10]) else { return Err(Violation::NoGreeting) };
    fields(&mut rest).ok_or(Violation::MalformedPacket)?.check()
}

/// The greeting, and the server's capabilities.
struct Offered<'a>(Greeting<'a>, u64);

impl<'a> Offered<'a> {
    fn check(self) -> Result<Greeting<'a>, Violation> {
        if self.1 & capability::NEEDED == capability::NEEDED { Ok(self.0) } else { Err(Violation::TooOld) }
    }
}

fn fields<'a>(rest: &mut &'a [u8]) -> Option<Offered<'a>> {
    let version = take_terminated(rest)?;
    let connection = u32::from_le_bytes(*take_array(rest)?);
    let first: &[u8; 8] = take_array(rest)?;
    let [_filler] = *take_array(rest)?;
    let low = u16::from_le_bytes(*take_array(rest)?);
    let mut greeting = Greeting { version, connection, plugin: b"", nonce: [0; 20], caches_metadata: false };
    // The packet of an old server ends here.
    let Some([_character_set, _, _, high_0, high_1, nonce_bytes]) = take_array(rest) else {
        return Some(Offered(greeting, u64::from(low)));
    };
    let high = u16::from_le_bytes([*high_0, *high_1]);
    let [_, _, _, _, _, _, extended @ ..] = *take_array::<10>(rest)?;
    let mut offered = u64::from(low) | u64::from(high) << 16;
    if offered & capability::LONG_PASSWORD == 0 {
        offered |= u64::from(u32::from_le_bytes(extended)) << 32;
    }
    let second = take_bytes(rest, usize::from(*nonce_bytes).saturating_sub(8).max(13))?;
    greeting.nonce[..8].copy_from_slice(first);
    greeting.nonce[8..].copy_from_slice(&second[..12]);
    greeting.plugin = take_terminated(rest).unwrap_or(rest);
    greeting.caches_metadata = offered & capability::CACHE_METADATA != 0;
    Some(Offered(greeting, offered))
}

/// `OK_Packet`, also at the end of rows.
#[inline]
pub(super) fn done(packet: &[u8]) -> Option<Done> {
    let mut rest = packet.get(1..)?;
    let affected_rows = take_integer(&mut rest)?;
    let _last_insert_id = take_integer(&mut rest)?;
    let status = u16::from_le_bytes(*take_array(&mut rest)?);
    let _warnings: &[u8; 2] = take_array(&mut rest)?;
    Some(Done {
        affected_rows,
        in_transaction: status & IN_TRANSACTION != 0,
        has_more: status & MORE_RESULTS != 0,
    })
}

/// `ERR_Packet`.
pub(super) fn server_error(packet: &[u8]) -> Option<ServerError<'_>> {
    let mut rest = packet.get(1..)?;
    let number = u16::from_le_bytes(*take_array(&mut rest)?);
    let (state, message) = match rest {
        [b'#', after @ ..] => after.split_at_checked(5)?,
        _ => (&[][..], rest),
    };
    Some(ServerError { number, state, message })
}

/// `AuthSwitchRequest`.
pub(super) fn auth_switch(packet: &[u8]) -> Option<Event<'_>> {
    let mut rest = packet.get(1..)?;
    let plugin = take_terminated(&mut rest)?;
    Some(Event::AuthSwitch { plugin, nonce: rest.strip_suffix(&[0]).unwrap_or(rest) })
}

/// `COM_STMT_PREPARE_OK`.
pub(super) fn prepared(packet: &[u8]) -> Option<Prepared> {
    let mut rest = packet.get(1..)?;
    let statement = u32::from_le_bytes(*take_array(&mut rest)?);
    let columns = u16::from_le_bytes(*take_array(&mut rest)?);
    let parameters = u16::from_le_bytes(*take_array(&mut rest)?);
    Some(Prepared { statement, parameters, columns })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// As sent by MariaDB 10.11.
    pub const GREETING: &[u8] =
        b"\x0a5.5.5-10.11.19-MariaDB-0+deb12u1\0\x05\0\0\0abcdefgh\0\xfe\xf7\x2d\x02\0\xff\x81\
        \x15\0\0\0\0\0\0\x1d\0\0\0ijklmnopqrst\0mysql_native_password\0";

    #[test]
    fn a_greeting_is_parsed() {
        let greeting = greeting(GREETING).expect("a greeting");
        assert_eq!(greeting.version, b"5.5.5-10.11.19-MariaDB-0+deb12u1");
        assert_eq!((greeting.connection, &greeting.nonce), (5, b"abcdefghijklmnopqrst"));
        assert_eq!(greeting.plugin, b"mysql_native_password");
        assert!(greeting.caches_metadata);
    }

    #[test]
    fn unsupported_servers_are_refused() {
        assert_eq!(greeting(b"\x09x"), Err(Violation::NoGreeting));
        assert_eq!(greeting(b"\x0a5.1"), Err(Violation::MalformedPacket));
        assert_eq!(greeting(b"\x0a5.0\0\x05\0\0\0abcdefgh\0\xff\xf7"), Err(Violation::TooOld));
    }

    #[test]
    fn errors_have_a_number_and_after_the_login_a_state() {
        let deadlock = server_error(b"\xff\xbd\x04#40001Deadlock found").expect("an error");
        assert_eq!((deadlock.number, deadlock.state), (1213, &b"40001"[..]));
        let early = server_error(b"\xff\x10\x04Too many connections").expect("an error");
        assert_eq!(
            (early.number, early.state, early.message),
            (1040, &b""[..], &b"Too many connections"[..])
        );
    }
}
