//! Which trial runs when: blocks of one trial of every cell (a variant, in a sweep at a point), each block in
//! an order of its own, drawn from the run's seed.
//!
//! For two variants the order is a fair coin for each block, independent of the others: on this the verdict's
//! error rate rests (decision 0002). Alternating or balancing would break it.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

/// One trial to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Its number in the order of time, from 1.
    pub number: u32,
    /// Its block, from 1.
    pub block: u32,
    /// Its place in the block, from 1.
    pub position: u32,
    /// Which cell, from 0.
    pub cell: usize,
}

/// All trials of a run, in order.
pub fn order(cells: usize, blocks: u32, seed: u32) -> Vec<Slot> {
    let mut rng = Pcg64Mcg::seed_from_u64(u64::from(seed));
    let mut slots = Vec::with_capacity(cells * blocks as usize);
    for block in 1..=blocks {
        let mut permutation: Vec<usize> = (0..cells).collect();
        permutation.shuffle(&mut rng);
        for (position, cell) in (1..).zip(permutation) {
            slots.push(Slot { number: slots.len() as u32 + 1, block, position, cell });
        }
    }
    slots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_holds_every_cell_once() {
        let slots = order(3, 5, 7);
        assert_eq!(slots.len(), 15);
        for block in 1..=5 {
            let mut cells: Vec<usize> = slots.iter().filter(|s| s.block == block).map(|s| s.cell).collect();
            cells.sort_unstable();
            assert_eq!(cells, [0, 1, 2]);
        }
        assert!(slots.iter().zip(1..).all(|(slot, number)| slot.number == number));
    }

    #[test]
    fn the_seed_decides_and_nothing_else() {
        assert_eq!(order(2, 20, 1), order(2, 20, 1));
        assert_ne!(order(2, 20, 1), order(2, 20, 2));
    }

    #[test]
    fn each_variant_comes_first_about_as_often() {
        let firsts = order(2, 1_000, 3).iter().filter(|s| s.position == 1 && s.cell == 0).count();
        assert!((440..560).contains(&firsts), "{firsts}");
    }
}
