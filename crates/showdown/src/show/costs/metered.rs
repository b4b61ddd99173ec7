//! Watts and operations a joule of a run for a terminal: a row for each variant and meter, the levels of load, how variants compare,
//! and what is missing.

use std::fmt::Write as _;

use archive::model::{thousands, work_of};
use cost::metered::{LevelFigures, MeteredReport, MeteredVariant};

use super::cost::{amount, with_interval};
use crate::color;
use crate::show::layout::table::table;

/// The whole section. `unit` is that of the verdict.
pub fn text(report: &MeteredReport, unit: &str) -> String {
    let work = work_of(unit);
    let mut out = String::from("\n");
    if !report.variants.is_empty() {
        out.push_str(&table(&summary(&report.variants, work)));
    }
    for variant in report.variants.iter().filter(|variant| variant.has_levels()) {
        let _ = writeln!(
            out,
            "\n  {} by {} ({})",
            variant.variant,
            variant.meter.name,
            variant.meter.boundary.name()
        );
        out.push_str(&table(&levels(&variant.levels, work)));
    }
    for comparison in &report.comparisons {
        let _ = writeln!(out, "  {}", comparison.sentence);
    }
    for lost in &report.lost {
        let _ = writeln!(out, "  {} {lost}", color::caution("no watts:"));
    }
    for note in &report.notes {
        let _ = writeln!(out, "  {note}.");
    }
    out
}

fn summary(variants: &[MeteredVariant], work: &str) -> Vec<Vec<String>> {
    let has_overall = variants.iter().any(|variant| variant.overall_operations_per_joule.is_some());
    let a_joule = format!("{work} a joule");
    let mut head = vec!["", "meter", "watts include", "W at load", "W idle", &a_joule];
    if has_overall {
        head.push("over all levels");
    }
    let mut rows = vec![head.into_iter().map(str::to_owned).collect::<Vec<_>>()];
    for variant in variants {
        let dash = || "–".to_owned();
        let mut row = vec![
            variant.variant.clone(),
            variant.meter.label(),
            variant.meter.boundary.name().to_owned(),
            with_interval(variant.watts_at_load, amount),
            variant.watts_idle.map_or_else(dash, |idle| amount(idle.value)),
            with_interval(variant.operations_per_joule, amount),
        ];
        if has_overall {
            let overall = variant.overall_operations_per_joule;
            row.push(overall.map_or_else(dash, |overall| with_interval(overall, amount)));
        }
        rows.push(row);
    }
    rows
}

fn levels(levels: &[LevelFigures], work: &str) -> Vec<Vec<String>> {
    let a_joule = format!("{work} a joule");
    let per_s = format!("{work}/s");
    let head = ["load", &per_s, "p99", "W", &a_joule];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(levels.iter().map(|level| {
        vec![
            level.label(),
            thousands(level.work_per_s),
            level.p99(crate::show::layout::units::time),
            amount(level.watts.value),
            if level.is_idle() {
                "–".to_owned()
            } else {
                with_interval(level.operations_per_joule, amount)
            },
        ]
    }));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_section_has_each_meter_each_level_and_what_is_lost() {
        let root = tempfile::tempdir().expect("a directory");
        let id = archive::example::metered_comparison(root.path(), 8, &[1.0, 0.5], Some(13)).expect("a run");
        let run = archive::Archive::new(root.path()).open(id.as_str()).expect("a run");
        let text = text(&cost::metered::metered(&run).expect("watts"), "/s");
        for part in [
            "rack (indicative)",
            "package",
            "over all levels",
            "nginx by rack (wall)",
            "50 %",
            "idle",
            "for each joule over all levels of load (95 % CI",
            "rack gave no watts at a level of trials 13,",
            "The client ran on the machine",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
    }
}
