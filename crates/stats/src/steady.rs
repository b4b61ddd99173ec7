//! Has a trial settled, and from when on does it count?
//!
//! Two questions in turn, for a series taken at even intervals (throughput or p99 of each 100 ms, say):
//!
//! 1. **Where does the warm-up end?** Where MSER-5 cuts the first half (White 1997; `mser.rs`).
//! 2. **Is the rest steady?** Its straight-line drift and its largest step must be either no more than
//!    chance, given how alike neighbouring values are, or too small to move the mean ([`DriftTolerance`]); and it
//!    must not wander so slowly that its mean is unknown.
//!
//! The literature refuses a series when MSER's cut lies past the middle (Hoad, Robinson & Davies, "Automating
//! warm-up length estimation", JORS 61 (2010)). Taken alone that refuses far too much here: of *stationary*
//! series it refuses one in seven at 100 observations and one in three where neighbours are alike (ρ = 0.9),
//! because any quiet stretch near the end attracts the cut. So the cut is sought in the first half, and one
//! past the middle only makes the second question stricter. `cargo run --release -p stats --example steady`
//! prints what is refused and accepted; `docs/decisions/0002-verdict-statistics.md` has the table.

use crate::autocorrelation::effective_sample_size;
use crate::describe::{mean, sum_of_squares};
use crate::level::{Drift, LevelStep};
use crate::mser::{BATCH, WarmUpCut};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Fewest observations that are judged: ten batches.
pub const FEWEST_OBSERVATIONS: usize = 10 * BATCH;

/// Fewest independent observations that vouch for a mean that moves by more than the tolerance.
const FEWEST_INDEPENDENT: f64 = 10.0;

/// A drift of so many times the tolerance is a large one.
const LARGE: f64 = 3.0;

/// What drift is too small to matter.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DriftTolerance {
    /// Relative drift from one end of the measured part to the other that is let pass however sure it is,
    /// such as 0.05. A step is let pass when it moves the mean by no more than half of that, as a drift of
    /// that size does.
    pub drift: f64,
}

impl DriftTolerance {
    /// For throughput: 5 %.
    pub const THROUGHPUT: Self = Self { drift: 0.05 };
    /// For a high percentile of response time, which moves more for the same change of load: 20 %.
    pub const PERCENTILE: Self = Self { drift: 0.20 };
}

/// Whether a series settled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum SteadyState {
    /// It settled: leave out the first `discard` observations and measure the rest.
    Steady {
        /// Observations of warm-up, a multiple of five, at most half of the series.
        discard: usize,
        /// Mean of the rest.
        mean: f64,
        /// How many independent observations the rest is worth.
        effective_observations: f64,
    },
    /// It did not: the trial is invalid.
    NotSteady {
        /// Why.
        reason: UnsteadyReason,
    },
}

/// Why a series is not steady.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum UnsteadyReason {
    /// Under [`FEWEST_OBSERVATIONS`]: measure for longer or observe more often.
    TooShort {
        /// Observations at hand.
        observations: usize,
        /// Observations needed.
        needed: usize,
    },
    /// An observation is NaN or infinite, such as the p99 of an interval without a reply.
    NotFinite {
        /// Its place, from 0.
        index: usize,
    },
    /// From the cut on every observation is zero: nothing happened, which is no steady state of a server.
    Silent,
    /// It still rises or falls by more than the tolerance.
    Drifting {
        /// Change from one end of the measured part to the other, relative to its mean; negative when
        /// falling.
        relative: f64,
    },
    /// It jumps to another level.
    Step {
        /// The first observation of the new level, counted from 0 in the whole series.
        at: usize,
        /// The jump relative to the mean; negative when down.
        relative: f64,
    },
    /// It stays at one level for long and then at another, so that its mean is not known to the tolerance: a
    /// dip, or modes that alternate.
    Wandering {
        /// How many independent observations it is worth, under ten.
        effective_observations: f64,
        /// Standard error of the mean, relative to it.
        standard_error: f64,
    },
}

impl fmt::Display for UnsteadyReason {
    /// A line for a reader, with the mend where there is one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: f64| share * 100.0;
        match self {
            Self::TooShort { observations, needed } => {
                write!(
                    f,
                    "{observations} observations are too few to judge, {needed} are needed: measure for longer"
                )
            }
            Self::NotFinite { index } => {
                write!(f, "observation {index} has no value: nothing was answered then")
            }
            Self::Silent => f.write_str("nothing happened at all"),
            Self::Drifting { relative } => {
                write!(
                    f,
                    "it still drifts, by {:+.1} % over what was measured: give it a longer warm-up",
                    percent(*relative)
                )
            }
            Self::Step { at, relative } => {
                write!(
                    f,
                    "it jumps by {:+.1} % at observation {at}: look for what happens then",
                    percent(*relative)
                )
            }
            Self::Wandering { standard_error, .. } => {
                write!(
                    f,
                    "it wanders, its mean is known to ±{:.1} % only: measure for longer",
                    percent(*standard_error)
                )
            }
        }
    }
}

/// Judges a series of observations taken at even intervals.
///
/// ```
/// use stats::steady::{SteadyState, DriftTolerance, detect_steady_state};
/// // A cache fills for 20 observations, then the server keeps its pace.
/// let level = |i: u32| if i < 20 { 50.0 + f64::from(i) } else { 100.0 };
/// let series: Vec<f64> = (0..100).map(|i| level(i) + f64::from(i % 3)).collect();
/// assert!(matches!(detect_steady_state(&series, DriftTolerance::THROUGHPUT), SteadyState::Steady { discard: 20, .. }));
/// ```
pub fn detect_steady_state(series: &[f64], tolerance: DriftTolerance) -> SteadyState {
    match examine(series, tolerance) {
        Ok(steady) => steady,
        Err(reason) => SteadyState::NotSteady { reason },
    }
}

fn examine(series: &[f64], tolerance: DriftTolerance) -> Result<SteadyState, UnsteadyReason> {
    if let Some(index) = series.iter().position(|value| !value.is_finite()) {
        return Err(UnsteadyReason::NotFinite { index });
    }
    if series.len() < FEWEST_OBSERVATIONS {
        return Err(UnsteadyReason::TooShort { observations: series.len(), needed: FEWEST_OBSERVATIONS });
    }
    let cut = WarmUpCut::of(series);
    let rest = &series[cut.discard..];
    if rest.iter().all(|value| *value == 0.0) {
        return Err(UnsteadyReason::Silent);
    }
    // MSER's cut past the middle is evidence of its own.
    if let Some(relative) = drift(rest, tolerance, cut.past_middle) {
        return Err(UnsteadyReason::Drifting { relative });
    }
    let step = LevelStep::of(rest);
    if step.score > LevelStep::BEYOND_CHANCE && step.moves_mean_by.abs() > tolerance.drift / 2.0 {
        return Err(UnsteadyReason::Step { at: cut.discard + step.at, relative: step.relative });
    }
    let effective_observations = effective_sample_size(rest).unwrap_or(1.0);
    let centre = mean(rest);
    let variance = sum_of_squares(rest) / (rest.len() as f64 - 1.0);
    let standard_error = (variance / effective_observations).sqrt() / centre.abs();
    // Only together: many independent observations may be as noisy as they like, and few may be quiet.
    if effective_observations < FEWEST_INDEPENDENT && standard_error > tolerance.drift {
        return Err(UnsteadyReason::Wandering { effective_observations, standard_error });
    }
    Ok(SteadyState::Steady { discard: cut.discard, mean: centre, effective_observations })
}

/// Whether a series drifts from its beginning to its end, and by how much of its mean: by more than the tolerance, and
/// by no chance. [`detect_steady_state`] asks that of what is left behind its cut, which may be half of the series and too little
/// to see a slow drift through noise.
pub fn significant_drift(series: &[f64], tolerance: DriftTolerance) -> Option<f64> {
    drift(series, tolerance, false)
}

fn drift(series: &[f64], tolerance: DriftTolerance, is_suspect: bool) -> Option<f64> {
    let Drift { relative, chance } = Drift::of(series);
    // Chance that a steady series is taken for drifting. Where much would be lost, less evidence is enough: in a noisy
    // series a large drift is no surer than a small one in a quiet series.
    let is_large = relative.abs() > LARGE * tolerance.drift;
    let significance = if is_suspect || is_large { 0.05 } else { 0.01 };
    (chance < significance && relative.abs() > tolerance.drift).then_some(relative)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand_distr::{Distribution, Normal};
    use rand_pcg::Pcg64;

    fn reason(series: &[f64]) -> UnsteadyReason {
        match detect_steady_state(series, DriftTolerance::THROUGHPUT) {
            SteadyState::NotSteady { reason } => reason,
            steady @ SteadyState::Steady { .. } => panic!("{steady:?}"),
        }
    }

    fn series(n: u32, level: impl Fn(f64) -> f64) -> Vec<f64> {
        (0..n).map(|i| 1000.0 * level(f64::from(i) / f64::from(n)) + f64::from(i * 7 % 5)).collect()
    }

    /// The share of 300 AR(1) series of 100 observations, 5 % apart from `level`, that is refused.
    fn refused(rho: f64, tolerance: DriftTolerance, level: impl Fn(f64) -> f64) -> f64 {
        let rng = &mut Pcg64::seed_from_u64(11);
        let law = Normal::new(0.0, 0.05).unwrap();
        let refused = (0..300).filter(|_| {
            let mut noise = law.sample(rng);
            let series: Vec<f64> = (0..100)
                .map(|i| {
                    noise = rho * noise + (1.0 - rho * rho).sqrt() * law.sample(rng);
                    (1.0 + noise) * level(f64::from(i) / 100.0)
                })
                .collect();
            matches!(detect_steady_state(&series, tolerance), SteadyState::NotSteady { .. })
        });
        refused.count() as f64 / 300.0
    }

    #[test]
    fn stationary_noise_is_nearly_always_accepted() {
        assert!(refused(0.0, DriftTolerance::THROUGHPUT, |_| 1.0) <= 0.01);
        assert!(refused(0.5, DriftTolerance::THROUGHPUT, |_| 1.0) <= 0.03);
        assert!(refused(0.8, DriftTolerance::THROUGHPUT, |_| 1.0) <= 0.06);
        assert!(refused(0.8, DriftTolerance::PERCENTILE, |_| 1.0) <= 0.01);
    }

    #[test]
    fn a_drift_or_a_long_warm_up_is_nearly_always_refused() {
        assert!(refused(0.0, DriftTolerance::THROUGHPUT, |t| 1.0 + 0.5 * t) >= 0.99);
        assert!(refused(0.5, DriftTolerance::THROUGHPUT, |t| 1.0 + 0.5 * t) >= 0.95);
        assert!(refused(0.0, DriftTolerance::THROUGHPUT, |t| 1.0 - 0.5 * (-t / 0.5).exp()) >= 0.97);
        assert!(refused(0.5, DriftTolerance::THROUGHPUT, |t| if t < 0.7 { 0.5 } else { 1.0 }) >= 0.99);
    }

    #[test]
    fn a_short_warm_up_is_left_out_and_the_rest_accepted() {
        let SteadyState::Steady { discard, mean, .. } = detect_steady_state(
            &series(100, |t| if t < 0.2 { 0.3 } else { 1.0 }),
            DriftTolerance::THROUGHPUT,
        ) else {
            panic!("refused")
        };
        assert_eq!(discard, 20);
        assert!((mean - 1002.0).abs() < 1.0, "the warm-up is not in the mean: {mean}");
    }

    #[test]
    fn each_kind_of_unsteadiness_has_its_name() {
        let falling = series(100, |t| 1.0 - t / 2.0);
        assert!(matches!(reason(&falling), UnsteadyReason::Drifting { relative } if relative < -0.2));
        let collapsing = series(200, |t| if t < 0.93 { 1.0 } else { 0.5 });
        assert!(matches!(reason(&collapsing), UnsteadyReason::Step { at: 186, .. }));
        assert!(matches!(
            reason(&series(100, |t| if (0.4..0.6).contains(&t) { 0.5 } else { 1.0 })),
            UnsteadyReason::Wandering { .. }
        ));
        assert_eq!(reason(&[1.0; 49]), UnsteadyReason::TooShort { observations: 49, needed: 50 });
        assert_eq!(reason(&[1.0, f64::NAN]), UnsteadyReason::NotFinite { index: 1 });
    }

    #[test]
    fn a_server_that_never_answered_or_stopped_is_silent_not_steady() {
        assert_eq!(reason(&[0.0; 60]), UnsteadyReason::Silent);
        let died: Vec<f64> = (0..100).map(|i| if i < 30 { 1000.0 } else { 0.0 }).collect();
        assert_eq!(reason(&died), UnsteadyReason::Silent);
    }

    #[test]
    fn a_constant_series_and_regular_stalls_are_steady() {
        let constant = detect_steady_state(&[7.0; 50], DriftTolerance::THROUGHPUT);
        assert_eq!(constant, SteadyState::Steady { discard: 0, mean: 7.0, effective_observations: 50.0 });
        // Frozen for 1 s in every 10, seen each 100 ms for 30 s: a steady state, if an unpleasant one.
        let stalls = series(300, |t| if (t * 3.0).fract() < 0.9 { 1.0 } else { 0.0 });
        assert!(matches!(
            detect_steady_state(&stalls, DriftTolerance::THROUGHPUT),
            SteadyState::Steady { .. }
        ));
    }

    proptest! {
        #[test]
        fn no_series_panics_and_no_cut_passes_the_middle(
            values in prop::collection::vec(any::<f64>(), 0..120),
        ) {
            if let SteadyState::Steady { discard, .. } = detect_steady_state(&values, DriftTolerance::THROUGHPUT) {
                prop_assert!(discard * 2 <= values.len());
            }
        }

        #[test]
        fn the_unit_does_not_matter(
            values in prop::collection::vec(1.0..100.0_f64, 50..120),
            power in -20..20_i32,
        ) {
            // By powers of two the scaling is exact.
            let scaled: Vec<f64> = values.iter().map(|v| v * 2.0_f64.powi(power)).collect();
            let settled = |s: &[f64]| matches!(detect_steady_state(s, DriftTolerance::THROUGHPUT), SteadyState::Steady { .. });
            prop_assert_eq!(settled(&values), settled(&scaled));
        }
    }
}
