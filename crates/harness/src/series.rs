//! The history of a series: runs of one question in the order of time, a value with its interval for each, and the facts that differ
//! between neighbours.

use std::collections::BTreeMap;

use archive::Run;
use archive::model::{Comparison, Plan, SweepPoint, VariantSummary, Verdict};
use serde::Serialize;
use utoipa::ToSchema;

use crate::comparison::facts_of;

/// The most runs of a history; earlier ones are on another page.
pub const MOST_RUNS: u32 = 200;

/// The most changed facts that are named between two runs.
const MOST_CHANGES: usize = 100;

/// Runs of one question in the order of time.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct SeriesHistory {
    /// The key of the series.
    pub key: String,
    /// What its runs ask.
    pub title: String,
    /// What can be shown of it: ratios of two variants, and medians of one.
    pub values: Vec<String>,
    /// Which of them is shown.
    pub shown: Option<String>,
    /// Whether the value is a ratio, for which 1 means no difference.
    pub is_ratio: bool,
    /// What the runs measure, and its unit.
    pub metric: String,
    /// The unit; empty for a ratio.
    pub unit: String,
    /// The runs, the oldest first.
    pub runs: Vec<SeriesRun>,
    /// Where there are earlier runs: they began before this, in milliseconds since 1970.
    pub earlier_before: Option<i64>,
}

/// A run of a series.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct SeriesRun {
    /// Its id.
    pub id: String,
    /// When it began: milliseconds since 1970.
    pub started_unix_ms: i64,
    /// Its state.
    pub state: String,
    /// The value.
    pub value: Option<f64>,
    /// The lower bound of its interval.
    pub low: Option<f64>,
    /// The upper bound.
    pub high: Option<f64>,
    /// Why there is no value, or no interval.
    pub why_none: Option<String>,
    /// The facts that are not as in the run before, by name.
    pub changes: Vec<ChangedFact>,
    /// How many further facts have changed.
    pub further: usize,
}

/// A fact that is not as in the run before.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ChangedFact {
    /// Its name, such as `host: kernel.release`.
    pub name: String,
    /// The value in the run before. None if the run before does not know the fact.
    pub before: Option<String>,
    /// Its value in this run.
    pub now: Option<String>,
}

/// A value with the bounds of its interval, where there is one.
type ValueWithInterval = (f64, Option<(f64, f64)>);

/// What is shown of a run.
#[derive(Clone, Debug, PartialEq)]
enum SeriesValue {
    Ratio { a: String, b: String, point: SweepPoint },
    Median { variant: String, point: SweepPoint },
}

impl SeriesValue {
    /// Its name in the address of a page.
    fn name(&self) -> String {
        let (what, point) = match self {
            Self::Ratio { a, b, point } => (format!("{a} / {b}"), point),
            Self::Median { variant, point } => (format!("median of {variant}"), point),
        };
        let mut name = what;
        for (number, (axis, value)) in point.iter().enumerate() {
            name = format!("{name}{} {axis}={value}", if number == 0 { " at" } else { "," });
        }
        name
    }

    /// Its value in a run; why there is none.
    fn of(&self, verdict: &Verdict) -> Result<ValueWithInterval, &'static str> {
        match self {
            Self::Ratio { a, b, point } => {
                let found = verdict.comparisons.iter().find(|one| is_pair(one, a, b) && one.point == *point);
                let comparison = found.ok_or("these variants are not compared")?;
                let estimate = comparison.estimate.as_ref().ok_or("too few valid trials for a ratio")?;
                let (ratio, low, high) = (estimate.ratio, estimate.low, estimate.high);
                // The variant with the larger median is the numerator of a verdict, so it may be the other one.
                let is_turned = comparison.a != *a;
                if is_turned {
                    Ok((1.0 / ratio, Some((1.0 / high, 1.0 / low))))
                } else {
                    Ok((ratio, Some((low, high))))
                }
            }
            Self::Median { variant, point } => {
                let found = verdict.variants.iter().find(|one| one.name == *variant && one.point == *point);
                let median = found.and_then(|summary| summary.median).ok_or("no valid trial")?;
                let interval = found.and_then(|summary| summary.interval);
                Ok((median, interval.map(|interval| (interval.low, interval.high))))
            }
        }
    }
}

fn is_pair(comparison: &Comparison, a: &str, b: &str) -> bool {
    let names = [comparison.a.as_str(), comparison.b.as_str()];
    names == [a, b] || names == [b, a]
}

/// The history of runs that are given with the newest first, and of what is shown of them by its name. With more than
/// [`MOST_RUNS`], the oldest one is there for its facts only.
pub fn history(key: &str, mut runs: Vec<Run>, shown: Option<&str>) -> SeriesHistory {
    runs.reverse();
    let values = values_of(&runs);
    let named = values.iter().find(|value| shown == Some(value.name().as_str()));
    let shown = named.or(values.first());
    let newest = runs.iter().rev().find_map(|run| run.verdict.as_ref());
    let metric = newest.map_or_else(String::new, |verdict| verdict.metric.clone());
    let is_ratio = matches!(shown, Some(SeriesValue::Ratio { .. }));
    let unit = match newest {
        Some(verdict) if !is_ratio => verdict.unit.clone(),
        _ => String::new(),
    };
    let mut rows = Vec::new();
    let mut before: Option<BTreeMap<String, String>> = None;
    for run in &runs {
        let facts = facts_of(run);
        let changes = before.as_ref().map_or_else(Vec::new, |before| changes(before, &facts));
        rows.push(row(run, shown, changes));
        before = Some(facts);
    }
    let has_earlier = rows.len() > MOST_RUNS as usize;
    if has_earlier {
        rows.remove(0);
    }
    let earlier_before = if has_earlier { rows.first().map(|row| row.started_unix_ms) } else { None };
    SeriesHistory {
        key: key.to_owned(),
        title: runs.iter().rev().find_map(|run| run.plan.as_ref()).map_or_else(String::new, title),
        values: values.iter().map(SeriesValue::name).collect(),
        shown: shown.map(SeriesValue::name),
        is_ratio,
        metric,
        unit,
        runs: rows,
        earlier_before,
    }
}

fn title(plan: &Plan) -> String {
    let names: Vec<&str> = plan.variants.iter().map(|variant| variant.name.as_str()).collect();
    format!("{} {} on {}", plan.kind.name(), names.join(" "), plan.workload)
}

/// All that can be shown: each pair that a verdict compares, in the order of the plan, then the median of each variant.
fn values_of(runs: &[Run]) -> Vec<SeriesValue> {
    let (mut ratios, mut medians) = (Vec::new(), Vec::new());
    for run in runs {
        let (Some(plan), Some(verdict)) = (&run.plan, &run.verdict) else { continue };
        for Comparison { a, b, point, .. } in &verdict.comparisons {
            let (a, b) = if place_of(a, plan) <= place_of(b, plan) { (a, b) } else { (b, a) };
            let ratio = SeriesValue::Ratio { a: a.clone(), b: b.clone(), point: point.clone() };
            if !ratios.contains(&ratio) {
                ratios.push(ratio);
            }
        }
        for VariantSummary { name, point, .. } in &verdict.variants {
            let median = SeriesValue::Median { variant: name.clone(), point: point.clone() };
            if !medians.contains(&median) {
                medians.push(median);
            }
        }
    }
    ratios.extend(medians);
    ratios
}

/// The place of a variant in the plan.
fn place_of(variant: &str, plan: &Plan) -> Option<usize> {
    plan.variants.iter().position(|planned| planned.name == variant)
}

fn row(run: &Run, shown: Option<&SeriesValue>, mut changes: Vec<ChangedFact>) -> SeriesRun {
    let found = match (&run.verdict, shown) {
        (Some(verdict), Some(shown)) => shown.of(verdict),
        _ => Err("it has no verdict"),
    };
    let (value, interval, why_none) = match found {
        Ok((value, None)) => (Some(value), None, Some("too few valid trials for an interval".to_owned())),
        Ok((value, interval)) => (Some(value), interval, None),
        Err(why) => (None, None, Some(why.to_owned())),
    };
    let started = run.id.started().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let further = changes.len().saturating_sub(MOST_CHANGES);
    changes.truncate(MOST_CHANGES);
    SeriesRun {
        id: run.id.to_string(),
        started_unix_ms: i64::try_from(started.as_millis()).unwrap_or(i64::MAX),
        state: run.state.name().to_owned(),
        value,
        low: interval.map(|(low, _)| low),
        high: interval.map(|(_, high)| high),
        why_none,
        changes,
        further,
    }
}

fn changes(before: &BTreeMap<String, String>, now: &BTreeMap<String, String>) -> Vec<ChangedFact> {
    let mut changed = Vec::new();
    let mut names: Vec<&String> = before.keys().chain(now.keys()).collect();
    names.sort();
    names.dedup();
    for name in names {
        let (old, new) = (before.get(name), now.get(name));
        if old != new {
            // The number in front is for the order.
            let shown = name.split_once(' ').map_or(name.as_str(), |(_, name)| name);
            changed.push(ChangedFact { name: shown.to_owned(), before: old.cloned(), now: new.cloned() });
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::RunState;

    fn example() -> Run {
        let root = tempfile::tempdir().unwrap();
        let id = archive::example::comparison(root.path(), 7).unwrap();
        Run::open_without_trials(&root.path().join(id.as_str())).unwrap()
    }

    #[test]
    fn each_run_has_its_ratio_and_what_has_changed_since_the_one_before() {
        let (mut newest, mut middle, oldest) = (example(), example(), example());
        newest.facts.as_mut().unwrap().host.insert("kernel.release".to_owned(), "another".to_owned());
        middle.facts.as_mut().unwrap().host.insert("kernel.release".to_owned(), "another".to_owned());
        // The other variant was faster once: the ratio is still that of the first one over the second one.
        let comparison = &mut middle.verdict.as_mut().unwrap().comparisons[0];
        std::mem::swap(&mut comparison.a, &mut comparison.b);
        newest.verdict = None;
        newest.state = RunState::Unfinished;
        let found = history("key", vec![newest, middle, oldest], None);
        assert_eq!(found.title, "compare nginx apache on static-web");
        assert_eq!(found.values, ["nginx / apache", "median of nginx", "median of apache"]);
        assert_eq!(
            (found.shown.as_deref(), found.is_ratio, found.unit.as_str()),
            (Some("nginx / apache"), true, "")
        );
        let [oldest, middle, newest] = found.runs.as_slice() else { panic!("{found:?}") };
        let (first, turned) = (oldest.value.unwrap(), middle.value.unwrap());
        assert!((first * turned - 1.0).abs() < 1e-9 && first > 1.0);
        assert!(middle.low.unwrap() < turned && turned < middle.high.unwrap(), "{middle:?}");
        assert_eq!((oldest.changes.len(), newest.changes.len()), (0, 0));
        let [kernel] = middle.changes.as_slice() else { panic!("{middle:?}") };
        assert_eq!((kernel.name.as_str(), kernel.now.as_deref()), ("host: kernel.release", Some("another")));
        assert_eq!((newest.value, newest.why_none.as_deref()), (None, Some("it has no verdict")));
        assert_eq!(found.earlier_before, None);
    }

    #[test]
    fn the_median_of_a_variant_is_shown_by_its_name_with_its_unit() {
        let found = history("key", vec![example()], Some("median of apache"));
        assert_eq!((found.is_ratio, found.unit.as_str()), (false, "/s"));
        assert!(found.runs[0].value.unwrap() > 1000.0 && found.runs[0].low.is_some());
        let nothing = history("key", Vec::new(), None);
        assert_eq!((nothing.runs.len(), nothing.shown), (0, None));
    }
}
