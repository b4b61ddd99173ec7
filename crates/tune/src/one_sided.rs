//! What one of two tuned servers got and the other did not: what a reader must know of a comparison of their best.

use archive::model::{TuningOutcome, TuningRecord};

/// A sentence for each tuning that one side keeps and the other does not, with the reason. Tunings that do not fit the other
/// server at all are not named.
pub fn one_sided(a: &TuningRecord, b: &TuningRecord) -> Vec<String> {
    [(a, b), (b, a)].into_iter().flat_map(|(one, other)| kept_by_one(one, other)).collect()
}

fn kept_by_one(one: &TuningRecord, other: &TuningRecord) -> Vec<String> {
    let kept = one.tried.iter().filter(|tried| tried.outcome == TuningOutcome::Kept);
    let is_kept_by_other = |tuning: &str| {
        other.tried.iter().any(|tried| tried.tuning == tuning && tried.outcome == TuningOutcome::Kept)
    };
    let mut sentences = Vec::new();
    for tuning in kept.map(|tried| &tried.tuning).filter(|tuning| !is_kept_by_other(tuning)) {
        let tried = other.tried.iter().find(|tried| tried.tuning == *tuning).map(|tried| &tried.why);
        let not_tried = || other.not_tried.iter().find(|not| not.tuning == *tuning).map(|not| &not.why);
        if let Some(why) = tried.or_else(not_tried) {
            let sentence =
                format!("{} has the tuning {tuning}, {} has not: {why}", one.baseline, other.baseline);
            if !sentences.contains(&sentence) {
                sentences.push(sentence);
            }
        }
    }
    sentences
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
        assert_eq!(
            one_sided(&nginx, &apache),
            ["nginx has the tuning allocator, apache has not: it gains nothing here"]
        );
        let h2o = record("h2o", &[("kernel-gro-batch", kept)], &[]);
        assert_eq!(
            one_sided(&apache, &h2o),
            ["h2o has the tuning kernel-gro-batch, apache has not: its evidence is not there"]
        );
        assert!(one_sided(&nginx, &nginx).is_empty());
    }
}
