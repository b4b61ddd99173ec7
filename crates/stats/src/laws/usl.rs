//! The Universal Scalability Law: throughput over load, and where it peaks.
//!
//! `X(N) = γN / (1 + α(N − 1) + βN(N − 1))`: γ is the throughput of one, α the contention (share of serial
//! work), β the coherency (cost of keeping workers consistent), and the peak is at `√((1 − α) /
//! β)`. Source: N. J. Gunther, *Guerrilla Capacity Planning* (2007), chapters 4 to 6; "A general theory of
//! computational scalability based on rational functions", arXiv 0808.1431.
//!
//! The law summarises a curve and does not explain it. A least-squares fit always has a result, so this one is refused
//! where the points do not support it: with fewer than six loads, without curvature, with a curvature that the law does not
//! follow, or with a peak far outside the measured range. Turbo clocks and SMT siblings violate the assumption that all N
//! are alike.
//!
//! `N/X` is linear in `1/γ`, `α/γ` and `β/γ`. So the fit is linear least squares of relative errors, with none of the three
//! negative. It needs no starting values and no iterations, and has one solution.

use crate::laws::least_squares::solve_for_ones;

/// Least number of different loads.
pub const FEWEST_LOADS: usize = 6;

/// A peak or a prediction may lie at most this many times beyond the largest measured load.
const REACH: f64 = 2.0;

/// A load and the throughput at it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadPoint {
    /// Threads, connections or users; positive.
    pub load: f64,
    /// Operations per second, or any other unit of throughput; positive.
    pub throughput: f64,
}

/// A fit of the law, or why it is refused.
#[derive(Debug, Clone, PartialEq)]
pub enum Scalability {
    /// The law fits the points.
    Fitted(UslFit),
    /// The law does not fit, or the points do not support a fit.
    Refused {
        /// Why.
        reason: NoFitReason,
    },
}

/// The law with its parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct UslFit {
    /// γ: throughput at a load of one.
    pub gamma: f64,
    /// α: contention, 0 for none.
    pub alpha: f64,
    /// β: coherency, 0 for none.
    pub beta: f64,
    /// The load with the highest throughput; at least 1.
    pub peak_load: f64,
    /// The throughput at the peak, in the points' unit.
    pub peak_throughput: f64,
    /// Root mean square of the points' relative distance to the curve.
    pub relative_error: f64,
    /// The largest load measured.
    pub largest_load: f64,
}

/// Why a fit is refused.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NoFitReason {
    /// A load or throughput is not a positive number.
    NotPositive {
        /// Its index in the input, from 0.
        index: usize,
    },
    /// Fewer than [`FEWEST_LOADS`] different loads.
    TooFewLoads {
        /// Number of different loads.
        loads: usize,
        /// Number of loads needed.
        needed: usize,
    },
    /// Within the scatter of the points, throughput is linear in the load: measure larger loads.
    NoCurvature {
        /// Loss at the largest load, compared with linear scaling; 0.03 for 3 %.
        loss: f64,
    },
    /// The points lie too far from the best curve: they follow another law.
    PoorFit {
        /// Root mean square of the relative distances.
        relative_error: f64,
    },
    /// Throughput levels off without a peak: contention without coherency.
    NoPeak {
        /// The limit of the throughput, γ/α.
        ceiling: f64,
    },
    /// The peak lies beyond twice the largest load: measure larger loads.
    PeakBeyondRange {
        /// The load at the peak of the curve.
        peak_load: f64,
        /// The largest load measured.
        largest_load: f64,
    },
}

impl UslFit {
    /// Throughput at a load from 1 to twice the largest measured load; `None` outside.
    pub fn predict(&self, load: f64) -> Option<f64> {
        (1.0..=REACH * self.largest_load).contains(&load).then(|| self.throughput(load))
    }

    fn throughput(&self, load: f64) -> f64 {
        self.gamma * load / (1.0 + self.alpha * (load - 1.0) + self.beta * load * (load - 1.0))
    }
}

/// Fits the law to points in any order; a load may have several points.
///
/// ```
/// use stats::usl::{LoadPoint, Scalability, fit};
/// let law = |n: f64| 1000.0 * n / (1.0 + 0.05 * (n - 1.0) + 0.002 * n * (n - 1.0));
/// let points = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0].map(|load| LoadPoint { load, throughput: law(load) });
/// let Scalability::Fitted(fit) = fit(&points) else { panic!("refused") };
/// assert!((fit.peak_load - 21.8).abs() < 0.1);
/// ```
pub fn fit(points: &[LoadPoint]) -> Scalability {
    match examine(points) {
        Ok(fit) => Scalability::Fitted(fit),
        Err(reason) => Scalability::Refused { reason },
    }
}

/// Relative error above which the law does not fit.
const POOR_FIT: f64 = 0.15;
/// Least loss, compared with linear scaling, that counts as curvature.
const LEAST_LOSS: f64 = 0.05;

fn examine(points: &[LoadPoint]) -> Result<UslFit, NoFitReason> {
    let positive = |value: f64| value.is_finite() && value > 0.0;
    if let Some(index) = points.iter().position(|p| !(positive(p.load) && positive(p.throughput))) {
        return Err(NoFitReason::NotPositive { index });
    }
    let mut loads: Vec<f64> = points.iter().map(|point| point.load).collect();
    loads.sort_by(f64::total_cmp);
    loads.dedup();
    if loads.len() < FEWEST_LOADS {
        return Err(NoFitReason::TooFewLoads { loads: loads.len(), needed: FEWEST_LOADS });
    }
    let [inverse_gamma, alpha_part, beta_part] =
        nonnegative_least_squares(points).ok_or(NoFitReason::PoorFit { relative_error: 1.0 })?;
    let (gamma, alpha, beta) = (1.0 / inverse_gamma, alpha_part / inverse_gamma, beta_part / inverse_gamma);
    let largest_load = loads[loads.len() - 1];
    let mut fit = UslFit {
        gamma,
        alpha,
        beta,
        peak_load: 0.0,
        peak_throughput: 0.0,
        relative_error: 0.0,
        largest_load,
    };
    fit.relative_error = relative_error(&fit, points);
    if fit.relative_error.is_nan() || fit.relative_error > POOR_FIT {
        return Err(NoFitReason::PoorFit { relative_error: fit.relative_error });
    }
    let loss = 1.0 - fit.throughput(largest_load) / (gamma * largest_load);
    if loss < LEAST_LOSS.max(2.0 * fit.relative_error) {
        return Err(NoFitReason::NoCurvature { loss });
    }
    // Rounding errors may leave a tiny coherency where there is none.
    if beta * largest_load.powi(2) < 1e-9 {
        return Err(NoFitReason::NoPeak { ceiling: gamma / alpha });
    }
    // With α ≥ 1 throughput falls from the second worker on: the peak is a load of one.
    fit.peak_load = ((1.0 - alpha).max(0.0) / beta).sqrt().max(1.0);
    if fit.peak_load > REACH * largest_load {
        return Err(NoFitReason::PeakBeyondRange { peak_load: fit.peak_load, largest_load });
    }
    fit.peak_throughput = fit.throughput(fit.peak_load);
    Ok(fit)
}

fn relative_error(fit: &UslFit, points: &[LoadPoint]) -> f64 {
    let squares: f64 = points.iter().map(|p| (p.throughput / fit.throughput(p.load) - 1.0).powi(2)).sum();
    (squares / points.len() as f64).sqrt()
}

/// The nonnegative `(1/γ, α/γ, β/γ)` with the least sum of squared relative errors `X/X̂ − 1`, where
/// `N/X̂ = 1/γ + (α/γ)(N − 1) + (β/γ) N(N − 1)`; `None` where the points do not determine them.
///
/// With three unknowns, all sets of zeros are tried, and the best feasible one is the solution (C. L. Lawson & R. J.
/// Hanson, *Solving Least Squares Problems* (1974), chapter 23). 1/γ is never zero: a load of one has a throughput.
fn nonnegative_least_squares(points: &[LoadPoint]) -> Option<[f64; 3]> {
    let rows: Vec<[f64; 3]> = points
        .iter()
        .map(|&LoadPoint { load, throughput }| {
            [1.0, load - 1.0, load * (load - 1.0)].map(|term| term * throughput / load)
        })
        .collect();
    let error = |solution: &[f64; 3]| -> f64 {
        rows.iter().map(|row| (row.iter().zip(solution).map(|(r, s)| r * s).sum::<f64>() - 1.0).powi(2)).sum()
    };
    [[true, true, true], [true, true, false], [true, false, true], [true, false, false]]
        .iter()
        .filter_map(|free| solve_for_ones(&rows, *free))
        .filter(|solution| solution[0] > 0.0 && solution.iter().all(|part| *part >= 0.0))
        .min_by(|a, b| error(a).total_cmp(&error(b)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand_distr::{Distribution, Normal};
    use rand_pcg::Pcg64;

    fn law(gamma: f64, alpha: f64, beta: f64, load: f64) -> f64 {
        gamma * load / (1.0 + alpha * (load - 1.0) + beta * load * (load - 1.0))
    }

    fn points(loads: &[f64], mut throughput: impl FnMut(f64) -> f64) -> Vec<LoadPoint> {
        loads.iter().map(|&load| LoadPoint { load, throughput: throughput(load) }).collect()
    }

    const DOUBLING: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];

    fn fitted(points: &[LoadPoint]) -> UslFit {
        match fit(points) {
            Scalability::Fitted(fit) => fit,
            Scalability::Refused { reason } => panic!("{reason:?}"),
        }
    }

    fn refused(points: &[LoadPoint]) -> NoFitReason {
        match fit(points) {
            Scalability::Fitted(fit) => panic!("{fit:?}"),
            Scalability::Refused { reason } => reason,
        }
    }

    #[test]
    fn noise_of_two_percent_moves_the_peak_little() {
        let rng = &mut Pcg64::seed_from_u64(1);
        let noise = Normal::new(1.0, 0.02).unwrap();
        for _ in 0..200 {
            let measured: Vec<LoadPoint> = points(&DOUBLING, |n| law(1e4, 0.03, 0.001, n))
                .into_iter()
                .map(|p| LoadPoint { throughput: p.throughput * noise.sample(rng), ..p })
                .collect();
            let fit = fitted(&measured);
            assert!((fit.peak_load / 31.1 - 1.0).abs() < 0.2, "{fit:?}");
            assert!((fit.peak_throughput / law(1e4, 0.03, 0.001, 31.1) - 1.0).abs() < 0.05, "{fit:?}");
        }
    }

    #[test]
    fn five_loads_are_too_few_also_if_repeated() {
        let repeated = points(&[1.0, 2.0, 4.0, 8.0, 16.0].repeat(4), |n| law(1e4, 0.03, 0.001, n));
        assert_eq!(refused(&repeated), NoFitReason::TooFewLoads { loads: 5, needed: 6 });
    }

    #[test]
    fn a_straight_line_has_no_curvature() {
        let line = points(&DOUBLING, |n| 1e4 * n);
        assert!(matches!(refused(&line), NoFitReason::NoCurvature { loss } if loss.abs() < 1e-9));
        let faster_than_linear = points(&DOUBLING, |n| 1e4 * n.powf(1.05));
        assert!(matches!(refused(&faster_than_linear), NoFitReason::NoCurvature { .. }));
    }

    #[test]
    fn amdahls_law_has_a_ceiling_and_no_peak() {
        let NoFitReason::NoPeak { ceiling } = refused(&points(&DOUBLING, |n| law(1e4, 0.1, 0.0, n))) else {
            panic!("a peak")
        };
        assert!((ceiling / 1e5 - 1.0).abs() < 1e-6);
    }

    #[test]
    fn a_peak_far_beyond_the_loads_is_refused() {
        let NoFitReason::PeakBeyondRange { peak_load, largest_load } =
            refused(&points(&[1.0, 2.0, 3.0, 4.0, 6.0, 8.0], |n| law(1e4, 0.1, 0.001, n)))
        else {
            panic!("not refused")
        };
        assert!((peak_load - 30.0).abs() < 0.1 && largest_load == 8.0);
    }

    #[test]
    fn a_staircase_does_not_follow_the_law() {
        let staircase = points(&DOUBLING, |n| if n < 16.0 { 1e3 } else { 1e4 });
        assert!(matches!(refused(&staircase), NoFitReason::PoorFit { .. } | NoFitReason::NoCurvature { .. }));
    }

    #[test]
    fn throughput_that_falls_from_the_start_peaks_at_one() {
        let fit = fitted(&points(&DOUBLING, |n| law(1e4, 1.2, 0.01, n)));
        assert_eq!(fit.peak_load, 1.0);
        assert!((fit.peak_throughput - 1e4).abs() < 1.0);
    }

    #[test]
    fn predictions_stop_at_twice_the_largest_load() {
        let fit = fitted(&points(&DOUBLING, |n| law(1e4, 0.03, 0.001, n)));
        assert!((fit.predict(48.0).unwrap() / law(1e4, 0.03, 0.001, 48.0) - 1.0).abs() < 1e-6);
        assert_eq!(fit.predict(129.0), None);
        assert_eq!(fit.predict(0.5), None);
    }

    proptest! {
        #[test]
        fn exact_points_give_their_parameters(
            gamma in 1.0..1e6_f64, alpha in 0.0..0.5_f64, beta in 1e-3..0.05_f64,
        ) {
            let fit = fitted(&points(&DOUBLING, |n| law(gamma, alpha, beta, n)));
            prop_assert!((fit.gamma / gamma - 1.0).abs() < 1e-6);
            prop_assert!((fit.alpha - alpha).abs() < 1e-6 && (fit.beta / beta - 1.0).abs() < 1e-4);
            prop_assert!((fit.peak_load / ((1.0 - alpha) / beta).sqrt() - 1.0).abs() < 1e-4);
        }

        #[test]
        fn no_points_panic(raw in prop::collection::vec((any::<f64>(), any::<f64>()), 0..12)) {
            let points: Vec<_> = raw.into_iter().map(|(load, throughput)| LoadPoint { load, throughput }).collect();
            fit(&points);
        }

        #[test]
        fn positive_points_give_a_sound_fit_or_a_reason(
            throughputs in prop::collection::vec(1.0..1e6_f64, 7),
        ) {
            let mut measured = throughputs.into_iter();
            let points = points(&DOUBLING, |_| measured.next().unwrap());
            if let Scalability::Fitted(fit) = fit(&points) {
                prop_assert!(fit.gamma > 0.0 && fit.alpha >= 0.0 && fit.beta > 0.0);
                prop_assert!(1.0 <= fit.peak_load && fit.peak_load <= 128.0);
            }
        }
    }
}
