//! What `steady::detect_steady_state` refuses and accepts. Prints the tables of
//! `docs/decisions/0002-verdict-statistics.md`.
//!
//! The series have noise around a shape, with autocorrelation ρ (AR(1)) and a standard deviation of 5 % of the mean. For
//! each shape: the share that is refused, and the share that White's rule alone would refuse (an MSER-5 cut past the
//! middle). Run with `cargo run --release -p stats --example steady`; the seed is fixed.
#![allow(clippy::print_stdout, reason = "an example that prints a table")]

use rand::SeedableRng;
use rand_distr::{Distribution, Normal};
use rand_pcg::Pcg64;
use stats::steady::{DriftTolerance, SteadyState, detect_steady_state};

const SEED: u64 = 4;
const SERIES: usize = 2000;
const SPREAD: f64 = 0.05;
const BATCH: usize = 5;

/// Name of a shape, and its level at each moment of the series from 0 to 1.
type SeriesShape = (&'static str, fn(f64) -> f64);

const SHAPES: [SeriesShape; 10] = [
    ("stationary", |_| 1.0),
    ("warm-up over the first fifth", |t| 1.0 - 0.5 * (-t / 0.05).exp()),
    ("half speed for the first 40 %", |t| if t < 0.4 { 0.5 } else { 1.0 }),
    ("drift 5 %", |t| 1.0 + 0.05 * t),
    ("drift 20 %", |t| 1.0 + 0.2 * t),
    ("drift 50 %", |t| 1.0 + 0.5 * t),
    ("warm-up, time constant half the series", |t| 1.0 - 0.5 * (-t / 0.5).exp()),
    ("half speed for the first 60 %", |t| if t < 0.6 { 0.5 } else { 1.0 }),
    ("half speed for the last 8 %", |t| if t < 0.92 { 1.0 } else { 0.5 }),
    ("half speed in the third fifth", |t| if (0.4..0.6).contains(&t) { 0.5 } else { 1.0 }),
];

fn main() {
    println!("{SERIES} series per cell, seed {SEED}; refused % (White's rule alone %)");
    for rho in [0.0, 0.5, 0.8, 0.9] {
        println!("\n### ρ = {rho}\n\n| shape | 50 | 100 | 200 | 600 observations |\n|---|---|---|---|---|");
        for shape in SHAPES {
            let cells = [50, 100, 200, 600].map(|n| cell(shape, n, rho));
            println!("| {} | {} |", shape.0, cells.join(" | "));
        }
    }
}

fn cell((_, level): SeriesShape, n: usize, rho: f64) -> String {
    let rng = &mut Pcg64::seed_from_u64(SEED);
    let (mut refused, mut refused_by_white) = (0_u32, 0_u32);
    for _ in 0..SERIES {
        let series: Vec<f64> = noise(n, rho, rng)
            .iter()
            .enumerate()
            .map(|(i, noise)| (1.0 + noise) * level(i as f64 / n as f64))
            .collect();
        refused += u32::from(matches!(
            detect_steady_state(&series, DriftTolerance::THROUGHPUT),
            SteadyState::NotSteady { .. }
        ));
        refused_by_white += u32::from(cut_past_middle(&series));
    }
    let percent = |count: u32| 100.0 * f64::from(count) / SERIES as f64;
    format!("{:.1} ({:.0})", percent(refused), percent(refused_by_white))
}

/// A stationary AR(1) series around zero.
fn noise(n: usize, rho: f64, rng: &mut Pcg64) -> Vec<f64> {
    let stationary = Normal::new(0.0, SPREAD).expect("spread > 0");
    let fresh = (1.0 - rho * rho).sqrt();
    let mut last = stationary.sample(rng);
    let mut next = || {
        last = rho * last + fresh * stationary.sample(rng);
        last
    };
    (0..n).map(|_| next()).collect()
}

/// White's rule, implemented independently: whether the cut of least standard error, without the last five batches, lies
/// past the middle.
fn cut_past_middle(series: &[f64]) -> bool {
    let batches: Vec<f64> =
        series.chunks_exact(BATCH).map(|b| b.iter().sum::<f64>() / BATCH as f64).collect();
    let error = |cut: usize| {
        let rest = &batches[cut..];
        let mean = rest.iter().sum::<f64>() / rest.len() as f64;
        rest.iter().map(|z| (z - mean).powi(2)).sum::<f64>() / (rest.len() as f64).powi(2)
    };
    let best = (0..=batches.len() - 5).min_by(|a, b| error(*a).total_cmp(&error(*b)));
    best.is_some_and(|cut| cut > batches.len() / 2)
}
