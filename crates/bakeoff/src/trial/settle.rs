//! Has the server settled? Throughput and p99 of a closed loop, interval by interval, held against
//! `stats::steady`; what came before the later of the two cuts counts for nothing.

use std::time::Duration;

use archive::model::WarmUpOutcome;
use load::engine::Outcome;
use load::record::{Interval, PackError};
use stats::steady::{SteadyState, Tolerance, settle};

use super::phases::{Observation, observations};

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

/// Judges a run. `before` is load that the server had already, all of which counts as warm-up.
pub fn judge(run: &Outcome, before: Duration) -> Result<Settled, PackError> {
    let observations = observations(run)?;
    let throughput: Vec<f64> =
        observations.iter().map(|o| o.stats.succeeded() as f64 / o.length.as_secs_f64()).collect();
    let p99: Vec<f64> = observations.iter().map(p99_of).collect();
    let throughput = settle(&throughput, Tolerance::THROUGHPUT);
    let p99 = settle(&p99, Tolerance::PERCENTILE);
    let unsteady =
        [("throughput", &throughput), ("p99", &p99)].into_iter().find_map(|(name, state)| match state {
            SteadyState::Steady { .. } => None,
            SteadyState::NotSteady { reason } => Some(format!("{name} did not settle: {reason}")),
        });
    let cut = discarded(&throughput).max(discarded(&p99));
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

/// NaN where nothing was answered, which no steady server does.
fn p99_of(observation: &Observation) -> f64 {
    let response = observation.stats.merged(|op| &op.response);
    if response.is_empty() { f64::NAN } else { response.value_at_quantile(0.99) as f64 }
}
