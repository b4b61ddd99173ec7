//! Renders packets. A text that ends with a NUL is cut at its first NUL, so that it cannot inject another field; all
//! others have their length before them.
//!
//! Every function appends one packet to `out`, and allocates nothing if `out` has room. Each but [`quit`] has
//! one reply: call [`ReplyDecoder::expect`](super::ReplyDecoder::expect) once. Packets of 16 MiB or more, which must
//! be sent in pieces, are not supported: see [`MAX_STATEMENT_BYTES`].

use super::packet::{Greeting, capability};
use super::row::push_integer;
use crate::Parameter;

/// Most bytes of a statement: a packet has at most 2²⁴ - 2.
pub const MAX_STATEMENT_BYTES: usize = (1 << 24) - 16;

/// utf8mb4 with its general collation, which all servers know.
const UTF8MB4: u8 = 45;

const COM_QUIT: u8 = 0x01;
const COM_QUERY: u8 = 0x03;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;

/// Types of parameters ("Column Types").
const TYPE_LONG: u8 = 0x03;
const TYPE_VAR_STRING: u8 = 0xfd;

/// The login of a user to a database.
#[derive(Clone, Copy, Debug)]
pub struct HandshakeResponse<'a> {
    /// The user's name.
    pub user: &'a str,
    /// The database.
    pub database: &'a str,
    /// The plugin that made the answer, see [`auth`](super::auth).
    pub plugin: &'a str,
    /// The answer to the greeting's nonce, at most 250 bytes.
    pub answer: &'a [u8],
}

/// The answer to a greeting ("`Protocol::HandshakeResponse41`").
pub fn handshake_response(
    out: &mut Vec<u8>,
    sequence: u8,
    greeting: &Greeting<'_>,
    response: &HandshakeResponse<'_>,
) {
    let mut wanted = capability::NEEDED
        | capability::FOUND_ROWS
        | capability::LONG_FLAG
        | capability::CONNECT_WITH_DB
        | capability::TRANSACTIONS;
    wanted |= if greeting.caches_metadata { capability::CACHE_METADATA } else { capability::LONG_PASSWORD };
    packet(out, sequence, |out| {
        out.extend_from_slice(&(wanted as u32).to_le_bytes());
        out.extend_from_slice(&(1_u32 << 24).to_le_bytes());
        out.push(UTF8MB4);
        out.extend_from_slice(&[0; 19]);
        out.extend_from_slice(&((wanted >> 32) as u32).to_le_bytes());
        terminated(out, response.user);
        out.push(response.answer.len() as u8);
        out.extend_from_slice(response.answer);
        terminated(out, response.database);
        terminated(out, response.plugin);
    });
}

/// A further answer of a login.
pub fn auth_answer(out: &mut Vec<u8>, sequence: u8, answer: &[u8]) {
    packet(out, sequence, |out| out.extend_from_slice(answer));
}

/// A query of one statement without parameters, which `write` appends.
#[inline]
pub fn query(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    packet(out, 0, |out| {
        out.push(COM_QUERY);
        write(out);
    });
}

/// Prepares a statement.
pub fn prepare(out: &mut Vec<u8>, sql: &str) {
    packet(out, 0, |out| {
        out.push(COM_STMT_PREPARE);
        out.extend_from_slice(sql.as_bytes());
    });
}

/// Executes a prepared statement with all its parameters.
#[inline]
pub fn execute(out: &mut Vec<u8>, statement: u32, parameters: &[Parameter<'_>]) {
    packet(out, 0, |out| {
        out.push(COM_STMT_EXECUTE);
        out.extend_from_slice(&statement.to_le_bytes());
        // No cursor; one iteration.
        out.extend_from_slice(&[0, 1, 0, 0, 0]);
        if parameters.is_empty() {
            return;
        }
        // No parameter is NULL; their types follow.
        out.resize(out.len() + parameters.len().div_ceil(8), 0);
        out.push(1);
        for parameter in parameters {
            let kind = match parameter {
                Parameter::Int(_) => TYPE_LONG,
                Parameter::Text(_) => TYPE_VAR_STRING,
            };
            out.extend_from_slice(&[kind, 0]);
        }
        for parameter in parameters {
            match parameter {
                Parameter::Int(value) => out.extend_from_slice(&value.to_le_bytes()),
                Parameter::Text(value) => {
                    push_integer(out, value.len() as u64);
                    out.extend_from_slice(value);
                }
            }
        }
    });
}

/// Ends the session.
pub fn quit(out: &mut Vec<u8>) {
    packet(out, 0, |out| out.push(COM_QUIT));
}

#[inline]
fn packet(out: &mut Vec<u8>, sequence: u8, write: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    write(out);
    let length = (out.len() - at - 4) as u32;
    let header = length | u32::from(sequence) << 24;
    out[at..at + 4].copy_from_slice(&header.to_le_bytes());
}

fn terminated(out: &mut Vec<u8>, text: &str) {
    let text = text.as_bytes();
    let end = memchr::memchr(0, text).unwrap_or(text.len());
    out.extend_from_slice(&text[..end]);
    out.push(0);
}

#[cfg(test)]
mod tests {
    use super::super::auth::NATIVE;
    use super::super::packet;
    use super::*;

    fn rendered(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        out.escape_ascii().to_string()
    }

    #[test]
    fn packets_begin_with_length_and_number() {
        assert_eq!(
            rendered(|out| query(out, |out| out.extend_from_slice(b"BEGIN"))),
            r"\x06\x00\x00\x00\x03BEGIN"
        );
        assert_eq!(rendered(|out| auth_answer(out, 3, b"ab")), r"\x02\x00\x00\x03ab");
        assert_eq!(rendered(quit), r"\x01\x00\x00\x00\x01");
    }

    #[test]
    fn parameters_are_sent_with_their_types() {
        let executed = rendered(|out| execute(out, 7, &[Parameter::Int(9), Parameter::Text(b"ab")]));
        let expected = concat!(
            r"\x17\x00\x00\x00\x17\x07\x00\x00\x00\x00\x01\x00\x00\x00",
            r"\x00\x01\x03\x00\xfd\x00\t\x00\x00\x00\x02ab"
        );
        assert_eq!(executed, expected);
    }

    #[test]
    fn a_login_names_user_database_and_plugin() {
        let greeting = packet::greeting(packet::tests::GREETING).expect("a greeting");
        let response = HandshakeResponse { user: "u\0x", database: "d", plugin: NATIVE, answer: b"20 bytes" };
        let login = rendered(|out| handshake_response(out, 1, &greeting, &response));
        assert!(login.ends_with(r"u\x00\x0820 bytesd\x00mysql_native_password\x00"), "{login}");
    }
}
