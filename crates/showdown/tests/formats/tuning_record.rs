//! `tuning.json`.

use archive::model::{
    BeforeAfter, FORMAT, IntervalMethod, MechanismOutcome, RatioEstimate, TakeHome, TriedTuning,
    TuningOutcome, TuningRecord, TuningStep, UntriedTuning,
};

use super::json;
use super::page::Page;

fn text() -> String {
    "text".to_owned()
}

fn ratio(method: IntervalMethod) -> RatioEstimate {
    RatioEstimate { ratio: 1.4, low: 1.3, high: 1.5, blocks: 10, confidence: 0.95, method, log_sd: 0.01 }
}

fn tried(outcome: TuningOutcome) -> TriedTuning {
    TriedTuning {
        tuning: text(),
        title: text(),
        settings: [(text(), text())].into(),
        reason: text(),
        outcome,
        why: text(),
        step: text(),
        screened: Some(1.4),
        blocks: 4,
        own: Some(ratio(IntervalMethod::StudentT)),
        own_confirmed: true,
        mechanism: Some(MechanismOutcome { figure: text(), ratio: Some(0.9), moved: true }),
        risk: text(),
        source: text(),
    }
}

/// A record with everything.
fn record() -> TuningRecord {
    TuningRecord {
        format: FORMAT,
        made_unix_ms: 1,
        command: vec![text()],
        baseline: text(),
        sentence: text(),
        metric: text(),
        unit: text(),
        budget_s: 1.5,
        took_s: 1.5,
        allowed: vec![text()],
        equal_sentence: "Two equal servers: 1.001 × (0.990–1.010) in 6 blocks.".to_owned(),
        equal: Some(ratio(IntervalMethod::SignedRank)),
        headline: Some(ratio(IntervalMethod::SignedRank)),
        tuned: Some(text()),
        before_after: vec![BeforeAfter {
            what: text(),
            unit: text(),
            before: 1.5,
            after: 1.5,
            ratio: Some(ratio(IntervalMethod::StudentT)),
        }],
        tried: [TuningOutcome::Kept, TuningOutcome::Dropped, TuningOutcome::Refused].map(tried).to_vec(),
        weaker: vec![tried(TuningOutcome::Dropped)],
        not_tried: vec![UntriedTuning { tuning: text(), title: text(), why: text() }],
        steps: vec![TuningStep { name: text(), run: text(), learnt: text() }],
        take_home: vec![TakeHome { file: text(), lines: vec![text()] }],
        ended: Some(text()),
    }
}

#[test]
fn what_a_search_has_found_is_documented() {
    Page::read().assert_documents("tuning.json", &[json(&record())]);
}
