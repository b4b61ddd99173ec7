//! Divides work and random numbers among workers: even parts, and pseudo-random numbers that follow from a seed.

/// A pseudo-random number, the same for the same `seed` and `index`: the `SplitMix64` generator's at that index
/// (Steele, Lea and Flood, OOPSLA 2014).
#[inline]
pub(crate) fn mix_seed(seed: u64, index: u64) -> u64 {
    let mut z = seed ^ index.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Part `index` of `all`, divided into `parts` that differ by one at most.
pub(crate) fn share(all: u64, index: u32, parts: u32) -> u64 {
    all / u64::from(parts) + u64::from(u64::from(index) < all % u64::from(parts))
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn shares_add_up() {
        assert_eq!((0..4).map(|i| share(10, i, 4)).collect::<Vec<_>>(), [3, 3, 2, 2]);
    }
}
