//! What meters said during a trial as the archive has it: the watts of each level, and all readings as a table.

use std::time::{Duration, Instant};

use archive::model::{LevelWatts, PowerLevel, TrialMeter, TrialPower};
use archive::telemetry::{Column, ColumnInfo, Telemetry};
use host::secrets;
use power::MeterRecord;

use super::power_levels::LevelRun;

/// The watts of a trial that began at this time.
pub fn power(records: &[MeterRecord], levels: &[LevelRun], began: Instant) -> TrialPower {
    let level = |run: &LevelRun| {
        let (from, to) = (began + run.start, began + run.start + run.length);
        let watts = records.iter().filter_map(|record| {
            let found = record.mean(from, to)?;
            Some(LevelWatts {
                meter: record.about.name.clone(),
                mean: found.mean.value(),
                min: found.least.value(),
                max: found.most.value(),
                samples: found.samples,
            })
        });
        PowerLevel {
            share: run.share,
            start_s: run.start.as_secs_f64(),
            length_s: run.length.as_secs_f64(),
            offered_per_s: run.offered_per_s,
            work_per_s: run.work_per_s,
            p99_us: run.p99_us,
            gave_up_from_us: run.gave_up_from_us,
            watts: watts.collect(),
        }
    };
    TrialPower { meters: records.iter().map(meter).collect(), levels: levels.iter().map(level).collect() }
}

fn meter(record: &MeterRecord) -> TrialMeter {
    let about = &record.about;
    TrialMeter {
        name: about.name.clone(),
        kind: about.kind.to_owned(),
        boundary: about.boundary.name().to_owned(),
        uncertainty_percent: about.uncertainty_percent,
        is_indicative: about.is_indicative(),
        samples: record.samples.len() as u64,
        failures: record.failures.len() as u64,
        failure: record.failures.last().map(|last| secrets::mask_text(&last.why)),
    }
}

/// All readings in order of time: meters are read one by one, so each row has one of them.
pub fn table(records: &[MeterRecord], began: Instant) -> Telemetry {
    let mut rows: Vec<(Duration, i64, usize, f64)> = Vec::new();
    for (column, record) in records.iter().enumerate() {
        for sample in &record.samples {
            let at = sample.at.saturating_duration_since(began);
            rows.push((at, sample.unix_ms.cast_signed(), column, sample.watts.value()));
        }
    }
    rows.sort_by_key(|(at, ..)| *at);
    let column = |(index, record): (usize, &MeterRecord)| Column {
        info: ColumnInfo {
            name: record.about.name.clone(),
            unit: "W".to_owned(),
            help: format!("power, {} ({})", record.about.boundary.name(), record.about.kind),
        },
        values: rows.iter().map(|(_, _, of, watts)| (*of == index).then_some(*watts)).collect(),
    };
    Telemetry {
        unix_ms: rows.iter().map(|(_, unix_ms, ..)| *unix_ms).collect(),
        t_s: rows.iter().map(|(at, ..)| at.as_secs_f64()).collect(),
        columns: records.iter().enumerate().map(column).collect(),
    }
}

#[cfg(test)]
mod tests {
    use power::{Boundary, PowerSample, ReadFailure, SourceAbout};
    use stats::quantity::Watts;

    use super::*;

    fn record(began: Instant, name: &str, boundary: Boundary, samples: &[(u64, f64)]) -> MeterRecord {
        let about = SourceAbout {
            name: name.to_owned(),
            kind: "shelly",
            origin: "http://10.0.0.31".to_owned(),
            boundary,
            uncertainty_percent: Some(1.0),
        };
        let samples = samples.iter().map(|(second, watts)| PowerSample {
            watts: Watts::new(*watts),
            at: began + Duration::from_secs(*second),
            unix_ms: 1_000 * second,
            over: None,
        });
        MeterRecord { about, samples: samples.collect(), failures: Vec::new() }
    }

    fn level(share: f64, start_s: u64) -> LevelRun {
        LevelRun {
            share,
            start: Duration::from_secs(start_s),
            length: Duration::from_secs(2),
            offered_per_s: None,
            work_per_s: 10.0 * share,
            p99_us: None,
            gave_up_from_us: None,
        }
    }

    #[test]
    fn each_level_has_the_watts_of_its_own_time_and_of_each_meter() {
        let began = Instant::now();
        let wall = record(began, "desk", Boundary::Wall, &[(1, 10.0), (2, 60.0), (3, 64.0), (11, 30.0)]);
        let mut package = record(began, "cpu", Boundary::Package, &[(2, 20.0)]);
        package.failures.push(ReadFailure { at: began, why: "gone".into() });
        let found = power(&[wall, package], &[level(1.0, 2), level(0.0, 10)], began);
        assert_eq!(found.levels[0].watts_of("desk"), Some(62.0));
        assert_eq!(found.levels[0].watts_of("cpu"), Some(20.0));
        assert_eq!((found.levels[1].watts_of("desk"), found.levels[1].watts_of("cpu")), (Some(30.0), None));
        assert!(found.levels[1].is_idle());
        let [desk, cpu] = &found.meters[..] else { panic!("two meters") };
        assert_eq!((desk.boundary.as_str(), desk.samples, desk.is_indicative), ("wall", 4, false));
        assert_eq!((cpu.failures, cpu.failure.as_deref()), (1, Some("gone")));
    }

    #[test]
    fn the_table_has_the_readings_in_order_of_time() {
        let began = Instant::now();
        let records = [
            record(began, "desk", Boundary::Wall, &[(1, 10.0), (3, 64.0)]),
            record(began, "cpu", Boundary::Package, &[(2, 20.0)]),
        ];
        let table = table(&records, began);
        assert_eq!(table.t_s, [1.0, 2.0, 3.0]);
        assert_eq!(table.columns[0].values, [Some(10.0), None, Some(64.0)]);
        assert_eq!(table.columns[1].values, [None, Some(20.0), None]);
        assert!(table.to_parquet().is_ok());
    }
}
