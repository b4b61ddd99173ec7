//! The kinds of noise in comparisons of servers, each as a generator of paired blocks.
//!
//! Values are natural logarithms, `(ln a, ln b)`, of identical variants. The caller adds a true ratio.

use rand::{Rng, RngExt};
use rand_distr::{Distribution, Normal, StudentT};

/// A distribution of trials.
#[derive(Clone, Copy, Debug)]
pub enum Noise {
    /// Each trial normal, standard deviation 2 %.
    Normal,
    /// Each trial 1 % × Student's t with two degrees of freedom, whose variance is infinite.
    HeavyTailed,
    /// Each restart runs in one of two modes, a factor of 2 apart, half and half; 2 % normal within.
    TwoModes,
    /// One restart in ten runs at half the speed; 2 % normal within.
    RareMode,
    /// Modes last: each restart keeps the mode of the trial before with probability 0.8; 2 % normal within.
    LastingMode,
    /// The second trial of a block is 5 % slower, whichever variant it is; 1 % normal.
    OrderEffect,
    /// Each trial normal, standard deviation 0.5 %.
    Even,
    /// Each trial normal, standard deviation 7 %: blocks scatter by 10 %, as those of servers that write to a disk do.
    Wide,
}

impl Noise {
    pub const ALL: [Self; 6] = [
        Self::Normal,
        Self::HeavyTailed,
        Self::TwoModes,
        Self::RareMode,
        Self::LastingMode,
        Self::OrderEffect,
    ];

    pub fn title(self) -> &'static str {
        match self {
            Self::Normal => "normal, sd 2 %",
            Self::HeavyTailed => "heavy tails, 1 % × t₂",
            Self::TwoModes => "two modes, 2×, half and half",
            Self::RareMode => "one restart in ten at half speed",
            Self::LastingMode => "two modes, 2×, lasting",
            Self::OrderEffect => "second of a block 5 % slower",
            Self::Even => "normal, sd 0.5 %",
            Self::Wide => "normal, sd 7 %",
        }
    }

    /// Blocks of identical variants in random order.
    pub fn blocks(self, n: usize, rng: &mut impl Rng) -> Vec<(f64, f64)> {
        let mut slow = rng.random_bool(0.5);
        (0..n)
            .map(|_| {
                let first = self.trial(0, &mut slow, rng);
                let second = self.trial(1, &mut slow, rng);
                if rng.random_bool(0.5) { (first, second) } else { (second, first) }
            })
            .collect()
    }

    fn trial(self, place: u8, slow: &mut bool, rng: &mut impl Rng) -> f64 {
        let normal =
            |percent: f64, rng: &mut _| Normal::new(0.0, percent / 100.0).expect("sd > 0").sample(rng);
        let half = -std::f64::consts::LN_2;
        match self {
            Self::Normal => normal(2.0, rng),
            Self::HeavyTailed => 0.01 * StudentT::new(2.0).expect("degrees > 0").sample(rng),
            Self::TwoModes => normal(2.0, rng) + if rng.random_bool(0.5) { half } else { 0.0 },
            Self::RareMode => normal(2.0, rng) + if rng.random_bool(0.1) { half } else { 0.0 },
            Self::LastingMode => {
                *slow ^= rng.random_bool(0.2);
                normal(2.0, rng) + if *slow { half } else { 0.0 }
            }
            Self::OrderEffect => normal(1.0, rng) - 0.05 * f64::from(place),
            Self::Even => normal(0.5, rng),
            Self::Wide => normal(7.0, rng),
        }
    }
}
