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

/// Draws the trials of a run, block by block.
#[derive(Debug)]
pub struct Order {
    rng: Pcg64Mcg,
    trials: u32,
    blocks: u32,
}

impl Order {
    /// The order that follows from this seed.
    pub fn new(seed: u32) -> Self {
        Self { rng: Pcg64Mcg::seed_from_u64(u64::from(seed)), trials: 0, blocks: 0 }
    }

    /// The next block: one trial of each of these cells.
    pub fn block(&mut self, cells: &[usize]) -> Vec<Slot> {
        let mut permutation = cells.to_vec();
        permutation.shuffle(&mut self.rng);
        self.blocks += 1;
        let before = self.trials;
        self.trials += permutation.len() as u32;
        let block = self.blocks;
        let slot = |(position, cell)| Slot { number: before + position, block, position, cell };
        (1..).zip(permutation).map(slot).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(cells: &[usize], blocks: usize, seed: u32) -> Vec<Slot> {
        let mut order = Order::new(seed);
        (0..blocks).flat_map(|_| order.block(cells)).collect()
    }

    #[test]
    fn every_block_holds_every_cell_once() {
        let slots = order(&[0, 1, 2], 5, 7);
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
        assert_eq!(order(&[0, 1], 20, 1), order(&[0, 1], 20, 1));
        assert_ne!(order(&[0, 1], 20, 1), order(&[0, 1], 20, 2));
    }

    #[test]
    fn each_variant_comes_first_about_as_often() {
        let firsts = order(&[0, 1], 1_000, 3).iter().filter(|s| s.position == 1 && s.cell == 0).count();
        assert!((440..560).contains(&firsts), "{firsts}");
    }
}
