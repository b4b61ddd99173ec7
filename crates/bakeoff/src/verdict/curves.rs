//! Curves along the axes of a sweep: median, minimum and maximum at each value, and the universal scalability law where
//! the axis is a number of workers or connections.

use std::collections::BTreeMap;

use archive::model::{CurvePoint, KnobValue, SweepCurve, SweepPoint, VariantSummary, Vary};
use stats::usl;

use crate::plan::measure_names::wording;
use crate::verdict::input::VerdictInput;

/// The curves of all variants.
pub fn curves(input: &VerdictInput<'_>, summaries: &[VariantSummary]) -> Vec<SweepCurve> {
    let mut curves = Vec::new();
    // The law is one of throughput: of CPU time or response times, less is better.
    let is_throughput = wording(&input.plan.measure).higher_is_better;
    for axis in &input.plan.sweep {
        let name = axis.vary.to_string();
        let mut lines: BTreeMap<(usize, String), (SweepPoint, Vec<CurvePoint>)> = BTreeMap::new();
        for (variant_point, summary) in input.variant_points.iter().zip(summaries) {
            let Some(at) = variant_point.point.get(&name).and_then(KnobValue::as_f64) else { continue };
            let valid: Vec<f64> = summary.values.iter().filter(|v| v.valid).map(|v| v.value).collect();
            let Some(median) = summary.median else { continue };
            let mut fixed = variant_point.point.clone();
            fixed.remove(&name);
            let line =
                lines.entry((variant_point.variant, format!("{fixed:?}"))).or_insert((fixed, Vec::new()));
            line.1.push(CurvePoint {
                at,
                median,
                min: valid.iter().copied().fold(f64::INFINITY, f64::min),
                max: valid.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            });
        }
        for ((variant, _), (fixed, mut points)) in lines {
            points.sort_by(|a, b| a.at.total_cmp(&b.at));
            let law = (is_throughput && counts_workers(&axis.vary)).then(|| {
                let points: Vec<usl::LoadPoint> =
                    points.iter().map(|p| usl::LoadPoint { load: p.at, throughput: p.median }).collect();
                usl::fit(&points)
            });
            curves.push(SweepCurve {
                variant: input.plan.variants[variant].name.clone(),
                axis: name.clone(),
                fixed,
                points,
                usl: law.map(Into::into),
            });
        }
    }
    curves
}

/// The scalability law is about concurrent workers or users only.
fn counts_workers(axis: &Vary) -> bool {
    match axis {
        Vary::Connections | Vary::Users => true,
        Vary::Rate => false,
        Vary::Knob(name) => {
            ["thread", "worker", "process", "jobs", "depth"].iter().any(|word| name.contains(word))
        }
    }
}
