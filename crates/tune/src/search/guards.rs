//! What a gain may not cost, and how a tuning works: guards, the mechanism's figure, and why a confirmation says nothing. Which trials
//! a guard reads is left to the steps.

use super::decide::{self, Gains};
use super::outcome::MechanismMove;
use crate::lab::{StageTrials, TrialReading};
use crate::tuning::{Moves, Tuning};

/// A mechanism has moved when its figure has changed by more than this.
const LEAST_MOVE: f64 = 0.02;
/// Growth of memory, as a share of the machine's, that is no price for a gain.
const MOST_MEMORY_GROWTH: f64 = 0.1;
/// The level of guards and mechanisms.
const GUARD_LEVEL: f64 = 0.05;

/// How the mechanism of a tuning moved between trials with it and without.
pub(super) fn mechanism(
    tuning: &Tuning,
    trials: &StageTrials,
    with: usize,
    without: usize,
) -> Option<MechanismMove> {
    let mechanism = tuning.mechanism.as_ref()?;
    let read = |trial: &TrialReading| trial.figures.get(&mechanism.figure).copied();
    let ratios = trials.log_ratios(with, without, read);
    // A figure that fell to 0 has no log ratio. Sign test: n pairs agree by chance with a probability of 0.5ⁿ.
    let pairs = trials.pairs(with, without, read);
    let is_gone = pairs.iter().all(|(with, without)| *with == 0.0 && *without > 0.0);
    if mechanism.moves == Moves::Down && is_gone && 0.5_f64.powf(pairs.len() as f64) < GUARD_LEVEL {
        return Some(MechanismMove { ratio: 0.0, moved: true });
    }
    if ratios.is_empty() {
        return None;
    }
    let sign = if mechanism.moves == Moves::Up { 1.0 } else { -1.0 };
    let signed: Vec<f64> = ratios.iter().map(|ratio| sign * ratio).collect();
    let moved = stats::one_sided::p_above(&signed, LEAST_MOVE.ln_1p()) < GUARD_LEVEL;
    Some(MechanismMove { ratio: Gains(ratios).mean().exp(), moved })
}

/// What has become worse with a stack: whether it runs, errors, memory.
pub(super) fn worse(trials: &StageTrials, memory_bytes: f64) -> Vec<String> {
    let mut worse = failing(trials);
    let memory =
        growth(trials, |trial| trial.memory_bytes).filter(|bytes| *bytes > memory_bytes * MOST_MEMORY_GROWTH);
    if memory_bytes > 0.0
        && let Some(bytes) = memory
    {
        worse.push(format!(
            "the server takes {:.0} MB more memory, over a tenth of the machine's",
            bytes / 1e6
        ));
    }
    worse
}

/// The percentiles of response time that may not grow.
const GUARDED: [(&str, Percentile); 2] = [("99th", |trial| trial.p99_us), ("99.9th", |trial| trial.p99_9_us)];

type Percentile = fn(&TrialReading) -> Option<f64>;

/// Which percentiles of response time grow with a stack, in an open loop of the same rate for both. In a closed loop, a pause
/// holds up as many operations as there are connections, and no percentile shows it.
pub(super) fn slower(trials: &StageTrials) -> Vec<String> {
    let grown = |(name, read): (&str, Percentile)| {
        let ratios = trials.log_ratios(1, 0, read);
        let is_grown = stats::one_sided::p_above(&ratios, decide::MOST_PERCENTILE_GROWTH.ln()) < GUARD_LEVEL;
        is_grown.then(|| {
            let growth = Gains(ratios).mean().exp();
            format!("the {name} percentile of response time is {growth:.1} × as long")
        })
    };
    GUARDED.into_iter().filter_map(grown).collect()
}

fn growth(trials: &StageTrials, read: fn(&TrialReading) -> Option<f64>) -> Option<f64> {
    trials.mean(1, read).zip(trials.mean(0, read)).map(|(with, without)| with - without)
}

/// Whether a stack fails more often: as a server, or in its operations.
pub(super) fn failing(trials: &StageTrials) -> Vec<String> {
    let mut worse = Vec::new();
    let [broken, before] = [1, 0].map(|of| trials.broken(of));
    if broken.len() > before.len() {
        let of = trials.trials.iter().filter(|trial| trial.of == 1).count();
        let why = broken.iter().find_map(|trial| trial.why_none()).unwrap_or("see its log");
        worse.push(format!("the server fails with it in {} of {of} trials: {why}", broken.len()));
    }
    let errors = growth(trials, |trial| trial.errors);
    if let Some(errors) = errors.filter(|errors| *errors > decide::MOST_ERROR_GROWTH) {
        worse.push(format!("{:.2} % more operations fail", errors * 100.0));
    }
    worse
}

/// Why the trials of a confirmation have no headline.
pub fn too_few(trials: &StageTrials) -> String {
    if let Some(why) = trials.why_failed(1) {
        return format!("the server does not run with it: {why}");
    }
    let why = trials.stopped.as_deref().or_else(|| trials.why_invalid(1)).or_else(|| trials.why_invalid(0));
    format!("the confirmation has too few valid blocks: {}", why.unwrap_or(&trials.sentence))
}
