//! The cookies of a user in slots of a fixed size. A user keeps every cookie of the one server that it talks to: path, domain
//! and flags do not matter there, and a cookie that is set to expire at once is removed.

/// A cookie as a reply sets it (RFC 6265, section 5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SetCookie<'a> {
    /// `name=value`.
    pub pair: &'a [u8],
    /// Length of the name.
    name: usize,
    /// Whether it removes the cookie.
    pub is_expired: bool,
}

/// Why a cookie is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JarError {
    /// All slots have other cookies.
    Full,
    /// It is longer than a slot.
    TooLong(usize),
    /// It has a byte that no header may have.
    BadByte,
}

impl<'a> SetCookie<'a> {
    /// Reads the value of a `Set-Cookie` field; none where it has no name.
    pub fn parse(field: &'a [u8]) -> Option<Self> {
        let mut parts = field.split(|byte| *byte == b';');
        let pair = parts.next()?.trim_ascii();
        let name = pair.iter().position(|byte| *byte == b'=').filter(|name| *name > 0)?;
        let mut cookie = Self { pair, name, is_expired: false };
        let mut has_age = false;
        for attribute in parts {
            let attribute = attribute.trim_ascii();
            let at = attribute.iter().position(|byte| *byte == b'=').unwrap_or(attribute.len());
            let (key, value) = (&attribute[..at], attribute.get(at + 1..).unwrap_or_default());
            if key.eq_ignore_ascii_case(b"max-age") {
                has_age = true;
                cookie.is_expired = value.starts_with(b"-") || value == b"0";
            } else if key.eq_ignore_ascii_case(b"expires") && !has_age {
                // Servers remove a cookie with a date at the beginning of time.
                cookie.is_expired = has_old_year(value);
            }
        }
        Some(cookie)
    }

    /// The name.
    pub fn name(&self) -> &'a [u8] {
        &self.pair[..self.name]
    }
}

/// Whether a date is of a year before 2000: the only dates in the past that servers send.
fn has_old_year(date: &[u8]) -> bool {
    let is_year = |part: &&[u8]| part.len() == 4 && part.iter().all(u8::is_ascii_digit);
    let year = date.split(|byte| matches!(byte, b' ' | b'-')).find(is_year);
    year.is_some_and(|year| year.starts_with(b"1"))
}

/// The jar of one user over its memory: slots of `bytes` bytes, each after its length.
#[derive(Debug)]
pub(super) struct Jar<'a> {
    memory: &'a mut [u8],
    slot_bytes: usize,
}

/// Bytes of a slot's length.
const LENGTH_BYTES: usize = 2;

/// Bytes of memory for a jar.
pub(super) const fn jar_bytes(slots: usize, slot_bytes: usize) -> usize {
    slots * (slot_bytes + LENGTH_BYTES)
}

impl<'a> Jar<'a> {
    /// A jar in memory that is zero where it is empty.
    pub fn new(memory: &'a mut [u8], slot_bytes: usize) -> Self {
        Self { memory, slot_bytes }
    }

    /// Keeps, replaces or removes a cookie.
    pub fn set(&mut self, cookie: &SetCookie<'_>) -> Result<(), JarError> {
        let name = cookie.name();
        let size = self.slot_bytes + LENGTH_BYTES;
        let mut free = None;
        for (at, slot) in self.memory.chunks_exact(size).enumerate() {
            let kept = pair_of(slot);
            if kept.is_empty() {
                free = free.or(Some(at));
            } else if kept.starts_with(name) && kept.get(name.len()) == Some(&b'=') {
                free = Some(at);
                break;
            }
        }
        if cookie.is_expired {
            if let Some(at) = free {
                self.memory[at * size..][..LENGTH_BYTES].fill(0);
            }
            return Ok(());
        }
        let length = cookie.pair.len();
        if length > self.slot_bytes {
            return Err(JarError::TooLong(length));
        }
        if !cookie.pair.iter().all(|byte| matches!(byte, b' '..=b'~')) {
            return Err(JarError::BadByte);
        }
        let at = free.ok_or(JarError::Full)?;
        let slot = &mut self.memory[at * size..][..size];
        let bytes = u16::try_from(length).expect("a slot has at most 65,535 bytes").to_le_bytes();
        slot[..LENGTH_BYTES].copy_from_slice(&bytes);
        slot[LENGTH_BYTES..][..length].copy_from_slice(cookie.pair);
        Ok(())
    }
}

fn pair_of(slot: &[u8]) -> &[u8] {
    let length = u16::from_le_bytes([slot[0], slot[1]]);
    &slot[LENGTH_BYTES..][..usize::from(length)]
}

/// Appends the value of `Cookie` to `out`. Whether there is a cookie.
pub(super) fn write_cookies(memory: &[u8], slot_bytes: usize, out: &mut Vec<u8>) -> bool {
    let begin = out.len();
    for slot in memory.chunks_exact(slot_bytes + LENGTH_BYTES) {
        let pair = pair_of(slot);
        if !pair.is_empty() {
            if out.len() > begin {
                out.extend_from_slice(b"; ");
            }
            out.extend_from_slice(pair);
        }
    }
    out.len() > begin
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SLOTS: usize = 2;
    const BYTES: usize = 16;

    /// The cookies after these fields, or the first error.
    fn after(fields: &[&str]) -> Result<String, JarError> {
        let mut memory = vec![0; jar_bytes(SLOTS, BYTES)];
        for field in fields {
            let Some(cookie) = SetCookie::parse(field.as_bytes()) else { continue };
            Jar::new(&mut memory, BYTES).set(&cookie)?;
        }
        let mut out = Vec::new();
        write_cookies(&memory, BYTES, &mut out);
        Ok(String::from_utf8(out).expect("ASCII"))
    }

    #[test]
    fn cookies_are_kept_replaced_and_removed() {
        assert_eq!(after(&["sid=1; Path=/; HttpOnly", "lang=de"]).as_deref(), Ok("sid=1; lang=de"));
        assert_eq!(after(&["sid=1", "lang=de", "sid=22"]).as_deref(), Ok("sid=22; lang=de"));
        assert_eq!(after(&["sid=1", "sid=; Max-Age=0", "a=b"]).as_deref(), Ok("a=b"));
        assert_eq!(after(&["sid=1", "sid=x; expires=Thu, 01-Jan-1970 00:00:01 GMT"]).as_deref(), Ok(""));
        assert_eq!(after(&["sid=1; Expires=Thu, 01 Jan 2099 00:00:00 GMT"]).as_deref(), Ok("sid=1"));
        assert_eq!(after(&["s=1", "sid=2"]).as_deref(), Ok("s=1; sid=2"), "one name begins with the other");
        assert_eq!(after(&["=x", "novalue", ""]).as_deref(), Ok(""));
    }

    #[test]
    fn a_jar_does_not_grow() {
        assert_eq!(after(&["a=1", "b=2", "c=3"]), Err(JarError::Full));
        assert_eq!(after(&["a=123456789012345"]), Err(JarError::TooLong(17)));
        assert_eq!(after(&["a=1\u{7f}"]), Err(JarError::BadByte));
    }

    proptest! {
        #[test]
        fn no_field_breaks_a_jar(fields in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..10)) {
            let mut memory = vec![0; jar_bytes(SLOTS, BYTES)];
            for field in &fields {
                if let Some(cookie) = SetCookie::parse(field) {
                    let _ = Jar::new(&mut memory, BYTES).set(&cookie);
                }
            }
            let mut out = Vec::new();
            write_cookies(&memory, BYTES, &mut out);
            prop_assert!(out.len() <= SLOTS * BYTES + 2);
            prop_assert!(out.iter().all(|byte| matches!(byte, b' '..=b'~')));
        }
    }
}
