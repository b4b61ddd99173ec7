//! Two to fifty runs beside one another: their medians, ratios to a reference with intervals, and the facts that differ.

use std::collections::{BTreeMap, BTreeSet};

use archive::Run;
use archive::model::ConfidenceInterval;
use serde::Serialize;
use utoipa::ToSchema;

/// The fewest and the most runs of a comparison.
pub const FEWEST_RUNS: usize = 2;
/// The most.
pub const MOST_RUNS: usize = 50;

/// The longest list of facts that differ.
const MOST_FACTS: usize = 200;

/// Runs beside one another, in the order in which they were chosen.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ComparedRuns {
    /// The row that the ratios refer to.
    pub reference: usize,
    /// A row for each variant of each run.
    pub rows: Vec<ComparedRow>,
    /// The ids of the runs.
    pub runs: Vec<String>,
    /// Facts that are not the same in all runs, with a value for each run.
    pub differing: Vec<DifferingFact>,
    /// How many further facts differ.
    pub further: usize,
}

/// A variant of a run.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ComparedRow {
    /// The run.
    pub run: String,
    /// The variant.
    pub variant: String,
    /// What is measured, such as `throughput`.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// The median of valid trials, with its 95 % interval.
    pub median: Option<f64>,
    /// Lower bound.
    pub low: Option<f64>,
    /// Upper bound.
    pub high: Option<f64>,
    /// Valid trials.
    pub valid: u32,
    /// Its median over that of the reference, with an interval.
    pub ratio: Option<RatioOfRuns>,
    /// Why there is no ratio.
    pub why_none: Option<String>,
}

/// A ratio of two medians of different runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
pub struct RatioOfRuns {
    /// The ratio.
    pub ratio: f64,
    /// From the lower bound of one and the upper bound of the other: both 95 % intervals are right in 90 % of all cases at least.
    pub low: f64,
    /// The same the other way round.
    pub high: f64,
}

/// A fact that is not the same in all runs.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct DifferingFact {
    /// Its name, such as `host kernel.release`.
    pub name: String,
    /// Its value in each run; none where the run does not know it.
    pub values: Vec<Option<String>>,
}

/// Compares runs. The reference is a row by its run and variant; the first row where there is none of them.
pub fn compare(runs: &[Run], reference: Option<(&str, &str)>) -> ComparedRuns {
    let mut rows: Vec<ComparedRow> = runs.iter().flat_map(rows_of).collect();
    let chosen = reference
        .and_then(|(run, variant)| rows.iter().position(|row| row.run == run && row.variant == variant));
    let reference = chosen.unwrap_or(0);
    if let Some(base) = rows.get(reference).cloned() {
        for row in &mut rows {
            match ratio(row, &base) {
                Ok(ratio) => row.ratio = Some(ratio),
                Err(why) => row.why_none = Some(why),
            }
        }
    }
    let (differing, further) = differing(runs);
    ComparedRuns {
        reference,
        rows,
        runs: runs.iter().map(|run| run.id.to_string()).collect(),
        differing,
        further,
    }
}

fn rows_of(run: &Run) -> Vec<ComparedRow> {
    let Some(verdict) = &run.verdict else {
        let why = Some("the run has no verdict".to_owned());
        return vec![row(run, "–", None, (None, None), 0, why)];
    };
    let mut rows = Vec::new();
    for summary in verdict.variants.iter().filter(|summary| summary.point.is_empty()) {
        rows.push(row(
            run,
            &summary.name,
            Some((&verdict.metric, &verdict.unit)),
            (summary.median, summary.interval),
            summary.valid,
            None,
        ));
    }
    if rows.is_empty() {
        let why = Some("a sweep has a value at each point: see its report".to_owned());
        rows.push(row(run, "–", Some((&verdict.metric, &verdict.unit)), (None, None), 0, why));
    }
    rows
}

fn row(
    run: &Run,
    variant: &str,
    of: Option<(&String, &String)>,
    (median, interval): (Option<f64>, Option<ConfidenceInterval>),
    valid: u32,
    why_none: Option<String>,
) -> ComparedRow {
    let (metric, unit) = of.map_or_else(Default::default, |(metric, unit)| (metric.clone(), unit.clone()));
    ComparedRow {
        run: run.id.to_string(),
        variant: variant.to_owned(),
        metric,
        unit,
        median,
        low: interval.map(|interval| interval.low),
        high: interval.map(|interval| interval.high),
        valid,
        ratio: None,
        why_none,
    }
}

/// The ratio of two rows, or why there is none.
fn ratio(row: &ComparedRow, base: &ComparedRow) -> Result<RatioOfRuns, String> {
    if let Some(why) = &row.why_none {
        return Err(why.clone());
    }
    if (&row.metric, &row.unit) != (&base.metric, &base.unit) {
        return Err(format!("it measures {}, and the reference {}", row.metric, base.metric));
    }
    let (Some(median), Some(low), Some(high)) = (row.median, row.low, row.high) else {
        return Err("too few valid trials for an interval".to_owned());
    };
    let (Some(base_median), Some(base_low), Some(base_high)) = (base.median, base.low, base.high) else {
        return Err("the reference has too few valid trials for an interval".to_owned());
    };
    if base_low <= 0.0 || low <= 0.0 {
        return Err("a bound is not positive".to_owned());
    }
    Ok(RatioOfRuns { ratio: median / base_median, low: low / base_high, high: high / base_low })
}

/// The facts that are not the same in all runs, those of the host first.
fn differing(runs: &[Run]) -> (Vec<DifferingFact>, usize) {
    let facts: Vec<BTreeMap<String, String>> = runs.iter().map(facts_of).collect();
    let names: BTreeSet<&String> = facts.iter().flat_map(BTreeMap::keys).collect();
    let mut found = Vec::new();
    for name in names {
        let values: Vec<Option<String>> = facts.iter().map(|facts| facts.get(name).cloned()).collect();
        if values.windows(2).any(|pair| pair[0] != pair[1]) {
            found.push(DifferingFact { name: name.clone(), values });
        }
    }
    let further = found.len().saturating_sub(MOST_FACTS);
    found.truncate(MOST_FACTS);
    (found, further)
}

/// The facts of a run under one name each. What differs by its nature in each run is left out.
pub fn facts_of(run: &Run) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    if let Some(plan) = &run.plan {
        all.insert("1 plan: workload".to_owned(), plan.workload.clone());
        all.insert("1 plan: showdown".to_owned(), plan.showdown.clone());
        all.insert("1 plan: connections".to_owned(), plan.load.connections.to_string());
        all.insert("1 plan: client threads".to_owned(), plan.load.threads.to_string());
        all.insert("1 plan: blocks".to_owned(), plan.blocks.to_string());
        all.insert("1 plan: CPUs of servers".to_owned(), plan.cpus.server.clone());
        all.insert("1 plan: CPUs of the client".to_owned(), plan.cpus.client.clone());
        all.insert("1 plan: length".to_owned(), format!("{:?}", plan.length).to_lowercase());
    }
    let Some(facts) = &run.facts else { return all };
    for (name, digest) in &facts.workload {
        all.insert(format!("1 workload: {name}"), digest.clone());
    }
    for (name, value) in &facts.host {
        all.insert(format!("2 host: {name}"), value.clone());
    }
    for (host, facts) in &facts.hosts {
        for (name, value) in facts {
            all.insert(format!("3 {host}: {name}"), value.clone());
        }
    }
    for variant in &facts.variants {
        for (name, value) in variant.flat() {
            all.insert(format!("4 {}: {name}", variant.name), value);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_reference_are_kept_and_ratios_have_intervals() -> Result<(), Box<dyn std::error::Error>> {
        let root = tempfile::tempdir()?;
        let first = archive::example::comparison(&root.path().join("a"), 7)?;
        let second = archive::example::comparison(&root.path().join("b"), 7)?;
        let mut runs = vec![
            Run::open(&root.path().join("b").join(second.as_str()))?,
            Run::open(&root.path().join("a").join(first.as_str()))?,
        ];
        let facts = runs[1].facts.as_mut().ok_or("facts")?;
        facts.host.insert("kernel.release".to_owned(), "another".to_owned());
        let id = runs[0].id.to_string();
        let compared = compare(&runs, Some((&id, "apache")));
        assert_eq!(compared.rows[compared.reference].variant, "apache");
        let own = compared.rows[compared.reference].ratio.ok_or("a ratio")?;
        assert!((own.ratio - 1.0).abs() < 1e-9 && own.low < 1.0 && own.high > 1.0);
        assert_eq!(compared.differing.len(), 1, "{:?}", compared.differing);
        assert_eq!(compared.differing[0].name, "2 host: kernel.release");
        runs[1].verdict.as_mut().ok_or("a verdict")?.unit = "µs".to_owned();
        let other = compare(&runs, None);
        assert!(other.rows.last().ok_or("a row")?.why_none.as_ref().ok_or("why")?.starts_with("it measures"));
        Ok(())
    }
}
