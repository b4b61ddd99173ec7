//! Curves along the axes of a sweep: medians with the least and the most, and the scalability law where the axis counts
//! workers.

use std::collections::BTreeMap;

use archive::model::{CurvePoint, KnobValue, SweepCurve, SweepPoint, VariantSummary, Vary};
use stats::usl;

use crate::record::Record;

/// The curves of all variants.
pub fn curves(record: &Record<'_>, summaries: &[VariantSummary]) -> Vec<SweepCurve> {
    let mut curves = Vec::new();
    for axis in &record.plan.sweep {
        let name = axis.vary.to_string();
        let mut lines: BTreeMap<(usize, String), (SweepPoint, Vec<CurvePoint>)> = BTreeMap::new();
        for (cell, summary) in record.cells.iter().zip(summaries) {
            let Some(at) = cell.point.get(&name).and_then(KnobValue::as_f64) else { continue };
            let valid: Vec<f64> = summary.values.iter().filter(|v| v.valid).map(|v| v.value).collect();
            let Some(median) = summary.median else { continue };
            let mut fixed = cell.point.clone();
            fixed.remove(&name);
            let line = lines.entry((cell.variant, format!("{fixed:?}"))).or_insert((fixed, Vec::new()));
            line.1.push(CurvePoint {
                at,
                median,
                least: valid.iter().copied().fold(f64::INFINITY, f64::min),
                most: valid.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            });
        }
        for ((variant, _), (fixed, mut points)) in lines {
            points.sort_by(|a, b| a.at.total_cmp(&b.at));
            let law = counts_workers(&axis.vary).then(|| {
                let points: Vec<usl::LoadPoint> =
                    points.iter().map(|p| usl::LoadPoint { load: p.at, throughput: p.median }).collect();
                usl::fit(&points)
            });
            curves.push(SweepCurve {
                variant: record.plan.variants[variant].name.clone(),
                axis: name.clone(),
                fixed,
                points,
                usl: law,
            });
        }
    }
    curves
}

/// The scalability law speaks of concurrent workers or users, and of nothing else.
fn counts_workers(axis: &Vary) -> bool {
    match axis {
        Vary::Connections => true,
        Vary::Rate => false,
        Vary::Knob(name) => {
            ["thread", "worker", "process", "jobs", "depth"].iter().any(|word| name.contains(word))
        }
    }
}
