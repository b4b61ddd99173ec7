//! What a search needs of the servers that it tunes: blocks with one trial of each of some settings. Running them is left to those
//! who implement [`TuningLab`]; tests script it.

use std::collections::BTreeMap;
use std::time::Duration;

/// Values of knobs and kernel settings by their names, beside those of the baseline.
pub type Settings = BTreeMap<String, String>;

/// The stage whose trials are the answer.
pub const CONFIRMATION: &str = "confirmation";

/// Blocks of one purpose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stage<'a> {
    /// Its name.
    pub name: &'a str,
    /// What its servers are asked.
    pub load: StageLoad,
}

impl<'a> From<&'a str> for Stage<'a> {
    /// A stage under the measure of the search.
    fn from(name: &'a str) -> Self {
        Self { name, load: StageLoad::Measure }
    }
}

/// What is asked of the servers in a stage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StageLoad {
    /// The measure of the search.
    Measure,
    /// An open loop at this rate, operations per second. It shows what a closed loop cannot: whom a pause holds up.
    OpenLoop {
        /// The same for all settings.
        rate_per_s: f64,
    },
}

/// Runs trials.
pub trait TuningLab {
    /// Runs this many blocks, each with one fresh trial of each of these settings. The empty settings are the baseline.
    fn blocks(&mut self, stage: Stage<'_>, of: &[Settings], blocks: u32) -> Result<StageTrials, LabError>;

    /// Figures of the baseline under load that trials do not record, by name: what it says of itself. Empty where nothing asks for
    /// them, or they cannot be had.
    fn watch_baseline(&mut self) -> Result<BTreeMap<String, f64>, LabError>;

    /// The time since the search began.
    fn elapsed(&self) -> Duration;

    /// Whether the server with one of the settings of the last stage had a text in its effective configuration, which is a template
    /// with its knobs. True where that is not known.
    fn is_configured(&self, of: usize, text: &str) -> bool;

    /// Says what is being tried, and what has been learnt.
    fn say(&mut self, what: &str);
}

/// The trials of a stage.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StageTrials {
    /// The run directory, relative to the folder of the search; empty where there is none.
    pub run: String,
    /// Whether a higher value is better.
    pub higher_is_better: bool,
    /// What the run says of its trials, with the reason where they are not valid.
    pub sentence: String,
    /// Why the run ended before its last block, if it did: a server cannot be measured.
    pub stopped: Option<String>,
    /// All trials.
    pub trials: Vec<TrialReading>,
}

/// What a trial has measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrialReading {
    /// Its block, from 1.
    pub block: u32,
    /// Which of the settings it had, from 0.
    pub of: usize,
    /// Its value; none where it is not valid.
    pub value: Option<f64>,
    /// Why the server could not be measured, if it could not.
    pub failed: Option<String>,
    /// Why the value does not count, where the server was measured.
    pub invalid: Option<String>,
    /// Whether the server did its work badly: it did not run, was started again, or too many operations failed.
    pub is_broken: bool,
    /// Operations per second, where a closed loop gave the value.
    pub loop_per_s: Option<f64>,
    /// The 99th percentile of response time while the value was measured, microseconds.
    pub p99_us: Option<f64>,
    /// The 99.9th percentile, likewise.
    pub p99_9_us: Option<f64>,
    /// Share of the operations that failed, 0 to 1.
    pub errors: Option<f64>,
    /// Peak resident memory of the server, bytes.
    pub memory_bytes: Option<f64>,
    /// Figures of `explain` by name.
    pub figures: BTreeMap<String, f64>,
}

impl TrialReading {
    /// Why its value does not count; none if it does.
    pub fn why_none(&self) -> Option<&str> {
        self.failed.as_deref().or(self.invalid.as_deref())
    }
}

/// Why there are no trials.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LabError {
    /// The user interrupted.
    #[error("interrupted")]
    Interrupted,
    /// These settings cannot be tried together: one of them is refused.
    #[error("{0}")]
    Refused(String),
    /// Nothing more can be measured.
    #[error("{0}")]
    Failed(String),
}

impl StageTrials {
    /// Adds the trials of another run of the same stage, as blocks after its own.
    pub fn append(&mut self, other: Self) {
        let before = self.trials.iter().map(|trial| trial.block).max().unwrap_or(0);
        self.trials.extend(
            other.trials.into_iter().map(|trial| TrialReading { block: before + trial.block, ..trial }),
        );
        (self.run, self.sentence, self.stopped) = (other.run, other.sentence, other.stopped);
    }

    /// How much better `a` was than `b`, as logarithms of ratios, one for each block in which both are valid.
    pub fn gains(&self, a: usize, b: usize) -> Vec<f64> {
        let sign = if self.higher_is_better { 1.0 } else { -1.0 };
        self.log_ratios(a, b, |trial| trial.value).into_iter().map(|ratio| sign * ratio).collect()
    }

    /// The logarithms of the ratios of a reading, `a` over `b`, one for each block in which both trials are valid and have it.
    pub fn log_ratios(&self, a: usize, b: usize, read: impl Fn(&TrialReading) -> Option<f64>) -> Vec<f64> {
        let paired = self.pairs(a, b, read).into_iter();
        paired.filter(|(a, b)| *a > 0.0 && *b > 0.0).map(|(a, b)| (a / b).ln()).collect()
    }

    /// The values of a reading, of `a` and of `b`, one pair for each block in which both trials are valid and have it.
    pub fn pairs(&self, a: usize, b: usize, read: impl Fn(&TrialReading) -> Option<f64>) -> Vec<(f64, f64)> {
        let of = |wanted: usize| -> BTreeMap<u32, f64> {
            let own = self.trials.iter().filter(|trial| trial.of == wanted && trial.value.is_some());
            own.filter_map(|trial| Some((trial.block, read(trial)?))).collect()
        };
        let others = of(b);
        of(a).into_iter().filter_map(|(block, value)| Some((value, *others.get(&block)?))).collect()
    }

    /// The mean of a reading of one of the settings over its valid trials.
    pub fn mean(&self, of: usize, read: impl Fn(&TrialReading) -> Option<f64>) -> Option<f64> {
        let own = self.trials.iter().filter(|trial| trial.of == of && trial.value.is_some());
        let values: Vec<f64> = own.filter_map(read).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }

    /// Why the server could not be measured with one of the settings; none if it could at least once.
    pub fn why_failed(&self, of: usize) -> Option<&str> {
        let mut own = self.trials.iter().filter(|trial| trial.of == of);
        if own.clone().any(|trial| trial.failed.is_none()) {
            return None;
        }
        own.find_map(|trial| trial.failed.as_deref())
    }

    /// Why no value counts of one of the settings; none if one counts, or nothing is known.
    pub fn why_invalid(&self, of: usize) -> Option<&str> {
        let mut own = self.trials.iter().filter(|trial| trial.of == of);
        if own.clone().any(|trial| trial.value.is_some()) {
            return None;
        }
        own.find_map(TrialReading::why_none)
    }

    /// Why the first trial without a value has none.
    pub fn why_some_invalid(&self) -> Option<&str> {
        self.trials.iter().find_map(TrialReading::why_none)
    }

    /// The trials in which the server with one of the settings did its work badly.
    pub fn broken(&self, of: usize) -> Vec<&TrialReading> {
        self.trials.iter().filter(|trial| trial.of == of && trial.is_broken).collect()
    }

    /// Mean figures of one of the settings, by name.
    pub fn figures(&self, of: usize) -> BTreeMap<String, f64> {
        let own = self.trials.iter().filter(|trial| trial.of == of);
        let mut sums: BTreeMap<String, (f64, f64)> = BTreeMap::new();
        for (name, value) in own.flat_map(|trial| &trial.figures) {
            let sum = sums.entry(name.clone()).or_default();
            *sum = (sum.0 + value, sum.1 + 1.0);
        }
        sums.into_iter().map(|(name, (sum, count))| (name, sum / count)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(block: u32, of: usize, value: Option<f64>) -> TrialReading {
        TrialReading { block, of, value, ..TrialReading::default() }
    }

    #[test]
    fn a_gain_is_of_blocks_that_have_both_and_is_positive_where_it_is_better() {
        let trials = vec![
            trial(1, 0, Some(100.0)),
            trial(1, 1, Some(110.0)),
            trial(2, 0, None),
            trial(2, 1, Some(120.0)),
            trial(3, 1, Some(110.0)),
            trial(3, 0, Some(110.0)),
        ];
        let mut stage = StageTrials { higher_is_better: true, trials, ..StageTrials::default() };
        let gains = stage.gains(1, 0);
        assert!(gains.len() == 2 && (gains[0] - 1.1_f64.ln()).abs() < 1e-12 && gains[1].abs() < 1e-12);
        stage.higher_is_better = false;
        assert!(stage.gains(1, 0)[0] < 0.0, "CPU time an operation has grown");
    }

    #[test]
    fn settings_have_failed_where_no_trial_has_run() {
        let failed = |block| TrialReading { failed: Some("it died".into()), ..trial(block, 1, None) };
        let trials = vec![trial(1, 0, Some(1.0)), failed(1), failed(2), trial(2, 0, None)];
        let stage = StageTrials { trials, ..StageTrials::default() };
        assert_eq!(
            (stage.why_failed(0), stage.why_failed(1), stage.why_failed(2)),
            (None, Some("it died"), None)
        );
    }
}
