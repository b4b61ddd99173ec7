//! Renders commands as arrays of bulk strings, the form that all servers accept. Every part has its length before it, so
//! no part can inject another command and none is refused.
//!
//! Every function appends one whole command to `out`, and allocates nothing if `out` has room. Each has one
//! reply: call [`ReplyDecoder::expect`](super::ReplyDecoder::expect) once.

use crate::decimal;

/// Any command, such as `command(out, "HGET", &[b"user:1", b"name"])`.
#[inline]
pub fn command(out: &mut Vec<u8>, name: &str, arguments: &[&[u8]]) {
    push_length(out, b'*', 1 + arguments.len());
    push_bulk(out, name.as_bytes());
    for argument in arguments {
        push_bulk(out, argument);
    }
}

/// `GET`. Reply: a bulk string or null.
#[inline]
pub fn get(out: &mut Vec<u8>, key: &[u8]) {
    command(out, "GET", &[key]);
}

/// `SET`. Reply: `OK`.
#[inline]
pub fn set(out: &mut Vec<u8>, key: &[u8], value: &[u8]) {
    command(out, "SET", &[key, value]);
}

/// `DEL`. Reply: the number of keys that existed.
#[inline]
pub fn delete(out: &mut Vec<u8>, key: &[u8]) {
    command(out, "DEL", &[key]);
}

fn push_bulk(out: &mut Vec<u8>, data: &[u8]) {
    push_length(out, b'$', data.len());
    out.extend_from_slice(data);
    out.extend_from_slice(b"\r\n");
}

fn push_length(out: &mut Vec<u8>, kind: u8, length: usize) {
    out.push(kind);
    decimal::push(out, length);
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_may_be_any_bytes() {
        let mut out = Vec::new();
        set(&mut out, b"a\r\n", b"");
        assert_eq!(out, b"*3\r\n$3\r\nSET\r\n$3\r\na\r\n\r\n$0\r\n\r\n");
        out.clear();
        get(&mut out, b"k");
        delete(&mut out, b"k");
        assert_eq!(out, b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n*2\r\n$3\r\nDEL\r\n$1\r\nk\r\n");
    }
}
