//! Driver counters over the trials of a variant: what a driver counts besides operations, such as messages, refusals by
//! code, and deadlocks.

use std::collections::BTreeMap;

use archive::model::{PhaseKind, Trial, TrialPhase, TrialStatus};

type Counters = BTreeMap<String, u64>;

/// Each counter per second, over the measurements of the valid trials. All trials are added up: a median would hide
/// what happens in one trial only.
pub fn per_s(trials: &[&Trial]) -> BTreeMap<String, f64> {
    let valid = trials.iter().filter(|trial| trial.status == TrialStatus::Valid);
    let measured = valid.filter_map(|trial| measurement(trial));
    rates(&measured.map(|phase| (phase.length_s, &phase.counters)).collect::<Vec<_>>())
}

/// The phase that gave a trial's value.
fn measurement(trial: &Trial) -> Option<&TrialPhase> {
    let is_central = |phase: &&TrialPhase| matches!(phase.kind, PhaseKind::Measure | PhaseKind::ClosedLoop);
    trial.phases.iter().rfind(is_central).filter(|phase| phase.length_s > 0.0)
}

/// The rate of each counter, from pairs of seconds and counts.
fn rates(taken: &[(f64, &Counters)]) -> BTreeMap<String, f64> {
    let seconds: f64 = taken.iter().map(|(seconds, _)| seconds).sum();
    let mut counted = BTreeMap::<String, f64>::new();
    for (name, number) in taken.iter().flat_map(|(_, counters)| counters.iter()) {
        *counted.entry(name.clone()).or_default() += *number as f64 / seconds;
    }
    counted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(counts: &[(&str, u64)]) -> Counters {
        counts.iter().map(|&(name, number)| (name.to_owned(), number)).collect()
    }

    #[test]
    fn a_counter_of_one_trial_is_divided_by_the_time_of_all() {
        let quiet = counters(&[("messages", 100)]);
        let refused = counters(&[("messages", 300), ("refused 451", 4)]);
        let counted = rates(&[(2.0, &quiet), (6.0, &refused)]);
        let expected = [("messages", 50.0), ("refused 451", 0.5)].map(|(name, rate)| (name.to_owned(), rate));
        assert_eq!(counted, BTreeMap::from(expected));
        assert!(rates(&[]).is_empty());
    }
}
