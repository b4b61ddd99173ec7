//! Figures of what the server says of itself, by the names of its workload.

use std::collections::BTreeMap;

use archive::model::ServerStatistic;
use workload::ObservedChange;

use super::plain::Plain;
use super::set::{Figures, Kind, SHARE};
use crate::perturbable_loop::SliceReading;

const SOURCE: &str = "the server's own statistics";

/// Whether a figure of this name comes from what the server says of itself. Trials do not ask it.
pub fn is_of_statistics(figure: &str) -> bool {
    ["statistics.", "limits."].iter().any(|family| figure.starts_with(family))
}

/// Adds each as `statistics.NAME`: a counter per second, a gauge as it is. With `.per_op` and `.of_limit` where they exist.
pub(super) fn add(plain: &Plain<'_>, figures: &mut Figures) {
    let is_asked =
        |reading: &SliceReading| !reading.statistics.is_empty() || reading.statistics_problem.is_some();
    let unanswered = plain
        .mean(|reading| is_asked(reading).then(|| f64::from(u8::from(reading.statistics_problem.is_some()))));
    let about = "slices in which the server did not answer a query of its statistics";
    figures.add("statistics_unanswered", unanswered, Kind { unit: SHARE, source: SOURCE }, about);
    let mut fullest: Option<(f64, ServerStatistic)> = None;
    for statistic in of(plain) {
        let name = format!("statistics.{}", statistic.name);
        let about = &statistic.about;
        figures.add_with_unit(&name, Some(statistic.value), &statistic.unit, SOURCE, about);
        let per_op = statistic.per_operation;
        let about_op = format!("{about}, for each operation");
        figures.add(format!("{name}.per_op"), per_op, Kind { unit: "1", source: SOURCE }, about_op);
        let of_limit = statistic.limit.filter(|limit| *limit > 0.0).map(|limit| statistic.value / limit);
        let about_limit = format!("{about}, of the largest number that the configuration permits");
        figures.add(format!("{name}.of_limit"), of_limit, Kind { unit: SHARE, source: SOURCE }, about_limit);
        if let Some(share) = of_limit
            && fullest.as_ref().is_none_or(|(most, _)| share > *most)
        {
            fullest = Some((share, statistic));
        }
    }
    if let Some((share, statistic)) = fullest {
        let kind = Kind { unit: SHARE, source: SOURCE };
        figures.add("limits.fullest", Some(share), kind, "the configured limit that is used most");
        figures.add_text("limits.name", statistic.name.replace('_', " "));
        figures.add_text("limits.about", statistic.about);
        figures.add_text("limits.limit", super::text::with_unit(statistic.limit.unwrap_or_default(), "1"));
    }
}

/// The statistics over the plain slices, by name.
pub(crate) fn of(plain: &Plain<'_>) -> Vec<ServerStatistic> {
    let mut readings: BTreeMap<&str, Vec<(&ObservedChange, f64, u64)>> = BTreeMap::new();
    for slice in plain.readings {
        for (name, reading) in &slice.statistics {
            readings.entry(name).or_default().push((reading, slice.length_s, slice.operations));
        }
    }
    let summary = |(name, readings): (&str, Vec<(&ObservedChange, f64, u64)>)| {
        let (last, ..) = *readings.last()?;
        let length: f64 = readings.iter().map(|(_, length, _)| length).sum();
        let operations: u64 = readings.iter().map(|(.., operations)| operations).sum();
        let weighted: f64 = readings.iter().map(|(reading, length, _)| reading.value * length).sum();
        let increase: f64 = readings.iter().map(|(reading, ..)| reading.value).sum();
        Some(ServerStatistic {
            name: name.to_owned(),
            value: if last.is_counter { increase / length } else { weighted / length },
            unit: if last.is_counter { per_second(&last.unit) } else { last.unit.clone() },
            per_operation: (last.is_counter && operations > 0).then(|| increase / operations as f64),
            limit: last.limit,
            about: last.about.clone(),
        })
    };
    readings.into_iter().filter_map(summary).collect()
}

/// The unit of a counter's rate.
fn per_second(unit: &str) -> String {
    if unit.is_empty() || unit == "1" { "1/s".to_owned() } else { format!("{unit}/s") }
}
