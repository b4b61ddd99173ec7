//! Decimal numbers as protocols write them: digits and nothing else. (`str::parse` would also take
//! a `+` and needs UTF-8 first.) Writing them is left to the `itoa` crate.

/// Reads an unsigned decimal number that fills `digits`; `None` if it is empty, has another character,
/// or exceeds `u64::MAX`.
#[inline]
pub(crate) fn parse(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    let mut number = 0u64;
    for &byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    Some(number)
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
    fn takes_digits_only() {
        assert_eq!(parse(b"0"), Some(0));
        assert_eq!(parse(b"007"), Some(7));
        assert_eq!(parse(b"18446744073709551615"), Some(u64::MAX));
        for bad in [&b""[..], b"+1", b"-1", b" 1", b"1 ", b"0x1", b"1e3", b"18446744073709551616"] {
            assert_eq!(parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn writes_what_it_reads() {
        let mut out = b"Content-Length: ".to_vec();
        push(&mut out, u64::MAX);
        assert_eq!(out, b"Content-Length: 18446744073709551615");
    }
}
