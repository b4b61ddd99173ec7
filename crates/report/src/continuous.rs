//! The values of a run for services that track benchmarks over time: Bencher and github-action-benchmark. Each variant is a
//! benchmark, at each point of a sweep. Only values of valid trials are written: what does not count is no point of a curve.

use std::fmt::Write;

use archive::Run;
use archive::model::{VariantSummary, Verdict};
use serde_json::{Map, Value, json};

use crate::ReportError;

/// Bencher Metric Format: benchmark → measure → value with its bounds
/// (<https://bencher.dev/docs/reference/bencher-metric-format/>).
pub(crate) fn bencher(run: &Run) -> Result<String, ReportError> {
    let verdict = verdict_with_values(run)?;
    // Bencher knows these two measures, and their units; a measure of another name has none there.
    let (measure, factor) = match verdict.unit.as_str() {
        "/s" => ("throughput".to_owned(), 1.0),
        "µs" if !verdict.metric.starts_with("CPU") => ("latency".to_owned(), 1e3),
        _ => (slug(&verdict.metric), 1.0),
    };
    let mut benchmarks = Map::new();
    for (variant, median) in counted(verdict) {
        let mut value = json!({ "value": median * factor });
        if let Some(interval) = &variant.interval {
            value["lower_value"] = json!(interval.low * factor);
            value["upper_value"] = json!(interval.high * factor);
        }
        benchmarks.insert(name(run, variant), json!({ measure.as_str(): value }));
    }
    text(&Value::Object(benchmarks))
}

/// A custom benchmark (<https://github.com/benchmark-action/github-action-benchmark#examples>). `range` is half of the interval.
pub(crate) fn github(run: &Run) -> Result<String, ReportError> {
    let verdict = verdict_with_values(run)?;
    let mut benchmarks = Vec::new();
    for (variant, median) in counted(verdict) {
        let mut one = json!({ "name": name(run, variant), "unit": verdict.unit, "value": median, "extra": verdict.sentence });
        if let Some(interval) = &variant.interval {
            one["range"] = json!(format!("± {}", (interval.high - interval.low) / 2.0));
        }
        benchmarks.push(one);
    }
    text(&Value::Array(benchmarks))
}

fn verdict_with_values(run: &Run) -> Result<&Verdict, ReportError> {
    match &run.verdict {
        Some(verdict) if !counted(verdict).is_empty() => Ok(verdict),
        _ => Err(ReportError::NoValue { run: run.id.to_string() }),
    }
}

/// The variants that have a value, with it.
fn counted(verdict: &Verdict) -> Vec<(&VariantSummary, f64)> {
    verdict.variants.iter().filter_map(|variant| Some((variant, variant.median?))).collect()
}

/// The workload and the variant, and the point of a sweep.
fn name(run: &Run, variant: &VariantSummary) -> String {
    let workload =
        run.plan.as_ref().map_or("showdown", |plan| plan.workload.trim_end_matches("/workload.toml"));
    let workload = workload.rsplit('/').next().unwrap_or(workload);
    let mut name = format!("{workload} {}", variant.name);
    for (axis, value) in &variant.point {
        let _ = write!(name, " {axis}={value}");
    }
    name
}

/// Lower-case words with hyphens.
fn slug(text: &str) -> String {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words: Vec<String> = words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
    words.join("-")
}

fn text(document: &Value) -> Result<String, ReportError> {
    Ok(serde_json::to_string_pretty(document)? + "\n")
}

#[cfg(test)]
mod tests {
    use archive::Archive;

    use super::*;

    #[test]
    fn each_variant_is_a_benchmark_with_its_interval() -> Result<(), Box<dyn std::error::Error>> {
        let root = tempfile::tempdir()?;
        let id = archive::example::comparison(root.path(), 1)?;
        let run = Archive::new(root.path()).open(&id.to_string())?;
        let verdict = run.verdict.as_ref().ok_or("a verdict")?;
        let (first, median) = counted(verdict)[0];
        let (of_bencher, of_github): (Value, Value) =
            (serde_json::from_str(&bencher(&run)?)?, serde_json::from_str(&github(&run)?)?);
        let key = name(&run, first);
        let measures = of_bencher[&key].as_object().ok_or("measures")?;
        let value = measures.values().next().ok_or("a measure")?;
        assert!(value["value"].as_f64().is_some_and(|found| found > 0.0), "{of_bencher}");
        assert_eq!(of_github[0]["name"], json!(key));
        assert_eq!(of_github[0]["value"], json!(median));
        Ok(())
    }

    #[test]
    fn a_run_without_a_valid_value_is_no_benchmark() -> Result<(), Box<dyn std::error::Error>> {
        let root = tempfile::tempdir()?;
        let id = archive::example::comparison(root.path(), 1)?;
        let mut run = Archive::new(root.path()).open(&id.to_string())?;
        run.verdict = None;
        assert!(matches!(bencher(&run), Err(ReportError::NoValue { .. })));
        Ok(())
    }
}
