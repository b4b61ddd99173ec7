//! What costs B more CPU time an operation than A, function by function, from several profiles of each.
//!
//! Each profile gives one value of each function, zero where it was not seen: a count of samples, of which the variance is its mean
//! (Poisson) times a dispersion. Few profiles tell little of the dispersion of one function, and all functions together tell much: it
//! is moderated over them ([`stats::moderated`]), and never below that of counts. The difference of the means has the interval of a
//! moderated t. Measured times, which are no counts, have Welch's ([`stats::welch`]). Functions are many, so p-values are adjusted to a rate of false discoveries
//! ([`stats::false_discovery`]), for their own time and for total time each. A function with too few samples to differ is not
//! tested, so that it does not weaken the tests of others.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use stats::confidence::Confidence;
use stats::false_discovery::adjusted;
use stats::moderated::{Variance, VariancePrior};
use stats::welch::{mean_difference, of_means};
use thiserror::Error;

use crate::frames::{FrameCost, FrameCosts};
use crate::stacks::Frame;

/// The expected share of false ones among the differences that are called significant.
pub const FALSE_DISCOVERY_RATE: f64 = 0.05;

/// Fewer samples, of both sides together, are not tested: with five, 5 against 0 has a probability of 6 % by itself.
pub const FEWEST_SAMPLES: u64 = 6;

/// Functions with at least this many samples in each profile show how much all of them scatter.
const SAMPLES_A_PROFILE: u64 = 3;

/// On which sides a function was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Presence {
    /// On both.
    Both,
    /// In A only: removed.
    OnlyA,
    /// In B only: new.
    OnlyB,
}

/// A difference B − A of µs of CPU time an operation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CostDifference {
    /// Mean of A's profiles, µs an operation.
    pub a_us: f64,
    /// Mean of B's profiles, µs an operation.
    pub b_us: f64,
    /// Lower bound of B − A at 95 %, µs an operation. It is the interval of this function alone.
    pub low_us: f64,
    /// Upper bound of B − A at 95 %, µs an operation.
    pub high_us: f64,
    /// The p-value after the correction for the number of functions; None if there were too few samples to test.
    pub adjusted_p: Option<f64>,
    /// Whether it is a difference, at the rate of false discoveries of 5 %.
    pub is_significant: bool,
}

impl CostDifference {
    /// B − A, µs an operation.
    pub fn us(&self) -> f64 {
        self.b_us - self.a_us
    }
}

/// A function's difference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FrameDifference {
    /// The function.
    pub frame: Frame,
    /// On which sides it was seen.
    pub presence: Presence,
    /// In the function itself.
    pub own: CostDifference,
    /// In the function and in those that it calls.
    pub total: CostDifference,
}

/// The difference of two sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProfileDifference {
    /// Each function of either side, the largest difference of its own first.
    pub frames: Vec<FrameDifference>,
    /// Of measured CPU time: the sum of the functions' own differences, of `waking` and of `rest`.
    pub cpu: CostDifference,
    /// Of what the kernel counts from a wake-up until the thread runs. None where it was not measured on both sides.
    pub waking: Option<CostDifference>,
    /// Of measured CPU time that nothing explains.
    pub rest: CostDifference,
}

/// Why there is no difference.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DifferenceError {
    /// A side has fewer than two profiles.
    #[error("a difference needs at least 2 profiles a side, and there are {a} and {b}")]
    TooFew {
        /// A's profiles.
        a: usize,
        /// B's profiles.
        b: usize,
    },
    /// A value is not finite.
    #[error("a profile has a cost that is not a finite number")]
    NotFinite,
    /// The profiles of a side have no CPU time at all.
    #[error("the profiles of one server have no CPU time: it carried no load while it was profiled")]
    NoCpuTime,
}

/// The difference of B's profiles and A's.
pub fn difference(a: &[FrameCosts], b: &[FrameCosts]) -> Result<ProfileDifference, DifferenceError> {
    if a.len() < 2 || b.len() < 2 {
        return Err(DifferenceError::TooFew { a: a.len(), b: b.len() });
    }
    if a.iter().chain(b).any(|costs| !costs.is_finite()) {
        return Err(DifferenceError::NotFinite);
    }
    if [a, b].iter().any(|side| side.iter().all(|costs| costs.cpu_us <= 0.0)) {
        return Err(DifferenceError::NoCpuTime);
    }
    let sides = [Side::of(a), Side::of(b)];
    let all: BTreeSet<&Frame> = sides.iter().flat_map(|side| side.costs.keys().copied()).collect();
    let counts = |value: fn(&FrameCost) -> (f64, u64)| -> Vec<[Values; 2]> {
        all.iter().map(|frame| sides.each_ref().map(|side| side.values(frame, value))).collect()
    };
    let own = moderated(&sides, &counts(|cost| (cost.self_us, cost.self_samples)));
    let total = moderated(&sides, &counts(|cost| (cost.total_us, cost.total_samples)));
    let mut differences = Vec::new();
    for ((frame, own), total) in all.iter().zip(own).zip(total) {
        let presence = match sides.each_ref().map(|side| side.costs.contains_key(*frame)) {
            [true, false] => Presence::OnlyA,
            [false, true] => Presence::OnlyB,
            _ => Presence::Both,
        };
        differences.push(FrameDifference { frame: (*frame).clone(), presence, own, total });
    }
    let waking = [a, b].map(|side| side.iter().map(|costs| costs.waking_us).collect::<Option<Vec<f64>>>());
    let mut waking = if let [Some(a), Some(b)] = &waking { Some(tested(a, b)?) } else { None };
    correct(differences.iter_mut().map(|difference| &mut difference.own).chain(&mut waking).collect());
    correct(differences.iter_mut().map(|difference| &mut difference.total).collect());
    differences.sort_by(|x, y| {
        let size = |difference: &FrameDifference| (difference.own.us().abs(), difference.total.us().abs());
        size(y)
            .0
            .total_cmp(&size(x).0)
            .then(size(y).1.total_cmp(&size(x).1))
            .then_with(|| x.frame.cmp(&y.frame))
    });
    let measured = |value: fn(&FrameCosts) -> f64| {
        let values = |side: &[FrameCosts]| side.iter().map(value).collect::<Vec<f64>>();
        let mut found = tested(&values(a), &values(b))?;
        found.is_significant = found.adjusted_p.is_some_and(|p| p <= FALSE_DISCOVERY_RATE);
        Ok(found)
    };
    Ok(ProfileDifference {
        frames: differences,
        cpu: measured(|costs| costs.cpu_us)?,
        waking,
        rest: measured(|costs| costs.rest_us)?,
    })
}

/// The profiles of a side, by function.
struct Side<'a> {
    profiles: usize,
    costs: BTreeMap<&'a Frame, Vec<(usize, &'a FrameCost)>>,
    /// Mean µs of a sample.
    sample_us: f64,
}

/// The values of a function in each profile of a side.
struct Values {
    us: Vec<f64>,
    samples: u64,
}

impl<'a> Side<'a> {
    fn of(profiles: &'a [FrameCosts]) -> Self {
        let mut costs: BTreeMap<&Frame, Vec<(usize, &FrameCost)>> = BTreeMap::new();
        for (at, profile) in profiles.iter().enumerate() {
            for cost in &profile.frames {
                costs.entry(&cost.frame).or_default().push((at, cost));
            }
        }
        let sample_us = profiles.iter().map(|profile| profile.sample_us).sum::<f64>() / profiles.len() as f64;
        Self { profiles: profiles.len(), costs, sample_us }
    }

    fn values(&self, frame: &Frame, value: impl Fn(&FrameCost) -> (f64, u64)) -> Values {
        let mut values = Values { us: vec![0.0; self.profiles], samples: 0 };
        for (at, cost) in self.costs.get(frame).into_iter().flatten() {
            let (us, samples) = value(cost);
            values.us[*at] += us;
            values.samples += samples;
        }
        values
    }

    /// The variance of one value if samples are counts: the mean count times the square of what a sample stands for.
    fn count_variance(&self, values: &Values) -> f64 {
        values.mean() * self.sample_us
    }
}

impl Values {
    fn mean(&self) -> f64 {
        self.us.iter().sum::<f64>() / self.us.len() as f64
    }
}

/// How many times as much the values of a function scatter as counts. None where it was seen in no sample.
fn dispersion(sides: &[Side<'_>; 2], values: &[Values; 2]) -> Option<Variance> {
    let (mut sum, mut degrees) = (0.0, 0.0);
    for (side, values) in sides.iter().zip(values) {
        let (mean, by_chance) = (values.mean(), side.count_variance(values));
        if by_chance > 0.0 {
            sum += values.us.iter().map(|us| (us - mean).powi(2)).sum::<f64>() / by_chance;
            degrees += (values.us.len() - 1) as f64;
        }
    }
    (degrees > 0.0).then(|| Variance { value: sum / degrees, degrees })
}

/// The differences of values that are counts of samples, in their order. Their p-values are not adjusted yet.
fn moderated(sides: &[Side<'_>; 2], all: &[[Values; 2]]) -> Vec<CostDifference> {
    let samples = |values: &[Values; 2]| values[0].samples + values[1].samples;
    let profiles = (sides[0].profiles + sides[1].profiles) as u64;
    // Few samples scatter in steps, and say nothing of the dispersion.
    let counted_often = all.iter().filter(|values| samples(values) >= SAMPLES_A_PROFILE * profiles);
    let known: Vec<Variance> = counted_often.filter_map(|values| dispersion(sides, values)).collect();
    let prior = VariancePrior::of(&known);
    let difference = |values: &[Values; 2]| {
        let (a_us, b_us) = (values[0].mean(), values[1].mean());
        let found = dispersion(sides, values).and_then(|own| {
            let dispersion = prior.map_or(own, |prior| prior.moderate(own));
            let by_chance = |at: usize| sides[at].count_variance(&values[at]) / sides[at].profiles as f64;
            let value = dispersion.value.max(1.0) * (by_chance(0) + by_chance(1));
            of_means((a_us, b_us), Variance { value, ..dispersion }, Confidence::P95)
        });
        let change = b_us - a_us;
        CostDifference {
            a_us,
            b_us,
            low_us: found.map_or(change, |found| found.interval.low),
            high_us: found.map_or(change, |found| found.interval.high),
            adjusted_p: found.map(|found| found.p).filter(|_| samples(values) >= FEWEST_SAMPLES),
            is_significant: false,
        }
    };
    all.iter().map(difference).collect()
}

/// The difference of values that are no counts.
fn tested(a: &[f64], b: &[f64]) -> Result<CostDifference, DifferenceError> {
    let found = mean_difference(a, b, (0.0, 0.0), Confidence::P95).ok_or(DifferenceError::NotFinite)?;
    Ok(CostDifference {
        a_us: found.a,
        b_us: found.b,
        low_us: found.interval.low,
        high_us: found.interval.high,
        adjusted_p: Some(found.p),
        is_significant: false,
    })
}

/// Adjusts the p-values of all that were tested.
fn correct(mut differences: Vec<&mut CostDifference>) {
    differences.retain(|difference| difference.adjusted_p.is_some());
    let p: Vec<f64> = differences.iter().filter_map(|difference| difference.adjusted_p).collect();
    for (difference, p) in differences.into_iter().zip(adjusted(&p)) {
        difference.adjusted_p = Some(p);
        difference.is_significant = p <= FALSE_DISCOVERY_RATE;
    }
}

#[cfg(test)]
mod tests;
