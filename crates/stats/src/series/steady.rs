//! Steady state: does a trial reach it, and from which observation on?
//!
//! There are two questions about a series at even intervals, such as the throughput or p99 of each 100 ms:
//!
//! 1. **Where does the warm-up end?** At the MSER-5 cut in the first half (White 1997; `mser.rs`).
//! 2. **Is the rest steady?** Its linear drift and its largest step must be either insignificant, given the
//!    autocorrelation, or too small to move the mean ([`DriftTolerance`]). It must also not wander so slowly that its mean
//!    is unknown.
//!
//! The literature refuses a series whose MSER cut lies past the middle (Hoad, Robinson & Davies, "Automating warm-up length
//! estimation", JORS 61 (2010)). That rule alone refuses too much here: of *stationary* series of 100 observations it
//! refuses one in seven, and with an autocorrelation of ρ = 0.9 one in three, because any quiet stretch near the end
//! attracts the cut. So the cut is searched in the first half, and a cut past the middle only makes the second question
//! stricter. `cargo run --release -p stats --example steady` prints what is refused and accepted;
//! `docs/decisions/0002-verdict-statistics.md` has the table.

use crate::sample::describe::{mean, sum_of_squares};
use crate::series::autocorrelation::effective_sample_size;
use crate::series::level::{Drift, LevelStep};
use crate::series::mser::{BATCH, WarmUpCut};
use std::fmt;

/// Least number of observations: ten batches.
pub const FEWEST_OBSERVATIONS: usize = 10 * BATCH;

/// Least number of independent observations where the standard error of the mean exceeds the tolerance.
const FEWEST_INDEPENDENT: f64 = 10.0;

/// A drift is large from this many times the tolerance.
const LARGE: f64 = 3.0;

/// The largest drift that does not matter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DriftTolerance {
    /// Relative drift from one end of the measured part to the other that is accepted also when it is significant, such
    /// as 0.05. A step is accepted if it moves the mean by at most half of that, as a drift of that size does.
    pub drift: f64,
}

impl DriftTolerance {
    /// For throughput: 5 %.
    pub const THROUGHPUT: Self = Self { drift: 0.05 };
    /// For a high percentile of response time, which varies more for the same change of load: 20 %.
    pub const PERCENTILE: Self = Self { drift: 0.20 };
}

/// Whether a series reaches steady state.
#[derive(Debug, Clone, PartialEq)]
pub enum SteadyState {
    /// It does: discard the first `discard` observations and measure the rest.
    Steady {
        /// Observations of warm-up, a multiple of five, at most half of the series.
        discard: usize,
        /// Mean of the rest.
        mean: f64,
        /// Effective sample size of the rest.
        effective_observations: f64,
    },
    /// It does not: the trial is invalid.
    NotSteady {
        /// Why.
        reason: UnsteadyReason,
    },
}

/// Why a series is not steady.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum UnsteadyReason {
    /// Fewer than [`FEWEST_OBSERVATIONS`]: measure longer or observe more often.
    TooShort {
        /// Number of observations.
        observations: usize,
        /// Number of observations needed.
        needed: usize,
    },
    /// An observation is NaN or infinite, such as the p99 of an interval without a reply.
    NotFinite {
        /// Its index, from 0.
        index: usize,
    },
    /// From the cut on, every observation is zero: the server did nothing.
    Silent,
    /// It rises or falls by more than the tolerance.
    Drifting {
        /// Change from one end of the measured part to the other, relative to its mean; negative if it falls.
        relative: f64,
    },
    /// It steps to another level.
    Step {
        /// Index of the first observation of the new level, from 0 in the whole series.
        at: usize,
        /// The step relative to the mean; negative if it goes down.
        relative: f64,
    },
    /// It stays at one level for long and then at another, so that its mean is not known to within the tolerance: a dip, or
    /// alternating modes.
    Wandering {
        /// Its effective sample size, under ten.
        effective_observations: f64,
        /// Standard error of the mean, relative to it.
        standard_error: f64,
    },
}

impl fmt::Display for UnsteadyReason {
    /// One line, with the remedy where there is one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: f64| share * 100.0;
        match self {
            Self::TooShort { observations, needed } => {
                write!(f, "it has {observations} observations and needs {needed}: measure longer")
            }
            Self::NotFinite { index } => {
                write!(f, "observation {index} has no value, because no reply arrived: see the server's log")
            }
            Self::Silent => f.write_str("no operation succeeded: see the server's log"),
            Self::Drifting { relative } => {
                write!(
                    f,
                    "it drifts by {:+.1} % over the measured part: give it a longer warm-up",
                    percent(*relative)
                )
            }
            Self::Step { at, relative } => {
                write!(
                    f,
                    "it steps by {:+.1} % at observation {at}: find out what happens then",
                    percent(*relative)
                )
            }
            Self::Wandering { standard_error, .. } => {
                write!(
                    f,
                    "it wanders, and its mean is only known to ±{:.1} %: measure longer",
                    percent(*standard_error)
                )
            }
        }
    }
}

/// Checks a series of observations at even intervals.
///
/// ```
/// use stats::steady::{SteadyState, DriftTolerance, detect_steady_state};
/// // A cache fills during 20 observations; then the throughput is constant.
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
    // An MSER cut past the middle is further evidence of a drift.
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
    // Both conditions: many independent observations may be noisy, and few may be quiet.
    if effective_observations < FEWEST_INDEPENDENT && standard_error > tolerance.drift {
        return Err(UnsteadyReason::Wandering { effective_observations, standard_error });
    }
    Ok(SteadyState::Steady { discard: cut.discard, mean: centre, effective_observations })
}

/// The drift of a whole series relative to its mean, if it is significant and exceeds the tolerance.
///
/// [`detect_steady_state`] checks only the part after its cut, which may be half of the series and too short to show a slow
/// drift through noise. A series of fewer than ten values shows none.
pub fn significant_drift(series: &[f64], tolerance: DriftTolerance) -> Option<f64> {
    (series.len() >= Drift::FEWEST_VALUES).then(|| drift(series, tolerance, false)).flatten()
}

fn drift(series: &[f64], tolerance: DriftTolerance, is_suspect: bool) -> Option<f64> {
    let Drift { relative, chance } = Drift::of(series);
    // The significance level is the probability that a steady series is refused. For a large drift less evidence is
    // enough: in a noisy series, a large drift is no more significant than a small one in a quiet series.
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

    #[test]
    fn a_few_values_show_no_drift() {
        assert_eq!(significant_drift(&[], DriftTolerance::THROUGHPUT), None);
        assert_eq!(significant_drift(&[1.0, 5.0, 9.0], DriftTolerance::THROUGHPUT), None);
        assert!(significant_drift(&series(40, |at| 1.0 + at), DriftTolerance::THROUGHPUT).is_some());
    }

    fn reason(series: &[f64]) -> UnsteadyReason {
        match detect_steady_state(series, DriftTolerance::THROUGHPUT) {
            SteadyState::NotSteady { reason } => reason,
            steady @ SteadyState::Steady { .. } => panic!("{steady:?}"),
        }
    }

    fn series(n: u32, level: impl Fn(f64) -> f64) -> Vec<f64> {
        (0..n).map(|i| 1000.0 * level(f64::from(i) / f64::from(n)) + f64::from(i * 7 % 5)).collect()
    }

    /// The share of 300 AR(1) series of 100 observations around `level`, standard deviation 5 %, that is refused.
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
    fn a_short_warm_up_is_discarded_and_the_rest_accepted() {
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
    fn each_kind_of_unsteady_series_has_its_reason() {
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
    fn a_server_without_replies_is_silent_and_not_steady() {
        assert_eq!(reason(&[0.0; 60]), UnsteadyReason::Silent);
        let died: Vec<f64> = (0..100).map(|i| if i < 30 { 1000.0 } else { 0.0 }).collect();
        assert_eq!(reason(&died), UnsteadyReason::Silent);
    }

    #[test]
    fn a_constant_series_and_regular_stalls_are_steady() {
        let constant = detect_steady_state(&[7.0; 50], DriftTolerance::THROUGHPUT);
        assert_eq!(constant, SteadyState::Steady { discard: 0, mean: 7.0, effective_observations: 50.0 });
        // Stalled for 1 s in every 10, observed each 100 ms for 30 s: a steady state.
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
            let is_steady = |series: &[f64]| {
                matches!(detect_steady_state(series, DriftTolerance::THROUGHPUT), SteadyState::Steady { .. })
            };
            prop_assert_eq!(is_steady(&values), is_steady(&scaled));
        }
    }
}
