//! Pure statistics of measurements: what the bake-off's verdicts rest on.
//!
//! A benchmark has a handful of numbers for each variant, from restarts that scatter, sometimes in modes a
//! factor of two apart, on a machine that drifts. This crate says what may be concluded from them, and
//! refuses the rest with a typed reason. The usual path of a comparison:
//!
//! ```
//! use stats::modes::{Modes, detect};
//! use stats::power::smallest_difference;
//! use stats::steady::{SteadyState, DriftTolerance, detect_steady_state};
//! use stats::verdict::{VerdictRule, Side, RatioVerdict, compare};
//!
//! // 1. Each trial must have settled: throughput of each 100 ms, the first second still warming up.
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
//! // 3. Beside it: did restarts fall into modes, and what could so many blocks have shown?
//! let nginx = blocks.map(|(nginx, _)| nginx);
//! assert_eq!(detect(&nginx), Modes::One);
//! let estimate = comparison.estimate.expect("eight blocks of positive numbers have a ratio");
//! assert!(smallest_difference(estimate.blocks, estimate.log_sd, &rule, 0.95).expect("eight blocks") < 0.05);
//! ```
//!
//! | question | module |
//! |---|---|
//! | has a trial settled, and from when on? | [`steady`] |
//! | how many independent values is a series worth? | [`autocorrelation`] |
//! | how much more does A have than B, and how sure is it? | [`ratio`] |
//! | may one call that a difference? | [`verdict`], for several variants [`multiple`] |
//! | what can so many blocks show? | [`power`] |
//! | do restarts fall into two modes? | [`modes`] |
//! | where does throughput peak over load? | [`usl`] |
//! | what must a queue's times be? | [`queueing`] |
//! | are these arrivals Poisson? | [`arrivals`] |
//! | how sure is "4 of 100"? | [`proportion`] |
//! | what do a few numbers look like? | [`describe`] |
//! | how is a distribution of times written down? | [`times`] |
//!
//! **Goals.** At most 5 % false verdicts between identical variants, shown by simulation and, from six blocks
//! up, by proof; every formula with its source; every refusal with its reason; no input that panics; results
//! that serialise.
//!
//! **Not goals.** No input or output, no clock and no random numbers: the same input gives the same answer. No
//! percentiles of response times: those come from merged histograms. No words: reports say it in theirs.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::float_cmp, reason = "tests: a panic is a failure with a line")
)]

pub mod arrivals;
pub mod autocorrelation;
pub mod confidence;
pub mod describe;
mod least_squares;
mod level;
mod location;
pub mod modes;
mod mser;
pub mod multiple;
pub mod power;
pub mod proportion;
pub mod queueing;
pub mod ratio;
pub mod steady;
pub mod times;
pub mod usl;
pub mod verdict;
