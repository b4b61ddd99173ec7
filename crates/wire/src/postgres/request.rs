//! Renders messages. A text that ends with a NUL is cut at its first NUL, so that it cannot inject another message; all
//! others have their length before them.
//!
//! Every function appends one message or several to `out`, and allocates nothing if `out` has room. Call
//! [`ReplyDecoder::expect`](super::ReplyDecoder::expect) once for each [`startup`], [`query`], [`sync`], [`copy_done`],
//! and answer of a login.

use crate::Parameter;

/// Protocol 3.0.
const VERSION: u32 = 3 << 16;
/// All parameters are in binary.
const BINARY: u16 = 1;

/// The first message, with the user and the database of the login.
pub fn startup(out: &mut Vec<u8>, user: &str, database: &str) {
    framed(out, |out| {
        out.extend_from_slice(&VERSION.to_be_bytes());
        for (name, value) in [("user", user), ("database", database), ("application_name", "showdown")] {
            text(out, name);
            text(out, value);
        }
        out.push(0);
    });
}

/// The answer to a request for a password.
pub fn password(out: &mut Vec<u8>, password: &[u8]) {
    message(out, b'p', |out| terminated(out, password));
}

/// The first answer of a SASL login.
pub fn sasl_initial(out: &mut Vec<u8>, mechanism: &str, data: &[u8]) {
    message(out, b'p', |out| {
        text(out, mechanism);
        out.extend_from_slice(&(data.len() as u32).to_be_bytes());
        out.extend_from_slice(data);
    });
}

/// The further answers of a SASL login.
pub fn sasl_continue(out: &mut Vec<u8>, data: &[u8]) {
    message(out, b'p', |out| out.extend_from_slice(data));
}

/// A simple query: one statement or several, without parameters.
#[inline]
pub fn query(out: &mut Vec<u8>, sql: &str) {
    message(out, b'Q', |out| text(out, sql));
}

/// Prepares a statement under a name; the server infers the types of its parameters.
pub fn parse(out: &mut Vec<u8>, name: &str, sql: &str) {
    message(out, b'P', |out| {
        text(out, name);
        text(out, sql);
        out.extend_from_slice(&0_u16.to_be_bytes());
    });
}

/// Binds parameters to a prepared statement and executes it to its end; rows come as text.
#[inline]
pub fn bind_and_execute(out: &mut Vec<u8>, name: &str, parameters: &[Parameter<'_>]) {
    message(out, b'B', |out| {
        // The unnamed portal.
        out.push(0);
        text(out, name);
        out.extend_from_slice(&1_u16.to_be_bytes());
        out.extend_from_slice(&BINARY.to_be_bytes());
        out.extend_from_slice(&(parameters.len() as u16).to_be_bytes());
        for parameter in parameters {
            match parameter {
                Parameter::Int(value) => {
                    out.extend_from_slice(&4_u32.to_be_bytes());
                    out.extend_from_slice(&value.to_be_bytes());
                }
                Parameter::Text(value) => {
                    out.extend_from_slice(&(value.len() as u32).to_be_bytes());
                    out.extend_from_slice(value);
                }
            }
        }
        out.extend_from_slice(&0_u16.to_be_bytes());
    });
    out.extend_from_slice(b"E\0\0\0\x09\0\0\0\0\0");
}

/// Ends a group of messages: the server answers all of them.
#[inline]
pub fn sync(out: &mut Vec<u8>) {
    out.extend_from_slice(b"S\0\0\0\x04");
}

/// A piece of the data of a copy, which `write` appends.
pub fn copy_data(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    message(out, b'd', write);
}

/// The end of the data of a copy.
pub fn copy_done(out: &mut Vec<u8>) {
    out.extend_from_slice(b"c\0\0\0\x04");
}

/// Ends the session.
pub fn terminate(out: &mut Vec<u8>) {
    out.extend_from_slice(b"X\0\0\0\x04");
}

#[inline]
fn message(out: &mut Vec<u8>, kind: u8, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind);
    framed(out, write);
}

/// Appends what `write` writes, after its length, which counts itself.
#[inline]
fn framed(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    write(out);
    let length = (out.len() - at) as u32;
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
}

#[inline]
fn text(out: &mut Vec<u8>, text: &str) {
    terminated(out, text.as_bytes());
}

#[inline]
fn terminated(out: &mut Vec<u8>, text: &[u8]) {
    let end = memchr::memchr(0, text).unwrap_or(text.len());
    out.extend_from_slice(&text[..end]);
    out.push(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        out.escape_ascii().to_string()
    }

    #[test]
    fn messages_begin_with_their_length() {
        assert_eq!(rendered(|out| query(out, "BEGIN")), r"Q\x00\x00\x00\nBEGIN\x00");
        assert_eq!(
            rendered(|out| parse(out, "s", "SELECT $1")),
            r"P\x00\x00\x00\x12s\x00SELECT $1\x00\x00\x00"
        );
        assert_eq!(
            rendered(|out| sasl_initial(out, "M", b"xy")),
            r"p\x00\x00\x00\x0cM\x00\x00\x00\x00\x02xy"
        );
        assert!(rendered(|out| startup(out, "u", "d")).contains(r"user\x00u\x00database\x00d\x00"));
    }

    #[test]
    fn parameters_are_sent_in_binary() {
        let bound = rendered(|out| bind_and_execute(out, "s", &[Parameter::Int(7), Parameter::Text(b"ab")]));
        let expected = concat!(
            r"B\x00\x00\x00\x1d\x00s\x00\x00\x01\x00\x01\x00\x02\x00\x00\x00\x04\x00\x00\x00\x07",
            r"\x00\x00\x00\x02ab\x00\x00E\x00\x00\x00\t\x00\x00\x00\x00\x00"
        );
        assert_eq!(bound, expected);
    }

    #[test]
    fn a_nul_cannot_inject_another_message() {
        assert_eq!(rendered(|out| query(out, "BEGIN\0X")), rendered(|out| query(out, "BEGIN")));
    }
}
