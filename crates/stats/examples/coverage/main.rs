//! Compares confidence intervals for a verdict. Prints the tables of `docs/decisions/0002-verdict-statistics.md`.
//!
//! For each noise and number of blocks: how often A and A are found different, how often a true difference of 5 % is found,
//! and the median half-width. The first is also the share of intervals that miss the true ratio, because every method
//! shifts with the logarithm. Run with `cargo run --release -p stats --example coverage`; the seed is
//! fixed.
#![allow(clippy::print_stdout, reason = "an example that prints a table")]

mod bootstrap;
mod going_on;
mod noise;
mod rule;

use noise::Noise;
use rand::SeedableRng;
use rand_pcg::Pcg64;
use stats::confidence::{Confidence, ConfidenceInterval};
use stats::describe::Sample;
use stats::ratio::{self, IntervalMethod};

const SEED: u64 = 2;
const COMPARISONS: usize = 10_000;
const BLOCKS: [usize; 8] = [3, 4, 5, 6, 7, 8, 10, 20];

/// The methods that are compared.
#[derive(Clone, Copy)]
enum Candidate {
    StudentT,
    SignedRank,
    Both,
    Percentile,
    Bca,
    Studentised,
}

impl Candidate {
    const ALL: [(Self, &'static str); 6] = [
        (Self::StudentT, "Student's t"),
        (Self::SignedRank, "signed rank"),
        (Self::Both, "hull of t and signed rank"),
        (Self::Percentile, "percentile bootstrap"),
        (Self::Bca, "BCa bootstrap"),
        (Self::Studentised, "bootstrap-t"),
    ];

    /// The interval of the log ratio; `None` if the method has none.
    fn interval(self, log_ratios: &[f64], rng: &mut Pcg64) -> Option<ConfidenceInterval> {
        let by = |method| {
            let blocks: Vec<(f64, f64)> = log_ratios.iter().map(|d| (d.exp(), 1.0)).collect();
            let found = ratio::estimate_by(method, &blocks, Confidence::P95).ok()?;
            Some(ConfidenceInterval { low: found.low.ln(), high: found.high.ln() })
        };
        Some(match self {
            Self::StudentT => by(IntervalMethod::StudentT)?,
            Self::SignedRank => by(IntervalMethod::SignedRank)?,
            Self::Both => {
                let (t, rank) = (by(IntervalMethod::StudentT)?, by(IntervalMethod::SignedRank)?);
                ConfidenceInterval { low: t.low.min(rank.low), high: t.high.max(rank.high) }
            }
            Self::Percentile => bootstrap::percentile(log_ratios, Confidence::P95, rng),
            Self::Bca => bootstrap::bca(log_ratios, Confidence::P95, rng),
            Self::Studentised => bootstrap::studentised(log_ratios, Confidence::P95, rng),
        })
    }
}

fn main() {
    println!("## Intervals\n");
    println!(
        "{COMPARISONS} comparisons per cell, seed {SEED}; false verdicts % / 5 % found % / median half-width %"
    );
    for noise in Noise::ALL {
        println!("\n### {}\n", noise.title());
        heading("method", &BLOCKS.map(|n| format!("{n} blocks")));
        for (candidate, name) in Candidate::ALL {
            row(name, BLOCKS.map(|n| cell(candidate, noise, n)));
        }
    }
    println!("\n## The whole rule\n");
    rule::table(COMPARISONS, SEED);
    println!("\n## Looks\n");
    going_on::table(COMPARISONS, SEED);
}

fn heading(first: &str, columns: &[String]) {
    println!("| {first} | {} |\n|---|{}", columns.join(" | "), "---|".repeat(columns.len()));
}

fn row(name: &str, cells: impl IntoIterator<Item = String>) {
    println!("| {name} | {} |", cells.into_iter().collect::<Vec<_>>().join(" | "));
}

fn cell(candidate: Candidate, noise: Noise, n: usize) -> String {
    let mut rng = Pcg64::seed_from_u64(SEED);
    let truth = 1.05_f64.ln();
    let (mut missed, mut found, mut half_widths) = (0_u32, 0_u32, Vec::with_capacity(COMPARISONS));
    for _ in 0..COMPARISONS {
        let log_ratios: Vec<f64> = noise.blocks(n, &mut rng).iter().map(|(a, b)| a - b).collect();
        let Some(interval) = candidate.interval(&log_ratios, &mut rng) else { return "–".into() };
        missed += u32::from(!interval.contains(0.0));
        // A true ratio only shifts the interval.
        found += u32::from(!interval.contains(-truth));
        half_widths.push(interval.half_width());
    }
    let percent = |count: u32| 100.0 * f64::from(count) / COMPARISONS as f64;
    let half_width = Sample::try_from(half_widths).expect("finite").median();
    format!("{:.1} / {:.0} / {:.1}", percent(missed), percent(found), 100.0 * half_width)
}
