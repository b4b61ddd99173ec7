//! Reads documents of earlier formats: rewrites them as documents of the current format before they become types.
//!
//! This is the only module that knows earlier formats. A new format adds a table of renames and, where a rename is not
//! enough, a function; [`FORMAT`] rises with it.

use super::FORMAT;
use serde::Deserialize;
use serde_json::{Map, Value};
use thiserror::Error;

/// A file of a run directory that has a format number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Document {
    /// `plan.toml`.
    Plan,
    /// `facts.json`.
    Facts,
    /// `trial.json`.
    Trial,
    /// `verdict.json`.
    Verdict,
    /// `explanation.json`, which format 1 did not have.
    Explanation,
    /// `concurrency.json`, which format 1 did not have.
    Concurrency,
    /// `tuning.json`, which format 1 did not have.
    Tuning,
}

/// The format number of a document; other keys are ignored.
#[derive(Debug, Deserialize)]
pub(crate) struct FormatNumber {
    pub(crate) format: u32,
}

/// A document of a format that this version cannot read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("written in format {format}, this showdown reads formats 1 to {FORMAT}: use a newer showdown")]
pub(crate) struct UnknownFormat {
    format: u32,
}

/// Rewrites a document as one of the current format. `None` where the document has that format already.
pub(crate) fn upgrade(
    document: Document,
    format: u32,
    value: impl FnOnce() -> Option<Value>,
) -> Result<Option<Value>, UnknownFormat> {
    match format {
        FORMAT => Ok(None),
        1 => Ok(value().map(|value| from_1(document, value))),
        _ => Err(UnknownFormat { format }),
    }
}

/// The path of a key in format 1, and its name in format 2. `[]` is every element of a list. A path uses the new names
/// of the keys above, so a parent comes before its children.
type Rename = (&'static str, &'static str);

const PLAN_FROM_1: &[Rename] =
    &[("measure.what", "metric"), ("warm_up.least", "min"), ("warm_up.most", "max")];

const TRIAL_FROM_1: &[Rename] = &[
    ("measured.what", "metric"),
    ("timeline[].errors", "failed"),
    ("counts[].what", "counter"),
    ("full", "saturated"),
    ("saturated.looked_at", "candidates"),
];

/// For each of `phases[]`, and for `background`.
const PHASE_FROM_1: &[Rename] = &[
    ("achieved_per_s", "throughput_per_s"),
    ("response_us", "response_time_us"),
    ("service_us", "service_time_us"),
    ("response_curve_us", "response_time_curve_us"),
    ("operations[].response_us", "response_time_us"),
    ("tallies", "counters"),
    ("client.lag_p99_us", "delay_p99_us"),
];

/// Kinds of phases that format 1 defined and no run wrote.
const PHASE_KINDS_OF_1: [&str; 3] = ["check", "populate", "warm_up"];

const VERDICT_FROM_1: &[Rename] = &[
    ("measure", "metric"),
    ("comparisons[].verdict.verdict", "outcome"),
    ("comparisons[].verdict.why", "reason"),
    ("variants[].counted_per_s", "counters_per_s"),
    ("variants[].response_curve_us", "response_time_curve_us"),
    ("curves[].held", "fixed"),
    ("curves[].points[].least", "min"),
    ("curves[].points[].most", "max"),
];

fn from_1(document: Document, mut value: Value) -> Value {
    match document {
        Document::Plan => rename_all(&mut value, PLAN_FROM_1),
        Document::Facts | Document::Explanation | Document::Concurrency | Document::Tuning => {}
        Document::Trial => {
            rename_all(&mut value, TRIAL_FROM_1);
            at(&mut value, "phases[]", &mut |phase| rename_all(phase, PHASE_FROM_1));
            at(&mut value, "background", &mut |phase| rename_all(phase, PHASE_FROM_1));
            if let Some(Value::Array(phases)) = value.get_mut("phases") {
                phases.retain(|phase| !phase["kind"].as_str().is_some_and(|k| PHASE_KINDS_OF_1.contains(&k)));
            }
        }
        Document::Verdict => {
            rename_all(&mut value, VERDICT_FROM_1);
            at(&mut value, "comparisons[].verdict.reason", &mut flatten_reason);
        }
    }
    if let Some(format) = value.get_mut("format") {
        *format = FORMAT.into();
    }
    value
}

/// `{"no_ratio": {"reason": "too_few_blocks", …}}` and `{"too_wide": {…}}` become `{"kind": "too_few_blocks", …}` and
/// `{"kind": "too_wide", …}`.
fn flatten_reason(reason: &mut Value) {
    let Value::Object(outer) = reason else { return };
    let Some((name, Value::Object(mut fields))) = std::mem::take(outer).into_iter().next() else { return };
    let kind = fields.remove("reason").unwrap_or(Value::String(name));
    fields.insert("kind".to_owned(), kind);
    *outer = fields;
}

fn rename_all(value: &mut Value, renames: &[Rename]) {
    for (path, new) in renames {
        let (parent, old) = path.rsplit_once('.').unwrap_or(("", path));
        at(value, parent, &mut |object| {
            if let Value::Object(object) = object {
                rename(object, old, new);
            }
        });
    }
}

fn rename(object: &mut Map<String, Value>, old: &str, new: &str) {
    if let Some(value) = object.remove(old) {
        object.insert(new.to_owned(), value);
    }
}

/// Calls `change` with every value at a path; the empty path is the value itself.
fn at(value: &mut Value, path: &str, change: &mut dyn FnMut(&mut Value)) {
    let (key, rest) = path.split_once('.').unwrap_or((path, ""));
    if key.is_empty() {
        return change(value);
    }
    let (key, is_list) = key.strip_suffix("[]").map_or((key, false), |key| (key, true));
    match value.get_mut(key) {
        Some(Value::Array(elements)) if is_list => {
            for element in elements {
                at(element, rest, change);
            }
        }
        Some(inner) if !is_list => at(inner, rest, change),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn upgraded(document: Document, value: Value) -> Value {
        upgrade(document, 1, || Some(value)).unwrap().unwrap()
    }

    #[test]
    fn keys_are_renamed_at_every_place_of_their_path() {
        let trial = json!({
            "format": 1,
            "full": { "resource": "CPU", "looked_at": [] },
            "timeline": [{ "t_s": 0, "errors": 1 }, { "t_s": 1, "errors": 0 }],
            "phases": [
                { "kind": "warm_up" },
                { "kind": "measure", "response_us": 1, "operations": [{ "response_us": 2 }], "client": { "lag_p99_us": 3 } },
            ],
            "background": { "tallies": { "hits": 4 } },
        });
        let expected = json!({
            "format": FORMAT,
            "saturated": { "resource": "CPU", "candidates": [] },
            "timeline": [{ "t_s": 0, "failed": 1 }, { "t_s": 1, "failed": 0 }],
            "phases": [
                { "kind": "measure", "response_time_us": 1, "operations": [{ "response_time_us": 2 }], "client": { "delay_p99_us": 3 } },
            ],
            "background": { "counters": { "hits": 4 } },
        });
        assert_eq!(upgraded(Document::Trial, trial), expected);
    }

    #[test]
    fn reasons_of_an_inconclusive_verdict_become_flat() {
        let verdict = |reason: Value| {
            let comparison = json!({ "verdict": { "verdict": "inconclusive", "why": reason } });
            upgraded(Document::Verdict, json!({ "comparisons": [comparison] }))["comparisons"][0]["verdict"]
                .clone()
        };
        assert_eq!(
            verdict(json!({ "no_ratio": { "reason": "too_few_blocks", "blocks": 0, "needed": 3 } })),
            json!({ "outcome": "inconclusive", "reason": { "kind": "too_few_blocks", "blocks": 0, "needed": 3 } })
        );
        assert_eq!(
            verdict(json!({ "too_wide": { "within": 0.3, "useful": 0.1 } }))["reason"],
            json!({ "kind": "too_wide", "within": 0.3, "useful": 0.1 })
        );
    }

    #[test]
    fn the_current_format_is_left_alone_and_a_later_one_is_refused() {
        assert_eq!(upgrade(Document::Facts, FORMAT, || unreachable!()), Ok(None));
        let message = upgrade(Document::Facts, FORMAT + 1, || None).unwrap_err().to_string();
        assert_eq!(message, "written in format 3, this showdown reads formats 1 to 2: use a newer showdown");
    }

    #[test]
    fn a_document_of_an_unexpected_shape_is_left_for_the_parser_to_refuse() {
        for value in [json!([1]), json!("text"), json!({ "phases": 7, "full": null, "comparisons": [null] })]
        {
            upgraded(Document::Trial, value.clone());
            upgraded(Document::Verdict, value);
        }
    }
}
