//! What a meter says of a variant: watts and operations a joule with their intervals.

use ::power::Boundary;
use archive::model::{PowerLevel, TrialMeter, VariantSummary};
use serde::Serialize;
use stats::cost::operations_per_joule;
use stats::describe::Sample;
use stats::quantity::{OperationsPerSecond, Watts};

use super::trials::MeteredTrials;
use crate::figure::{Figure, interval_of};
use crate::measured::label;

/// A meter of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeterOfRun {
    /// Its name.
    pub name: String,
    /// How it is read.
    pub kind: String,
    /// What its watts include.
    pub boundary: Boundary,
    /// The largest error of a reading in percent, where it is known.
    pub uncertainty_percent: Option<f64>,
    /// Whether that is above 1 % or unknown.
    pub is_indicative: bool,
}

/// A variant with the watts of one meter. Figures are medians of its valid trials.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeteredVariant {
    /// The variant, in a sweep with its point.
    pub variant: String,
    /// The meter.
    pub meter: MeterOfRun,
    /// The valid trials with watts.
    pub trials: u32,
    /// Watts at the full load.
    pub watts_at_load: Figure,
    /// Watts in active idle.
    pub watts_idle: Option<Figure>,
    /// Operations (or megabytes) for each joule at the full load.
    pub operations_per_joule: Figure,
    /// The same over all levels and active idle, where there are several.
    pub overall_operations_per_joule: Option<Figure>,
    /// The levels from the full load down, active idle last.
    pub levels: Vec<LevelFigures>,
}

/// A variant at a level of load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LevelFigures {
    /// Share of the full load; 0 for active idle.
    pub share: f64,
    /// Operations (or megabytes) per second.
    pub work_per_s: f64,
    /// Watts.
    pub watts: Figure,
    /// Operations (or megabytes) for each joule.
    pub operations_per_joule: Figure,
    /// 99th percentile of response time, microseconds: the median of those of the trials.
    pub p99_us: Option<f64>,
}

impl MeterOfRun {
    pub(crate) fn of(meter: &TrialMeter, boundary: Boundary) -> Self {
        Self {
            name: meter.name.clone(),
            kind: meter.kind.clone(),
            boundary,
            uncertainty_percent: meter.uncertainty_percent,
            is_indicative: meter.is_indicative,
        }
    }
}

impl MeteredVariant {
    pub(crate) fn of(summary: &VariantSummary, found: &MeteredTrials<'_>) -> Option<Self> {
        let figures = |of: &dyn Fn(&super::trials::MeteredTrial<'_>) -> Option<f64>| {
            median(&found.trials.iter().filter_map(of).collect::<Vec<_>>())
        };
        let mut shares: Vec<f64> =
            found.trials.iter().flat_map(|trial| trial.levels.iter().map(|(level, _)| level.share)).collect();
        shares.sort_by(|a, b| b.total_cmp(a));
        shares.dedup();
        Some(Self {
            variant: label(&summary.name, &summary.point),
            meter: MeterOfRun::of(found.meter, found.boundary),
            trials: found.trials.len() as u32,
            watts_at_load: figures(&|trial| Some(trial.watts_at_load))?,
            watts_idle: figures(&|trial| trial.watts_idle),
            operations_per_joule: figures(&|trial| Some(trial.per_joule()))?,
            overall_operations_per_joule: figures(&|trial| trial.overall()),
            levels: shares.into_iter().filter_map(|share| level(found, share)).collect(),
        })
    }
}

fn level(found: &MeteredTrials<'_>, share: f64) -> Option<LevelFigures> {
    let at: Vec<(&PowerLevel, f64)> = found
        .trials
        .iter()
        .filter_map(|trial| {
            trial.levels.iter().copied().find(|(level, _)| (level.share - share).abs() < SAME_SHARE)
        })
        .collect();
    let per_joule =
        |work: f64, watts: f64| operations_per_joule(OperationsPerSecond::new(work), Watts::new(watts));
    let figure = |of: &dyn Fn(&(&PowerLevel, f64)) -> Option<f64>| {
        median(&at.iter().filter_map(of).collect::<Vec<_>>())
    };
    Some(LevelFigures {
        share,
        work_per_s: figure(&|(level, _)| Some(level.work_per_s))?.value,
        watts: figure(&|(_, watts)| Some(*watts))?,
        operations_per_joule: figure(&|(level, watts)| {
            (*watts > 0.0).then(|| per_joule(level.work_per_s, *watts))
        })?,
        p99_us: figure(&|(level, _)| level.p99_us.map(|us| us as f64)).map(|figure| figure.value),
    })
}

/// Shares that differ by less are the same level.
const SAME_SHARE: f64 = 1e-9;

/// The median of the values of trials with its interval.
pub(crate) fn median(values: &[f64]) -> Option<Figure> {
    let sample = Sample::new(values).ok()?;
    Some(Figure::new(sample.median(), interval_of(values, None)))
}
