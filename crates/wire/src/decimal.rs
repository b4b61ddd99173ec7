//! Decimal numbers in the form of the protocols: digits and nothing else. (`str::parse` accepts a `+` and needs UTF-8.)
//! The crate `itoa` writes them.

/// Parses an unsigned decimal number that fills `digits`; `None` if it is empty, has another character,
/// more than twenty digits, or exceeds `u64::MAX`.
#[inline]
pub(crate) fn parse(digits: &[u8]) -> Option<u64> {
    match take(digits)? {
        (number, []) => Some(number),
        _ => None,
    }
}

/// Parses the number at the front of `bytes`, as [`parse`] does, and returns it with the rest.
#[inline]
pub(crate) fn take(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0u64;
    let mut at = 0;
    while let Some(digit) = bytes.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|&digit| digit <= 9) {
        number = match at {
            // Nineteen digits always fit.
            0..19 => number * 10 + u64::from(digit),
            19 => number.checked_mul(10)?.checked_add(u64::from(digit))?,
            _ => return None,
        };
        at += 1;
    }
    (at > 0).then(|| (number, &bytes[at..]))
}

/// Appends `number` in decimal.
#[inline]
pub(crate) fn push(out: &mut Vec<u8>, number: impl itoa::Integer) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_digits_are_a_number() {
        assert_eq!(parse(b"0"), Some(0));
        assert_eq!(parse(b"007"), Some(7));
        assert_eq!(parse(b"18446744073709551615"), Some(u64::MAX));
        for bad in
            [&b""[..], b"+1", b"-1", b" 1", b"1 ", b"0x1", b"1e3", b"18446744073709551616", &[b'0'; 21]]
        {
            assert_eq!(parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_number_is_written_in_decimal() {
        let mut out = b"Content-Length: ".to_vec();
        push(&mut out, u64::MAX);
        assert_eq!(out, b"Content-Length: 18446744073709551615");
    }
}
