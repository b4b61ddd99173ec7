//! The ratio of the figures of two variants from their trials: within blocks, or within sets of machines where kinds are compared.

use std::collections::{BTreeMap, BTreeSet};

use archive::model::{FEWEST_OF_A_KIND, Trial};
use stats::confidence::{Confidence, ConfidenceInterval};
use stats::describe::Sample;
use stats::ratio;

use crate::figure::Figure;

/// Where in a run a trial was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TrialPlace {
    block: u32,
    /// None for this machine.
    pub(super) host: Option<String>,
}

/// A figure of a trial.
#[derive(Debug, Clone)]
pub(crate) struct TrialValue {
    pub place: TrialPlace,
    pub value: f64,
}

impl TrialPlace {
    pub(super) fn of(trial: &Trial) -> Self {
        Self { block: trial.block, host: trial.host.clone() }
    }
}

/// The ratio of the values of `a` to those of `b` in the same block, with its interval as verdicts have it. From six machines of a
/// kind on, their sets are the replicates, as in `bakeoff::machine_draw`: a machine differs from others of its kind in all of
/// its blocks alike.
pub(crate) fn paired_ratio(a: &[TrialValue], b: &[TrialValue]) -> Option<Figure> {
    type Hosts<'v> = (Option<&'v str>, Option<&'v str>);
    let mut pairs: Vec<(Hosts<'_>, (f64, f64))> = Vec::new();
    for one in a {
        let Some(other) = b.iter().find(|other| other.place.block == one.place.block) else { continue };
        pairs.push(((one.place.host.as_deref(), other.place.host.as_deref()), (one.value, other.value)));
    }
    let sets: BTreeSet<Hosts<'_>> = pairs.iter().map(|(hosts, _)| *hosts).collect();
    if sets.len() < FEWEST_OF_A_KIND as usize {
        return ratio_of(&pairs.iter().map(|(_, values)| *values).collect::<Vec<_>>());
    }
    let mut of_sets: BTreeMap<Hosts<'_>, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
    for (hosts, (one, other)) in pairs {
        let (ones, others) = of_sets.entry(hosts).or_default();
        ones.push(one.ln());
        others.push(other.ln());
    }
    let mean = |logs: &[f64]| Sample::new(logs).ok().map(|sample| sample.mean().exp());
    let means = of_sets.values().filter_map(|(ones, others)| Some((mean(ones)?, mean(others)?)));
    ratio_of(&means.collect::<Vec<_>>())
}

fn ratio_of(pairs: &[(f64, f64)]) -> Option<Figure> {
    let estimate = ratio::estimate(pairs, Confidence::P95).ok()?;
    Some(Figure::new(estimate.ratio, Some(ConfidenceInterval { low: estimate.low, high: estimate.high })))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of twelve blocks that take so many hosts in turns; `wobble` is what each host adds.
    fn values(hosts: u32, of: impl Fn(u32, u32) -> f64) -> Vec<TrialValue> {
        let value = |block: u32| {
            let host = block % hosts;
            let place = TrialPlace { block, host: Some(format!("h{host}")) };
            TrialValue { place, value: of(block, host) }
        };
        (0..12).map(value).collect()
    }

    #[test]
    fn blocks_pair_the_trials_whatever_their_order() {
        let a = values(1, |block, _| 2.0 * (1.0 + 0.1 * f64::from(block)));
        let mut b = values(1, |block, _| 1.0 + 0.1 * f64::from(block));
        b.reverse();
        let ratio = paired_ratio(&a, &b).unwrap();
        assert!((ratio.value - 2.0).abs() < 1e-9 && (ratio.low.unwrap() - 2.0).abs() < 1e-9, "{ratio:?}");
        assert_eq!(paired_ratio(&a, &b[..2]), None, "too few blocks");
    }

    #[test]
    fn blocks_of_one_machine_are_no_replicates_of_its_kind() {
        // Each host of a differs from the others of its kind, in all of its blocks alike.
        let a = |hosts| values(hosts, |_, host| 2.0 + 0.2 * f64::from(host));
        let b = |hosts| values(hosts, |_, _| 1.0);
        let of_kinds = paired_ratio(&a(6), &b(6)).unwrap();
        let once: Vec<TrialValue> = a(6)[..6].to_vec();
        let each_machine_once = paired_ratio(&once, &b(6)).unwrap();
        assert!((of_kinds.low.unwrap() - each_machine_once.low.unwrap()).abs() < 1e-9, "{of_kinds:?}");
        // Fewer machines are these machines: their blocks count.
        let of_two = paired_ratio(&a(2), &b(2)).unwrap();
        let one_set = ratio_of(&[(2.0, 1.0), (2.2, 1.0)]);
        assert!(one_set.is_none() && of_two.low.is_some());
    }
}
