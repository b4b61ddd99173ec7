//! What costs B more CPU time an operation than A, function by function, from several profiles of each.
//!
//! Each profile gives one value of each function, zero where it was not seen. The difference of the means has Welch's
//! interval ([`stats::welch`]). A function that was seen in a few samples has at least the scatter of counts (Poisson), also
//! where its values happen to agree. Functions are many, so p-values are adjusted to a rate of false discoveries
//! ([`stats::false_discovery`]), for their own time and for total time each. A function with too few samples to differ is not
//! tested, so that it does not weaken the tests of others.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use stats::confidence::Confidence;
use stats::false_discovery::adjusted;
use stats::welch::mean_difference;
use thiserror::Error;

use crate::frames::{FrameCost, FrameCosts};
use crate::stacks::Frame;

/// The expected share of false ones among the differences that are called significant.
pub const FALSE_DISCOVERY_RATE: f64 = 0.05;

/// Fewer samples, of both sides together, are not tested: with five, 5 against 0 has a probability of 6 % by itself.
pub const FEWEST_SAMPLES: u64 = 6;

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
    /// Of measured CPU time: the sum of the functions' own differences and of `rest`.
    pub cpu: CostDifference,
    /// Of measured CPU time that is in no sample.
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
}

/// The difference of B's profiles and A's.
pub fn difference(a: &[FrameCosts], b: &[FrameCosts]) -> Result<ProfileDifference, DifferenceError> {
    if a.len() < 2 || b.len() < 2 {
        return Err(DifferenceError::TooFew { a: a.len(), b: b.len() });
    }
    let (sides, mut differences) = ([Side::of(a), Side::of(b)], Vec::new());
    let all: BTreeSet<&Frame> = sides.iter().flat_map(|side| side.costs.keys().copied()).collect();
    for frame in all {
        let presence = match sides.each_ref().map(|side| side.costs.contains_key(frame)) {
            [true, false] => Presence::OnlyA,
            [false, true] => Presence::OnlyB,
            _ => Presence::Both,
        };
        let own = sides.each_ref().map(|side| side.values(frame, |cost| (cost.self_us, cost.self_samples)));
        let total =
            sides.each_ref().map(|side| side.values(frame, |cost| (cost.total_us, cost.total_samples)));
        let (own, total) = (sampled(&sides, &own)?, sampled(&sides, &total)?);
        differences.push(FrameDifference { frame: frame.clone(), presence, own, total });
    }
    correct(differences.iter_mut().map(|difference| &mut difference.own).collect());
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
        let mut found = tested(&values(a), &values(b), (0.0, 0.0))?;
        found.is_significant = found.adjusted_p.is_some_and(|p| p <= FALSE_DISCOVERY_RATE);
        Ok(found)
    };
    Ok(ProfileDifference {
        frames: differences,
        cpu: measured(|costs| costs.cpu_us)?,
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
        values.us.iter().sum::<f64>() / self.profiles as f64 * self.sample_us
    }
}

/// The difference of values that are counts of samples. Its p-value is not adjusted yet.
fn sampled(sides: &[Side<'_>; 2], values: &[Values; 2]) -> Result<CostDifference, DifferenceError> {
    let [a, b] = values;
    let least = (sides[0].count_variance(a), sides[1].count_variance(b));
    let found = tested(&a.us, &b.us, least)?;
    let has_enough = a.samples + b.samples >= FEWEST_SAMPLES;
    Ok(CostDifference { adjusted_p: found.adjusted_p.filter(|_| has_enough), ..found })
}

fn tested(a: &[f64], b: &[f64], least: (f64, f64)) -> Result<CostDifference, DifferenceError> {
    let found = mean_difference(a, b, least, Confidence::P95).ok_or(DifferenceError::NotFinite)?;
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
