//! Effect and cost of the negligible zone of [`stats::verdict::VerdictRule`], under normal noise.

use crate::{heading, row};
use rand::SeedableRng;
use rand_distr::{Distribution, Normal};
use rand_pcg::Pcg64;
use stats::verdict::{RatioVerdict, VerdictRule, compare};

const NEGLIGIBLE: [f64; 3] = [0.0, 0.005, 0.01];
/// Standard deviations of a block's log ratio.
const LOG_SD: [f64; 4] = [0.005, 0.015, 0.03, 0.06];

/// Prints how often A and A, and true ratios of 1.02 and 1.05, are found different, for each spread and zone.
pub fn table(comparisons: usize, seed: u64) {
    println!("false verdicts % / true 2 % found % / true 5 % found %; normal noise\n");
    let columns = NEGLIGIBLE.map(|zone| format!("negligible {} %", 100.0 * zone));
    heading("blocks, sd of a block's log ratio", &columns);
    for blocks in [6, 10, 20] {
        for log_sd in LOG_SD {
            let cells = NEGLIGIBLE.map(|negligible| {
                let rule = VerdictRule { negligible, ..VerdictRule::default() };
                let found = |truth| found(truth, blocks, log_sd, &rule, comparisons, seed);
                format!("{:.1} / {:.0} / {:.0}", found(1.0), found(1.02), found(1.05))
            });
            row(&format!("{blocks}, {:.1} %", 100.0 * log_sd), cells);
        }
    }
}

fn found(truth: f64, blocks: usize, log_sd: f64, rule: &VerdictRule, comparisons: usize, seed: u64) -> f64 {
    let rng = &mut Pcg64::seed_from_u64(seed);
    let noise = Normal::new(0.0, log_sd).expect("sd > 0");
    let found = (0..comparisons)
        .filter(|_| {
            let pairs: Vec<_> = (0..blocks).map(|_| (truth * f64::exp(noise.sample(rng)), 1.0)).collect();
            matches!(compare(&pairs, rule).verdict, RatioVerdict::Difference { .. })
        })
        .count();
    100.0 * found as f64 / comparisons as f64
}
