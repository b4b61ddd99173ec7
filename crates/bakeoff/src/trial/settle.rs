//! Has the server settled? Throughput and p99 of a closed loop, interval by interval, held against
//! `stats::steady`; what came before the later of the two cuts counts for nothing.

use std::time::Duration;

use archive::model::WarmUpOutcome;
use load::engine::Outcome;
use load::record::{Interval, PackError};
use stats::steady::{SteadyState, Tolerance, settle};

use super::phases::observations;

/// A closed loop that was judged.
pub struct Settled {
    /// What was found.
    pub outcome: WarmUpOutcome,
    /// Why it has not settled, in a line; none if it has.
    pub unsteady: Option<String>,
    /// What was recorded after the cut.
    pub measured: Interval,
    /// How long that lasted.
    pub length: Duration,
}

/// What is watched until it has settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watched {
    /// How many operations end in an interval, and how long the slowest take.
    Operations,
    /// How many bytes come in an interval. An operation may take longer than that, so its times are told and not
    /// judged.
    Bytes,
}

impl Watched {
    /// How much of it there is in an interval.
    pub fn amount(self, stats: &Interval) -> f64 {
        match self {
            Self::Operations => stats.succeeded() as f64,
            Self::Bytes => stats.operations.iter().map(|op| op.bytes_received).sum::<u64>() as f64,
        }
    }
}

/// Judges a run. `before` is load that the server had already, all of which counts as warm-up.
pub fn judge(run: &Outcome, before: Duration, watched: Watched) -> Result<Settled, PackError> {
    let observations = observations(run)?;
    let throughput: Vec<f64> =
        observations.iter().map(|o| watched.amount(&o.stats) / o.length.as_secs_f64()).collect();
    let unanswered = match watched {
        // No steady server leaves an interval without an answer.
        Watched::Operations => f64::NAN,
        Watched::Bytes => p99_of(&run.total).unwrap_or(f64::NAN),
    };
    let p99: Vec<f64> = observations.iter().map(|o| p99_of(&o.stats).unwrap_or(unanswered)).collect();
    let throughput = settle(&throughput, Tolerance::THROUGHPUT);
    let p99 = settle(&p99, Tolerance::PERCENTILE);
    let judged = match watched {
        Watched::Operations => &[("throughput", &throughput), ("p99", &p99)][..],
        Watched::Bytes => &[("throughput", &throughput)],
    };
    let unsteady = judged.iter().find_map(|(name, state)| match state {
        SteadyState::Steady { .. } => None,
        SteadyState::NotSteady { reason } => Some(format!("{name} did not settle: {reason}")),
    });
    let cut = judged.iter().map(|(_, state)| discarded(state)).max().unwrap_or(0);
    let mut measured = Interval::new(run.operations.len(), run.tallies.len());
    observations[cut.min(observations.len())..].iter().for_each(|o| measured.append(&o.stats));
    let interval = run.spec.interval;
    Ok(Settled {
        outcome: WarmUpOutcome {
            discarded_s: (before + interval * cut as u32).as_secs_f64(),
            interval_s: interval.as_secs_f64(),
            throughput,
            p99,
        },
        unsteady,
        measured,
        length: interval * observations.len().saturating_sub(cut) as u32,
    })
}

fn discarded(state: &SteadyState) -> usize {
    match state {
        SteadyState::Steady { discard, .. } => *discard,
        SteadyState::NotSteady { .. } => 0,
    }
}

/// None where nothing was answered.
fn p99_of(stats: &Interval) -> Option<f64> {
    let response = stats.merged(|op| &op.response);
    (!response.is_empty()).then(|| response.value_at_quantile(0.99) as f64)
}
