//! Parses rows, in text and in binary, and the length-encoded integers and texts of packets.

use std::fmt;

use crate::frame::{take_array, take_bytes};

/// A row of a result.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Row<'a> {
    columns: u16,
    /// One bit for each column, after two unused bits; none if the row is in text.
    nulls: Option<&'a [u8]>,
    fields: &'a [u8],
}

/// NULL in a row in text.
const NULL: u8 = 0xfb;
/// Unused bits at the front of a binary row's bitmap.
const UNUSED_BITS: usize = 2;

impl<'a> Row<'a> {
    /// A row of a query: every field is a text or NULL.
    pub(super) fn text(packet: &'a [u8], columns: u16) -> Option<Self> {
        let mut rest = packet;
        for _ in 0..columns {
            match rest {
                [NULL, after @ ..] => rest = after,
                _ => drop(take_text(&mut rest)?),
            }
        }
        rest.is_empty().then_some(Self { columns, nulls: None, fields: packet })
    }

    /// A row of a prepared statement: the types of the columns say what its fields are.
    #[inline]
    pub(super) fn binary(packet: &'a [u8], columns: u16) -> Option<Self> {
        let rest = packet.strip_prefix(&[0])?;
        let (nulls, fields) = rest.split_at_checked((usize::from(columns) + UNUSED_BITS).div_ceil(8))?;
        Some(Self { columns, nulls: Some(nulls), fields })
    }

    /// Number of fields.
    pub fn columns(&self) -> u16 {
        self.columns
    }

    /// Its fields in the order of the columns, `None` for NULL. In a row of a prepared statement they are correct as
    /// long as the columns have text types; the iterator ends at the first field that cannot be a text.
    pub fn texts(&self) -> impl Iterator<Item = Option<&'a [u8]>> {
        let (nulls, mut rest) = (self.nulls, self.fields);
        (0..usize::from(self.columns)).map_while(move |column| {
            let is_null = match nulls {
                Some(bits) => {
                    let bit = column + UNUSED_BITS;
                    bits[bit / 8] >> (bit % 8) & 1 == 1
                }
                None if rest.first() == Some(&NULL) => {
                    rest = &rest[1..];
                    true
                }
                None => false,
            };
            if is_null { Some(None) } else { take_text(&mut rest).map(Some) }
        })
    }
}

impl fmt::Debug for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?} {}", self.columns, self.nulls, self.fields.escape_ascii())
    }
}

/// Takes an integer of one to nine bytes off the front ("Length-Encoded Integer").
#[inline]
pub(super) fn take_integer(packet: &mut &[u8]) -> Option<u64> {
    let [first] = *take_array(packet)?;
    Some(match first {
        0..=0xfa => u64::from(first),
        0xfc => u64::from(u16::from_le_bytes(*take_array(packet)?)),
        0xfd => {
            let [a, b, c] = *take_array(packet)?;
            u64::from(u32::from_le_bytes([a, b, c, 0]))
        }
        0xfe => u64::from_le_bytes(*take_array(packet)?),
        NULL | 0xff => return None,
    })
}

/// Takes a length-encoded text off the front.
#[inline]
pub(super) fn take_text<'p>(packet: &mut &'p [u8]) -> Option<&'p [u8]> {
    let length = take_integer(packet)?;
    take_bytes(packet, usize::try_from(length).ok()?)
}

/// Appends an integer in the form of [`take_integer`].
#[inline]
pub(super) fn push_integer(out: &mut Vec<u8>, value: u64) {
    match value {
        0..=0xfa => out.push(value as u8),
        0xfb..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&(value as u16).to_le_bytes());
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&(value as u32).to_le_bytes()[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&value.to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_survive_encoding_and_decoding() {
        for value in [0, 250, 251, 65_535, 65_536, 0xff_ffff, 0x100_0000, u64::MAX] {
            let mut out = Vec::new();
            push_integer(&mut out, value);
            let mut rest = out.as_slice();
            assert_eq!((take_integer(&mut rest), rest.len()), (Some(value), 0));
        }
        for bad in [&b""[..], b"\xfb", b"\xff", b"\xfc\x01"] {
            assert_eq!(take_integer(&mut { bad }), None);
        }
    }

    #[test]
    fn fields_in_text_and_in_binary() {
        let row = Row::text(b"\x02ab\xfb\x00", 3).expect("a row");
        assert_eq!(row.texts().collect::<Vec<_>>(), [Some(&b"ab"[..]), None, Some(&b""[..])]);
        assert!(Row::text(b"\x02ab", 2).is_none() && Row::text(b"\x02abc", 1).is_none());
        // The second of three columns is NULL: bit 3.
        let row = Row::binary(b"\0\x08\x02ab\x01c", 3).expect("a row");
        assert_eq!(row.texts().collect::<Vec<_>>(), [Some(&b"ab"[..]), None, Some(&b"c"[..])]);
        assert!(Row::binary(b"\0", 1).is_none() && Row::binary(b"\x01\0", 1).is_none());
    }
}
