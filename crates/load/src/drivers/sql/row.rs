//! The texts of rows: groups of digits as in sysbench, drawn from a seed.

use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Ten groups of eleven digits with a hyphen between two.
pub const C_BYTES: usize = 119;
/// Five groups of eleven digits with a hyphen between two.
const PAD_BYTES: usize = 59;
/// Eleven digits and a hyphen.
const GROUP: usize = 12;

/// The texts of a row.
#[derive(Clone, Copy, Debug)]
pub struct TableRow {
    pub c: [u8; C_BYTES],
    pub pad: [u8; PAD_BYTES],
}

impl TableRow {
    /// Draws the texts of a row.
    #[inline]
    pub fn draw(rng: &mut impl Rng) -> Self {
        Self { c: digits(rng), pad: digits(rng) }
    }

    /// The row that a populate run inserts, with its `k` from `1..=rows`.
    pub fn of(seed: u64, table: u32, id: u32, rows: u32) -> (u32, Self) {
        let place = u64::from(table) << 32 | u64::from(id);
        let mut rng = Pcg64Mcg::seed_from_u64(seed ^ place.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        (rng.random_range(1..=rows), Self::draw(&mut rng))
    }
}

fn digits<const N: usize>(rng: &mut impl Rng) -> [u8; N] {
    let mut text = [0; N];
    rng.fill_bytes(&mut text);
    for (at, byte) in text.iter_mut().enumerate() {
        // Not exactly uniform: 256 is no multiple of ten.
        let [digit, _] = (u16::from(*byte) * 10).to_be_bytes();
        *byte = if at % GROUP == GROUP - 1 { b'-' } else { b'0' + digit };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_groups_of_digits_and_follows_from_its_place() {
        let (k, row) = TableRow::of(1, 0, 7, 1_000);
        assert!((1..=1_000).contains(&k));
        for text in [&row.c[..], &row.pad[..]] {
            let groups: Vec<&[u8]> = text.split(|&byte| byte == b'-').collect();
            assert!(groups.iter().all(|group| group.len() == 11 && group.iter().all(u8::is_ascii_digit)));
        }
        assert_eq!(TableRow::of(1, 0, 7, 1_000).1.c, row.c);
        assert_ne!(TableRow::of(1, 1, 7, 1_000).1.c, row.c);
    }
}
