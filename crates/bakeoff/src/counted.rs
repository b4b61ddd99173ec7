//! What drivers count besides operations, summed up over the trials of a cell: messages, refusals by code, deadlocks.

use std::collections::{BTreeMap, BTreeSet};

use archive::model::{Phase, PhaseKind, Trial, TrialStatus};
use stats::describe::Sample;

type Tallies = BTreeMap<String, u64>;

/// Each count a second, its median over the measurements of the valid ones of these trials.
pub fn per_s(trials: &[&Trial]) -> BTreeMap<String, f64> {
    let valid = trials.iter().filter(|trial| trial.status == TrialStatus::Valid);
    let measured = valid.filter_map(|trial| measurement(trial));
    medians(&measured.map(|phase| (phase.length_s, &phase.tallies)).collect::<Vec<_>>())
}

/// The phase that a trial's value is taken from.
fn measurement(trial: &Trial) -> Option<&Phase> {
    let is_it = |phase: &&Phase| matches!(phase.kind, PhaseKind::Measure | PhaseKind::ClosedLoop);
    trial.phases.iter().rfind(is_it).filter(|phase| phase.length_s > 0.0)
}

/// Of counts that were taken in so many seconds; what some did not see counts as none there.
fn medians(taken: &[(f64, &Tallies)]) -> BTreeMap<String, f64> {
    let names: BTreeSet<&String> = taken.iter().flat_map(|(_, tallies)| tallies.keys()).collect();
    let median = |name: &String| {
        let rate = |(seconds, tallies): &(f64, &Tallies)| *tallies.get(name).unwrap_or(&0) as f64 / seconds;
        let rates: Vec<f64> = taken.iter().map(rate).collect();
        Some((name.clone(), Sample::new(&rates).ok()?.median()))
    };
    names.into_iter().filter_map(median).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tallies(counts: &[(&str, u64)]) -> Tallies {
        counts.iter().map(|&(name, number)| (name.to_owned(), number)).collect()
    }

    #[test]
    fn what_one_trial_did_not_see_counts_as_none() {
        let quiet = tallies(&[("messages", 100)]);
        let some = tallies(&[("messages", 100), ("refused 451", 4)]);
        let many = tallies(&[("messages", 400), ("refused 451", 8)]);
        let medians = medians(&[(2.0, &quiet), (2.0, &some), (4.0, &many)]);
        let expected = [("messages", 50.0), ("refused 451", 2.0)].map(|(name, rate)| (name.to_owned(), rate));
        assert_eq!(medians, BTreeMap::from(expected));
        assert!(super::medians(&[]).is_empty());
    }
}
