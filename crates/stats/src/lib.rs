//! The statistics of measurements: pure functions that the verdicts of a bake-off rest on.
//!
//! A benchmark has a few values for each variant. They come from restarts that scatter, sometimes in modes a factor of
//! two apart, on a machine that drifts. This crate draws the conclusions that such values support, and returns a typed
//! reason where they support none. The usual steps of a comparison:
//!
//! ```
//! use stats::modes::{Modes, detect};
//! use stats::power::smallest_difference;
//! use stats::steady::{SteadyState, DriftTolerance, detect_steady_state};
//! use stats::verdict::{VerdictRule, Side, RatioVerdict, compare};
//!
//! // 1. Each trial must be steady: throughput of each 100 ms, with a warm-up in the first second.
//! let level = |i: u32| if i < 10 { 300.0 } else { 1000.0 };
//! let trial: Vec<f64> = (0..60).map(|i| level(i) + f64::from(i * 7 % 5)).collect();
//! assert!(matches!(detect_steady_state(&trial, DriftTolerance::THROUGHPUT), SteadyState::Steady { discard: 10, .. }));
//!
//! // 2. Blocks of one trial each, (nginx, apache) in requests/s, give a ratio, an interval and a verdict.
//! let blocks = [(16_210.0, 10_040.0), (16_350.0, 9_980.0), (15_960.0, 10_110.0), (16_100.0, 9_900.0),
//!               (16_400.0, 10_020.0), (16_050.0, 10_060.0), (16_280.0, 9_950.0), (16_190.0, 10_000.0)];
//! let rule = VerdictRule::default();
//! let comparison = compare(&blocks, &rule);
//! assert!(matches!(comparison.verdict, RatioVerdict::Difference { higher: Side::A, at_least } if at_least > 0.59));
//!
//! // 3. Also: do the restarts fall into modes, and which difference could this number of blocks detect?
//! let nginx = blocks.map(|(nginx, _)| nginx);
//! assert_eq!(detect(&nginx), Modes::One);
//! let estimate = comparison.estimate.expect("eight blocks of positive numbers have a ratio");
//! assert!(smallest_difference(estimate.blocks, estimate.log_sd, &rule, 0.95).expect("eight blocks") < 0.05);
//! ```
//!
//! Four rooms: `series` has values over time, `sample` a few values without an order, `comparison` two sides or more, `laws` what a
//! server under load obeys. Their modules have these names outside of the crate:
//!
//! | question | module |
//! |---|---|
//! | is a trial steady, and from when on? | [`steady`] |
//! | how many independent values is a series worth? | [`autocorrelation`] |
//! | what is the ratio of A to B, and its confidence interval? | [`ratio`] |
//! | what is it where some blocks have a bound only? | [`bounded`] |
//! | is that a difference? | [`verdict`], for several variants [`multiple`] |
//! | what is the ratio of the means, and which starts are far from the others? | [`means`], [`odd_starts`] |
//! | does a ratio still move within blocks? | [`drift`] |
//! | what is the ratio over several sessions? | [`sessions`] |
//! | is a mean above a bound, and which of several claims are true together? | [`one_sided`], [`holm`] |
//! | do the means of two independent sides differ? | [`welch`], many at once with [`false_discovery`] |
//! | what is the variance of each of many alike quantities with few values? | [`moderated`] |
//! | may a difference be looked at all the time, and the run end at any time? | [`anytime`] |
//! | which difference can a number of blocks detect? | [`power`] |
//! | do restarts fall into two modes? | [`modes`] |
//! | where does throughput peak over load? | [`usl`] |
//! | which times does a queue have? | [`queueing`] |
//! | are these arrivals Poisson? | [`arrivals`] |
//! | what is the confidence interval of "4 of 100"? | [`proportion`] |
//! | how much does throughput follow a resource? | [`elasticity`] |
//! | what are the centre and spread of a few values? | [`describe`] |
//! | how is a distribution of times written down? | [`times`] |
//! | what do energy, space, money and carbon of a performance amount to? | [`cost`], with the units of [`quantity`] |
//! | what is the mean power between two readings of a counter of energy? | [`energy_counter`] |
//! | what is the interval of a figure of several independent samples? | [`bootstrap`] |
//!
//! # Goals
//!
//! - At most 5 % false verdicts between identical variants, shown by simulation and, from six blocks up, by proof.
//! - Every formula has its source, and every refusal its reason.
//! - No input panics, and results serialise.
//!
//! # Non-goals
//!
//! - No input or output and no clock; [`bootstrap`] draws with a fixed seed: the same input gives the same answer.
//! - No percentiles of response times: those come from merged histograms.
//! - No sentences: reports have their own.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::float_cmp, reason = "tests: a panic is a failure with a line")
)]

pub mod anytime;
mod comparison;
pub mod confidence;
pub mod cost;
mod laws;
mod sample;
mod series;

pub use comparison::{
    bounded, drift, expected_width, false_discovery, holm, looks, means, multiple, power, ratio, sessions,
    verdict, welch,
};
pub use cost::{energy_counter, quantity};
pub use laws::{arrivals, elasticity, error_budget, queueing, usl};
pub use sample::{bootstrap, describe, moderated, modes, odd_starts, one_sided, proportion, times};
pub use series::{allan, autocorrelation, steady};
