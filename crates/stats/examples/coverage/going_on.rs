//! Comparisons that look at their verdict before the last block, beside ones that do not: what a look that ends them too early
//! costs, and what going on brings.

use rand::SeedableRng;
use rand_pcg::Pcg64;
use stats::confidence::Confidence;
use stats::looks::{Spending, significance};
use stats::verdict::{RatioVerdict, VerdictRule, compare};

use crate::noise::Noise;
use crate::{heading, row};

/// When a comparison looks, and what ends it there.
struct Design {
    name: &'static str,
    /// Numbers of blocks, the end included.
    looks: &'static [usize],
    spending: Spending,
    /// "No difference" ends it before the last look if it rules out so much.
    rules_out: f64,
}

const EARLY: Spending = Spending::Power(2.0 / 3.0);
const ANY_VERDICT: f64 = 0.1;

const QUICK: [Design; 4] = [
    Design { name: "7", looks: &[7], spending: EARLY, rules_out: ANY_VERDICT },
    Design { name: "7, 14: any verdict", looks: &[7, 14], spending: EARLY, rules_out: ANY_VERDICT },
    Design { name: "7, 14: 5 %", looks: &[7, 14], spending: EARLY, rules_out: 0.05 },
    Design { name: "14", looks: &[14], spending: EARLY, rules_out: ANY_VERDICT },
];
const LATE: Spending = Spending::OBrienFleming;
const DEFAULT: [Design; 3] = [
    Design {
        name: "8, 12, 16, 20: any verdict",
        looks: &[8, 12, 16, 20],
        spending: LATE,
        rules_out: ANY_VERDICT,
    },
    Design { name: "8, 12, 16, 20: 1 %", looks: &[8, 12, 16, 20], spending: LATE, rules_out: 0.01 },
    Design { name: "20", looks: &[20], spending: LATE, rules_out: ANY_VERDICT },
];

/// What became of many comparisons of one design.
#[derive(Default)]
struct Counts {
    differences: u32,
    without_verdict: u32,
    blocks: usize,
}

pub fn table(comparisons: usize, seed: u64) {
    println!("a difference found % / no verdict % / blocks in the mean");
    let of_quick = || Noise::ALL.into_iter().chain([Noise::Wide]);
    for (title, truth) in [("equal servers", 1.0), ("a true 5 %", 1.05)] {
        part(&format!("Quick, {title}"), of_quick(), &QUICK, truth, comparisons, seed);
    }
    let of_default = || [Noise::Even, Noise::Normal].into_iter();
    for (title, truth) in [("equal servers", 1.0), ("a true 1 %", 1.01), ("a true 2 %", 1.02)] {
        part(&format!("Default, {title}"), of_default(), &DEFAULT, truth, comparisons, seed);
    }
}

fn part(
    title: &str,
    noises: impl Iterator<Item = Noise>,
    designs: &[Design],
    truth: f64,
    comparisons: usize,
    seed: u64,
) {
    println!("\n### {title}\n");
    let names: Vec<String> = designs.iter().map(|design| design.name.to_owned()).collect();
    heading("noise", &names);
    for noise in noises {
        row(noise.title(), designs.iter().map(|design| cell(design, noise, truth, comparisons, seed)));
    }
}

fn cell(design: &Design, noise: Noise, truth: f64, comparisons: usize, seed: u64) -> String {
    let end = *design.looks.last().expect("an end");
    let shares: Vec<f64> = design.looks.iter().map(|look| *look as f64 / end as f64).collect();
    let levels = significance(&shares, Confidence::P95.alpha(), design.spending).expect("rising looks");
    let looks: Vec<(usize, VerdictRule)> = design
        .looks
        .iter()
        .zip(levels)
        .map(|(&look, level)| {
            let useful = if look == end { ANY_VERDICT } else { design.rules_out };
            let confidence = Confidence::new(1.0 - level).expect("a level");
            (look, VerdictRule { confidence, useful, ..VerdictRule::default() })
        })
        .collect();
    let rng = &mut Pcg64::seed_from_u64(seed);
    let mut counts = Counts::default();
    for _ in 0..comparisons {
        let blocks: Vec<(f64, f64)> =
            noise.blocks(end, rng).iter().map(|(a, b)| (truth * a.exp(), b.exp())).collect();
        counts.add(&looks, &blocks);
    }
    let percent = |count: u32| 100.0 * f64::from(count) / comparisons as f64;
    let mean = counts.blocks as f64 / comparisons as f64;
    format!("{:.1} / {:.1} / {mean:.1}", percent(counts.differences), percent(counts.without_verdict))
}

impl Counts {
    /// Adds a comparison, which ends at the first look with a verdict.
    fn add(&mut self, looks: &[(usize, VerdictRule)], blocks: &[(f64, f64)]) {
        let mut found = looks.iter().map(|(look, rule)| (*look, compare(&blocks[..*look], rule).verdict));
        let has_verdict =
            |(look, verdict): &(usize, RatioVerdict)| *look == blocks.len() || !is_inconclusive(verdict);
        let (look, verdict) = found.find(has_verdict).expect("an end");
        self.differences += u32::from(matches!(verdict, RatioVerdict::Difference { .. }));
        self.without_verdict += u32::from(is_inconclusive(&verdict));
        self.blocks += look;
    }
}

fn is_inconclusive(verdict: &RatioVerdict) -> bool {
    matches!(verdict, RatioVerdict::Inconclusive { .. })
}
