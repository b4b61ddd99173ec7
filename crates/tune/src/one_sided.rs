//! What one of two tuned servers got and the other did not: what a reader must know of a comparison of their best.

use archive::model::{OneSidedTuning, TuningOutcome, TuningRecord};

/// The tunings that one side keeps and the other does not, with the reason. Those that do not fit the other server at all are not
/// named. `names` are the variants of the comparison.
pub fn one_sided(records: [&TuningRecord; 2], names: [&str; 2]) -> Vec<OneSidedTuning> {
    let [a, b] = records;
    let kept = [(a, b, names[0]), (b, a, names[1])];
    kept.into_iter().flat_map(|(one, other, name)| kept_by_one(one, other, name)).collect()
}

fn kept_by_one(one: &TuningRecord, other: &TuningRecord, name: &str) -> Vec<OneSidedTuning> {
    let kept = one.tried.iter().filter(|tried| tried.outcome == TuningOutcome::Kept);
    let is_kept_by_other = |tuning: &str| {
        other.tried.iter().any(|tried| tried.tuning == tuning && tried.outcome == TuningOutcome::Kept)
    };
    let mut found: Vec<OneSidedTuning> = Vec::new();
    for tuning in kept.map(|tried| &tried.tuning).filter(|tuning| !is_kept_by_other(tuning)) {
        let tried = other.tried.iter().find(|tried| tried.tuning == *tuning).map(|tried| &tried.why);
        let not_tried = || other.not_tried.iter().find(|not| not.tuning == *tuning).map(|not| &not.why);
        if let Some(why) = tried.or_else(not_tried)
            && found.iter().all(|known| known.tuning != *tuning)
        {
            let (tuning, variant, why) = (tuning.clone(), name.to_owned(), why.clone());
            found.push(OneSidedTuning { tuning, variant, why, was_tried: tried.is_some() });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use archive::model::{TriedTuning, UntriedTuning};

    use super::*;

    fn record(baseline: &str, tried: &[(&str, TuningOutcome)], not_tried: &[&str]) -> TuningRecord {
        let tried = tried.iter().map(|(tuning, outcome)| TriedTuning {
            tuning: (*tuning).to_owned(),
            title: String::new(),
            settings: BTreeMap::new(),
            reason: String::new(),
            outcome: *outcome,
            why: "it gains nothing here".to_owned(),
            step: String::new(),
            screened: None,
            blocks: 0,
            own: None,
            own_confirmed: false,
            mechanism: None,
            risk: String::new(),
            source: String::new(),
        });
        let not_tried = not_tried.iter().map(|tuning| UntriedTuning {
            tuning: (*tuning).to_owned(),
            title: String::new(),
            why: "its evidence is not there".to_owned(),
        });
        TuningRecord {
            baseline: baseline.to_owned(),
            tried: tried.collect(),
            not_tried: not_tried.collect(),
            ..TuningRecord::default()
        }
    }

    #[test]
    fn a_tuning_of_one_side_is_named_with_what_became_of_it_on_the_other() {
        let (kept, dropped) = (TuningOutcome::Kept, TuningOutcome::Dropped);
        let nginx =
            record("nginx", &[("allocator", kept), ("kernel-rps", kept), ("nginx-sendfile", kept)], &[]);
        let apache = record("apache", &[("allocator", dropped), ("kernel-rps", kept)], &["kernel-gro-batch"]);
        let of = |a: &TuningRecord, b: &TuningRecord| -> Vec<String> {
            let found = one_sided([a, b], [&a.baseline, &b.baseline]);
            let words = |one: OneSidedTuning| {
                format!("{}: {}, tried: {}: {}", one.variant, one.tuning, one.was_tried, one.why)
            };
            found.into_iter().map(words).collect()
        };
        assert_eq!(of(&nginx, &apache), ["nginx: allocator, tried: true: it gains nothing here"]);
        let h2o = record("h2o", &[("kernel-gro-batch", kept)], &[]);
        assert_eq!(of(&apache, &h2o), ["h2o: kernel-gro-batch, tried: false: its evidence is not there"]);
        assert!(of(&nginx, &nginx).is_empty());
    }
}
