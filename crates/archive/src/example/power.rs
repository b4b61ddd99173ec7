//! Adds made-up watts to the trials of a made-up comparison: two meters with different boundaries, at levels of load.

use std::{fs, path::Path};

use rand::{RngExt, SeedableRng, rngs::StdRng};

use crate::{
    error::{ArchiveError, Result},
    layout,
    model::{LevelWatts, PowerLevel, Trial, TrialMeter, TrialPower},
    telemetry::{Column, ColumnInfo, Telemetry},
};

/// Seconds of a level, and before it.
const MEASURED_S: f64 = 7.0;
const SETTLE_S: f64 = 3.0;
/// Watts of the meters when idle, and what the full load adds, by name and boundary.
const METERS: [(&str, &str, &str, f64, f64); 2] =
    [("rack", "apc-rpdu2", "wall", 92.0, 74.0), ("rapl-package", "rapl", "package", 14.0, 47.0)];

/// Adds them to each trial of the run, at these shares of its value and in active idle. From trial `lost_from` on, the first
/// meter gives nothing.
pub(super) fn add(dir: &Path, shares: &[f64], lost_from: Option<u32>) -> Result<()> {
    let rng = &mut StdRng::seed_from_u64(11);
    let folders = dir.join(layout::TRIALS);
    let mut names: Vec<_> = fs::read_dir(&folders)
        .map_err(ArchiveError::io(&folders))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    names.sort();
    for folder in names {
        let file = folder.join(layout::TRIAL);
        let text = fs::read(&file).map_err(ArchiveError::io(&file))?;
        let mut trial: Trial = serde_json::from_slice(&text).expect("a made-up trial");
        let is_lost = lost_from.is_some_and(|number| trial.number >= number);
        let power = power(&trial, shares, is_lost, rng);
        let table = table(&power).to_parquet().expect("a table");
        let parquet = folder.join(layout::POWER);
        fs::write(&parquet, table).map_err(ArchiveError::io(&parquet))?;
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        trial.files.power = Some(format!("{}/{name}/{}", layout::TRIALS, layout::POWER));
        trial.power = Some(power);
        let text = serde_json::to_vec_pretty(&trial).expect("plain data");
        fs::write(&file, text).map_err(ArchiveError::io(&file))?;
    }
    Ok(())
}

fn power(trial: &Trial, shares: &[f64], is_lost: bool, rng: &mut StdRng) -> TrialPower {
    let value = trial.measured.as_ref().map_or(0.0, |measured| measured.value);
    // Apache's processes keep the machine a little busier.
    let more = if trial.variant == "apache" { 1.06 } else { 1.0 };
    let mut begin = trial.duration_s;
    let mut level = |share: f64| {
        begin += SETTLE_S;
        let start_s = begin;
        begin += MEASURED_S;
        let watts =
            METERS.iter().filter(|meter| !(is_lost && meter.2 == "wall")).map(|(name, .., idle, load)| {
                let mean =
                    (idle + load * share.powf(0.8) * more) * (1.0 + 0.004 * (rng.random::<f64>() - 0.5));
                LevelWatts { meter: (*name).to_owned(), mean, min: mean * 0.99, max: mean * 1.01, samples: 7 }
            });
        PowerLevel {
            share,
            start_s,
            length_s: MEASURED_S,
            offered_per_s: (share > 0.0).then_some(value * share),
            work_per_s: value * share * 0.999,
            p99_us: (share > 0.0).then_some((420.0 + 3900.0 * share.powi(6)) as u64),
            gave_up_from_us: None,
            watts: watts.collect(),
        }
    };
    let levels: Vec<PowerLevel> = shares.iter().chain([&0.0]).map(|share| level(*share)).collect();
    let meters = METERS.iter().map(|(name, kind, boundary, ..)| {
        let failure = (is_lost && *boundary == "wall").then(|| "10.0.0.9:161 does not answer".to_owned());
        TrialMeter {
            name: (*name).to_owned(),
            kind: (*kind).to_owned(),
            boundary: (*boundary).to_owned(),
            uncertainty_percent: None,
            is_indicative: true,
            samples: if failure.is_some() { 0 } else { 7 * levels.len() as u64 },
            failures: u64::from(failure.is_some()) * 7,
            failure,
        }
    });
    TrialPower { meters: meters.collect(), levels }
}

/// A row for each second of a level.
fn table(power: &TrialPower) -> Telemetry {
    let seconds = power.levels.iter().flat_map(|level| (0..7).map(move |second| (level, f64::from(second))));
    let rows: Vec<(&PowerLevel, f64)> = seconds.collect();
    let column = |meter: &TrialMeter| Column {
        info: ColumnInfo { name: meter.name.clone(), unit: "W".to_owned(), help: meter.boundary.clone() },
        values: rows.iter().map(|(level, _)| level.watts_of(&meter.name)).collect(),
    };
    Telemetry {
        unix_ms: vec![0; rows.len()],
        t_s: rows.iter().map(|(level, second)| level.start_s + second).collect(),
        columns: power.meters.iter().map(column).collect(),
    }
}
