//! A comparison that goes on where its first blocks have no verdict, beside one that ends there and one of all the blocks.

use rand::SeedableRng;
use rand_pcg::Pcg64;
use stats::confidence::Confidence;
use stats::looks::{Spending, significance};
use stats::verdict::{RatioVerdict, VerdictRule, compare};

use crate::noise::Noise;
use crate::{heading, row};

/// Blocks at the first look, and at the end.
const BLOCKS: [usize; 2] = [7, 14];

/// When a design looks, and at which levels.
struct Design {
    name: &'static str,
    looks: Vec<(usize, Confidence)>,
}

/// What became of many comparisons of one design.
#[derive(Default)]
struct Counts {
    differences: u32,
    without_verdict: u32,
    blocks: usize,
}

pub fn table(comparisons: usize, seed: u64) {
    println!("Each cell: a difference found % / no verdict % / blocks in the mean.");
    for (title, truth) in [("Equal servers", 0.0), ("A true difference of 5 %", 1.05_f64.ln())] {
        println!("\n### {title}\n");
        let designs = designs();
        heading("noise", &designs.each_ref().map(|design| design.name.to_owned()));
        for noise in Noise::ALL.into_iter().chain([Noise::Wide]) {
            row(
                noise.title(),
                designs.each_ref().map(|design| cell(design, noise, truth, comparisons, seed)),
            );
        }
    }
}

fn designs() -> [Design; 3] {
    let [first, end] = BLOCKS;
    let levels =
        significance(&[0.5, 1.0], Confidence::P95.alpha(), Spending::Power(2.0 / 3.0)).expect("two looks");
    let level = |place: usize| Confidence::new(1.0 - levels[place]).expect("a level");
    [
        Design { name: "7 blocks", looks: vec![(first, Confidence::P95)] },
        Design { name: "7, and 7 more without a verdict", looks: vec![(first, level(0)), (end, level(1))] },
        Design { name: "14 blocks", looks: vec![(end, Confidence::P95)] },
    ]
}

fn cell(design: &Design, noise: Noise, truth: f64, comparisons: usize, seed: u64) -> String {
    let mut rng = Pcg64::seed_from_u64(seed);
    let mut counts = Counts::default();
    for _ in 0..comparisons {
        let blocks: Vec<(f64, f64)> =
            noise.blocks(BLOCKS[1], &mut rng).iter().map(|(a, b)| ((a + truth).exp(), b.exp())).collect();
        counts.add(design, &blocks);
    }
    let percent = |count: u32| 100.0 * f64::from(count) / comparisons as f64;
    let mean = counts.blocks as f64 / comparisons as f64;
    format!("{:.1} / {:.1} / {mean:.1}", percent(counts.differences), percent(counts.without_verdict))
}

impl Counts {
    /// Adds a comparison, which ends at the first look with a verdict.
    fn add(&mut self, design: &Design, blocks: &[(f64, f64)]) {
        for (place, &(count, confidence)) in design.looks.iter().enumerate() {
            let found = compare(&blocks[..count], &VerdictRule { confidence, ..VerdictRule::default() });
            let is_inconclusive = matches!(found.verdict, RatioVerdict::Inconclusive { .. });
            if is_inconclusive && place + 1 < design.looks.len() {
                continue;
            }
            self.differences += u32::from(matches!(found.verdict, RatioVerdict::Difference { .. }));
            self.without_verdict += u32::from(is_inconclusive);
            self.blocks += count;
            return;
        }
    }
}
