//! Renders commands. Every function appends one whole command to `out`, or refuses a part of it and
//! leaves `out` unchanged; none allocates if `out` has room.
//!
//! Each function names the [`Expect`](super::Expect) of its reply.

use super::error::RequestError;
use super::limits::{MAX_KEY_BYTES, MAX_VALUE_BYTES};
use crate::decimal;

/// The commands that store a value without a condition on its CAS unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// Store unconditionally.
    Set,
    /// Store only if the key does not exist.
    Add,
    /// Store only if the key exists.
    Replace,
    /// Append to the stored value.
    Append,
    /// Prepend to the stored value.
    Prepend,
}

impl Store {
    const fn word(self) -> &'static str {
        match self {
            Self::Set => "set ",
            Self::Add => "add ",
            Self::Replace => "replace ",
            Self::Append => "append ",
            Self::Prepend => "prepend ",
        }
    }
}

/// `get`. Reply: [`Expect::Get`](super::Expect::Get).
#[inline]
pub fn get(out: &mut Vec<u8>, key: &[u8]) -> Result<(), RequestError> {
    get_many(out, &[key])
}

/// `get` of several keys. Reply: [`Expect::Get`](super::Expect::Get).
#[inline]
pub fn get_many(out: &mut Vec<u8>, keys: &[&[u8]]) -> Result<(), RequestError> {
    retrieve(out, "get", keys)
}

/// `gets`, which also returns the CAS uniques. Reply: [`Expect::Get`](super::Expect::Get).
pub fn gets(out: &mut Vec<u8>, keys: &[&[u8]]) -> Result<(), RequestError> {
    retrieve(out, "gets", keys)
}

#[inline]
fn retrieve(out: &mut Vec<u8>, command: &str, keys: &[&[u8]]) -> Result<(), RequestError> {
    if keys.is_empty() {
        return Err(RequestError::EmptyKey);
    }
    for key in keys {
        check_key(key)?;
    }
    push(out, command);
    for key in keys {
        out.push(b' ');
        out.extend_from_slice(key);
    }
    end(out);
    Ok(())
}

/// `set`. Reply: [`Expect::Store`](super::Expect::Store).
#[inline]
pub fn set(
    out: &mut Vec<u8>,
    key: &[u8],
    flags: u32,
    exptime: i64,
    value: &[u8],
) -> Result<(), RequestError> {
    store(out, Store::Set, key, flags, exptime, value)
}

/// Any of [`Store`]. Reply: [`Expect::Store`](super::Expect::Store).
///
/// `exptime` is 0 for never, up to 30 days the number of seconds from now, above that a Unix time; negative for
/// immediately.
#[inline]
pub fn store(
    out: &mut Vec<u8>,
    command: Store,
    key: &[u8],
    flags: u32,
    exptime: i64,
    value: &[u8],
) -> Result<(), RequestError> {
    store_line(out, command, key, flags, exptime, value.len())?;
    out.extend_from_slice(value);
    end(out);
    Ok(())
}

/// Only the line of a [`store`], for callers that send a large value without a copy: `length` bytes and CRLF
/// must follow.
#[inline]
pub fn store_line(
    out: &mut Vec<u8>,
    command: Store,
    key: &[u8],
    flags: u32,
    exptime: i64,
    length: usize,
) -> Result<(), RequestError> {
    check_key(key)?;
    check_length(length)?;
    push(out, command.word());
    push_item(out, key, flags, exptime, length);
    end(out);
    Ok(())
}

/// `cas`: store only if the item's CAS unique is still `unique`. Reply:
/// [`Expect::Store`](super::Expect::Store).
pub fn cas(
    out: &mut Vec<u8>,
    key: &[u8],
    flags: u32,
    exptime: i64,
    value: &[u8],
    unique: u64,
) -> Result<(), RequestError> {
    check_key(key)?;
    check_length(value.len())?;
    push(out, "cas ");
    push_item(out, key, flags, exptime, value.len());
    out.push(b' ');
    decimal::push(out, unique);
    end(out);
    out.extend_from_slice(value);
    end(out);
    Ok(())
}

/// `delete`. Reply: [`Expect::Delete`](super::Expect::Delete).
pub fn delete(out: &mut Vec<u8>, key: &[u8]) -> Result<(), RequestError> {
    check_key(key)?;
    push(out, "delete ");
    out.extend_from_slice(key);
    end(out);
    Ok(())
}

/// `incr`. Reply: [`Expect::Arithmetic`](super::Expect::Arithmetic).
pub fn incr(out: &mut Vec<u8>, key: &[u8], by: u64) -> Result<(), RequestError> {
    with_number(out, "incr ", key, by)
}

/// `decr`. Reply: [`Expect::Arithmetic`](super::Expect::Arithmetic).
pub fn decr(out: &mut Vec<u8>, key: &[u8], by: u64) -> Result<(), RequestError> {
    with_number(out, "decr ", key, by)
}

/// `touch`. Reply: [`Expect::Touch`](super::Expect::Touch); `exptime` as in [`store`].
pub fn touch(out: &mut Vec<u8>, key: &[u8], exptime: i64) -> Result<(), RequestError> {
    with_number(out, "touch ", key, exptime)
}

fn with_number(
    out: &mut Vec<u8>,
    command: &str,
    key: &[u8],
    number: impl itoa::Integer,
) -> Result<(), RequestError> {
    check_key(key)?;
    push(out, command);
    out.extend_from_slice(key);
    out.push(b' ');
    decimal::push(out, number);
    end(out);
    Ok(())
}

/// `mg` with flags such as `"v k"` (value and key). Reply: [`Expect::MetaGet`](super::Expect::MetaGet).
#[inline]
pub fn meta_get(out: &mut Vec<u8>, key: &[u8], flags: &str) -> Result<(), RequestError> {
    check_key(key)?;
    check_meta_flags(flags)?;
    push_meta(out, "mg ", key, None, flags);
    Ok(())
}

/// `ms` with flags such as `"T60 F5"` (expiry and client's flags). Reply:
/// [`Expect::MetaStore`](super::Expect::MetaStore).
pub fn meta_set(out: &mut Vec<u8>, key: &[u8], value: &[u8], flags: &str) -> Result<(), RequestError> {
    check_key(key)?;
    check_meta_flags(flags)?;
    check_length(value.len())?;
    push_meta(out, "ms ", key, Some(value.len()), flags);
    out.extend_from_slice(value);
    end(out);
    Ok(())
}

/// `md` with flags such as `"C12"` (only if the CAS unique is 12). Reply:
/// [`Expect::MetaDelete`](super::Expect::MetaDelete).
pub fn meta_delete(out: &mut Vec<u8>, key: &[u8], flags: &str) -> Result<(), RequestError> {
    check_key(key)?;
    check_meta_flags(flags)?;
    push_meta(out, "md ", key, None, flags);
    Ok(())
}

/// `mn`. Reply: [`Expect::MetaNoop`](super::Expect::MetaNoop).
pub fn meta_noop(out: &mut Vec<u8>) {
    push(out, "mn\r\n");
}

/// `version`. Reply: [`Expect::Version`](super::Expect::Version).
pub fn version(out: &mut Vec<u8>) {
    push(out, "version\r\n");
}

/// `flush_all`. Reply: [`Expect::Ok`](super::Expect::Ok).
pub fn flush_all(out: &mut Vec<u8>) {
    push(out, "flush_all\r\n");
}

/// `stats`, of one section such as `items`, or the general ones when it is empty. Reply:
/// [`Expect::Stats`](super::Expect::Stats).
pub fn stats(out: &mut Vec<u8>, section: &str) -> Result<(), RequestError> {
    if !section.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(RequestError::Section(section.to_owned()));
    }
    push(out, if section.is_empty() { "stats" } else { "stats " });
    push(out, section);
    end(out);
    Ok(())
}

/// Checks a key: 1 to [`MAX_KEY_BYTES`] bytes without white space and control characters.
#[inline]
pub fn check_key(key: &[u8]) -> Result<(), RequestError> {
    if key.is_empty() {
        return Err(RequestError::EmptyKey);
    }
    if key.len() > MAX_KEY_BYTES {
        return Err(RequestError::KeyTooLong { bytes: key.len() });
    }
    match key.iter().position(|&byte| byte <= b' ' || byte == 0x7f) {
        Some(at) => Err(RequestError::KeyByte { found: key[at], at }),
        None => Ok(()),
    }
}

fn check_length(bytes: usize) -> Result<(), RequestError> {
    if bytes > MAX_VALUE_BYTES { Err(RequestError::ValueTooLarge { bytes }) } else { Ok(()) }
}

fn check_meta_flags(flags: &str) -> Result<(), RequestError> {
    if flags.is_empty() {
        return Ok(());
    }
    for word in flags.split(' ') {
        if word.is_empty() || !word.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(RequestError::MetaFlags(flags.to_owned()));
        }
        if word.starts_with('q') {
            return Err(RequestError::QuietFlag);
        }
    }
    Ok(())
}

fn push_item(out: &mut Vec<u8>, key: &[u8], flags: u32, exptime: i64, length: usize) {
    out.extend_from_slice(key);
    out.push(b' ');
    decimal::push(out, flags);
    out.push(b' ');
    decimal::push(out, exptime);
    out.push(b' ');
    decimal::push(out, length);
}

fn push_meta(out: &mut Vec<u8>, command: &str, key: &[u8], length: Option<usize>, flags: &str) {
    push(out, command);
    out.extend_from_slice(key);
    if let Some(length) = length {
        out.push(b' ');
        decimal::push(out, length);
    }
    if !flags.is_empty() {
        out.push(b' ');
        push(out, flags);
    }
    end(out);
}

fn push(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

fn end(out: &mut Vec<u8>) {
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(render: impl FnOnce(&mut Vec<u8>) -> Result<(), RequestError>) -> String {
        let mut out = Vec::new();
        render(&mut out).expect("the request is valid");
        String::from_utf8(out).expect("the request is text")
    }

    #[test]
    fn commands_have_the_form_of_protocol_txt() {
        assert_eq!(rendered(|out| get(out, b"a")), "get a\r\n");
        assert_eq!(rendered(|out| get_many(out, &[b"a", b"b"])), "get a b\r\n");
        assert_eq!(rendered(|out| gets(out, &[b"a"])), "gets a\r\n");
        assert_eq!(rendered(|out| set(out, b"a", 5, -1, b"val")), "set a 5 -1 3\r\nval\r\n");
        assert_eq!(rendered(|out| store(out, Store::Append, b"a", 0, 0, b"")), "append a 0 0 0\r\n\r\n");
        assert_eq!(rendered(|out| cas(out, b"a", 0, 60, b"v", 17)), "cas a 0 60 1 17\r\nv\r\n");
        assert_eq!(rendered(|out| delete(out, b"a")), "delete a\r\n");
        assert_eq!(rendered(|out| incr(out, b"a", 2)), "incr a 2\r\n");
        assert_eq!(rendered(|out| decr(out, b"a", 2)), "decr a 2\r\n");
        assert_eq!(rendered(|out| touch(out, b"a", 60)), "touch a 60\r\n");
        assert_eq!(rendered(|out| meta_get(out, b"a", "v k")), "mg a v k\r\n");
        assert_eq!(rendered(|out| meta_set(out, b"a", b"val", "T60 F5")), "ms a 3 T60 F5\r\nval\r\n");
        assert_eq!(rendered(|out| meta_delete(out, b"a", "")), "md a\r\n");
        assert_eq!(rendered(|out| stats(out, "")), "stats\r\n");
        assert_eq!(rendered(|out| stats(out, "items")), "stats items\r\n");
    }

    #[test]
    fn no_part_can_inject_another_command() {
        type Render = fn(&mut Vec<u8>) -> Result<(), RequestError>;
        let bad: [Render; 14] = [
            |out| get(out, b""),
            |out| get(out, b"a b"),
            |out| get(out, b"a\r\nflush_all"),
            |out| get(out, &[b'a'; MAX_KEY_BYTES + 1]),
            |out| get_many(out, &[]),
            |out| get_many(out, &[b"a", b"b\n"]),
            |out| set(out, b"a\0", 0, 0, b"v"),
            |out| store_line(out, Store::Set, b"a", 0, 0, MAX_VALUE_BYTES + 1),
            |out| cas(out, b"\x7f", 0, 0, b"v", 1),
            |out| meta_get(out, b"a", "v  k"),
            |out| meta_get(out, b"a", "v\r\nflush_all"),
            |out| meta_set(out, b"a", b"v", "q"),
            |out| stats(out, "items\r\n"),
            |out| stats(out, "a b"),
        ];
        for (number, render) in bad.iter().enumerate() {
            let mut out = b"before".to_vec();
            assert!(render(&mut out).is_err(), "number {number}");
            assert_eq!(out, b"before", "number {number}");
        }
    }

    #[test]
    fn a_refusal_names_the_position() {
        let error = check_key(b"user 1").expect_err("a space");
        assert_eq!(
            error.to_string(),
            "the key has the byte 0x20 at 4: leave out white space and control characters"
        );
    }
}
