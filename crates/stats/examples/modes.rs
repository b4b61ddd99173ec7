//! How often `modes::detect` finds two modes in samples of one mode and of two. Prints the table of
//! `docs/decisions/0002-verdict-statistics.md`.
//!
//! Run with `cargo run --release -p stats --example modes`; the seed is fixed.
#![allow(clippy::print_stdout, reason = "an example that prints a table")]

use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1, StandardNormal, StudentT};
use rand_pcg::Pcg64;
use stats::modes::{Modes, detect};

const SEED: u64 = 6;
const SAMPLES: usize = 10_000;
const SIZES: [usize; 9] = [4, 5, 6, 8, 10, 12, 16, 20, 40];

/// Name of a distribution, and a function that draws the logarithm of value `i` of `n`.
type Law = (&'static str, fn(usize, usize, &mut Pcg64) -> f64);

const LAWS: [Law; 10] = [
    ("one: normal, 5 %", |_, _, rng| 0.05 * normal(rng)),
    ("one: normal, 20 %", |_, _, rng| 0.2 * normal(rng)),
    ("one: 5 % × t₃", |_, _, rng| 0.05 * StudentT::new(3.0).expect("degrees > 0").sample(rng)),
    ("one: exponential tail, 20 %", |_, _, rng| 0.2 * rng.sample::<f64, _>(Exp1)),
    ("one: uniform over 20 %", |_, _, rng| rng.random_range(0.0..0.2)),
    ("two: 2×, 5 % within, two in the smaller", |i, _, rng| apart(2.0, i < 2) + 0.05 * normal(rng)),
    ("two: 2×, 5 % within, halves", |i, n, rng| apart(2.0, i < n / 2) + 0.05 * normal(rng)),
    ("two: 2×, 10 % within, halves", |i, n, rng| apart(2.0, i < n / 2) + 0.1 * normal(rng)),
    ("two: 1.3×, 3 % within, halves", |i, n, rng| apart(1.3, i < n / 2) + 0.03 * normal(rng)),
    ("two: 1.15×, 2 % within, halves", |i, n, rng| apart(1.15, i < n / 2) + 0.02 * normal(rng)),
];

fn normal(rng: &mut Pcg64) -> f64 {
    rng.sample(StandardNormal)
}

fn apart(ratio: f64, upper: bool) -> f64 {
    if upper { ratio.ln() } else { 0.0 }
}

fn main() {
    println!("two modes found in % of {SAMPLES} samples, seed {SEED}\n");
    println!(
        "| values | {} |\n|---|{}",
        SIZES.map(|n| n.to_string()).join(" | "),
        "---|".repeat(SIZES.len())
    );
    for (name, log_value) in LAWS {
        let cells = SIZES.map(|n| {
            let rng = &mut Pcg64::seed_from_u64(SEED);
            let two = (0..SAMPLES).filter(|_| {
                let values: Vec<f64> = (0..n).map(|i| log_value(i, n, rng).exp()).collect();
                matches!(detect(&values), Modes::Two { .. })
            });
            format!("{:.1}", 100.0 * two.count() as f64 / SAMPLES as f64)
        });
        println!("| {name} | {} |", cells.join(" | "));
    }
}
