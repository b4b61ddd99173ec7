//! Divides work and random numbers among workers: even parts, and pseudo-random numbers that follow from a seed.

use serde::{Deserialize, Serialize};

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

/// Every n-th worker of a load, beginning with `first`. Worker w has the arrivals w, w + W, w + 2W and so on. So part k of K parts, of a number of workers that K divides, has the arrivals k, k + K, k + 2K and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WorkerSet {
    first: u32,
    step: u32,
    count: u32,
}

impl WorkerSet {
    /// Part `index` of `workers`, divided into `parts`.
    #[expect(clippy::cast_possible_truncation, reason = "a part of a `u32`")]
    pub fn part(workers: u32, index: u32, parts: u32) -> Self {
        Self { first: index, step: parts, count: share(workers.into(), index, parts) as u32 }
    }

    /// All workers of a load.
    pub fn all(workers: u32) -> Self {
        Self::part(workers, 0, 1)
    }

    /// The workers.
    pub fn iter(self) -> impl Iterator<Item = u32> {
        (0..self.count).map(move |place| self.first + place * self.step)
    }

    /// Which of these a worker is; none if it is in another set.
    pub fn place_of(self, worker: u32) -> Option<usize> {
        let from_first = worker.checked_sub(self.first)?;
        let place = from_first / self.step;
        (from_first.is_multiple_of(self.step) && place < self.count).then_some(place as usize)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn shares_add_up() {
        assert_eq!((0..4).map(|i| share(10, i, 4)).collect::<Vec<_>>(), [3, 3, 2, 2]);
    }

    proptest! {
        #[test]
        fn every_worker_is_in_one_part(workers in 1_u32..100, parts in 1_u32..20) {
            let of_part = |index| WorkerSet::part(workers, index, parts);
            for worker in 0..workers {
                let places: Vec<(u32, usize)> =
                    (0..parts).filter_map(|index| Some((index, of_part(index).place_of(worker)?))).collect();
                prop_assert_eq!(places.len(), 1);
                let (part, place) = places[0];
                prop_assert_eq!(part, worker % parts);
                prop_assert_eq!(of_part(part).iter().nth(place), Some(worker));
            }
            prop_assert!(WorkerSet::all(workers).iter().eq(0..workers));
        }
    }
}
