//! What a meter says of a variant: watts and operations a joule with their intervals.

use archive::model::{PowerLevel, VariantSummary, or_more};
use serde::Serialize;
use stats::cost::operations_per_joule;
use stats::describe::Sample;
use stats::quantity::{OperationsPerSecond, Watts};

use super::meter::MeterOfRun;
use super::trial_watts::TrialWatts;
use super::trials::MeteredTrials;
use crate::figure::{Figure, interval_of};
use crate::measured::label;

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
    /// The least response time of its trials that is a lower bound, microseconds: an operation was given up. None where all had
    /// an answer.
    pub gave_up_from_us: Option<u64>,
}

impl LevelFigures {
    /// Whether nothing was offered.
    pub fn is_idle(&self) -> bool {
        self.share == 0.0
    }

    /// The 99th percentile as `show` writes a time, with `≥` where it is a lower bound; a dash where there is none.
    pub fn p99(&self, show: impl Fn(f64) -> String) -> String {
        self.p99_us.map_or_else(|| "–".to_owned(), |us| or_more(show(us), us, self.gave_up_from_us))
    }

    /// Its load: `90 %`, `idle`.
    pub fn label(&self) -> String {
        if self.is_idle() { "idle".to_owned() } else { format!("{:.0} %", self.share * 100.0) }
    }
}

impl MeteredVariant {
    /// Whether it has more than the full load and active idle.
    pub fn has_levels(&self) -> bool {
        self.overall_operations_per_joule.is_some() || self.levels.len() > 2
    }

    pub(crate) fn of(summary: &VariantSummary, found: &MeteredTrials<'_>) -> Option<Self> {
        let watts = || found.trials.iter().map(|trial| &trial.watts);
        let figures =
            |of: &dyn Fn(&TrialWatts<'_>) -> Option<f64>| median(&watts().filter_map(of).collect::<Vec<_>>());
        let mut shares: Vec<f64> =
            watts().flat_map(|trial| trial.levels.iter().map(|(level, _)| level.share)).collect();
        shares.sort_by(|a, b| b.total_cmp(a));
        shares.dedup();
        Some(Self {
            variant: label(&summary.name, &summary.point),
            meter: found.meter.clone(),
            trials: found.trials.len() as u32,
            watts_at_load: figures(&|trial| Some(trial.at_load))?,
            watts_idle: figures(&|trial| trial.idle),
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
            trial.watts.levels.iter().copied().find(|(level, _)| (level.share - share).abs() < SAME_SHARE)
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
        gave_up_from_us: at.iter().filter_map(|(level, _)| level.gave_up_from_us).min(),
    })
}

/// Shares that differ by less are the same level.
const SAME_SHARE: f64 = 1e-9;

/// The median of the values of trials with its interval.
pub(crate) fn median(values: &[f64]) -> Option<Figure> {
    let sample = Sample::new(values).ok()?;
    Some(Figure::new(sample.median(), interval_of(values, None)))
}
