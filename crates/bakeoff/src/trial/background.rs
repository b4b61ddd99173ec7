//! The background load: a fixed load that runs beside the measured one, from before its first phase until after its
//! last.

use std::time::Duration;

use archive::model::{PhaseKind, PlannedBackground, TrialPhase};
use load::engine::{LoadOutcome, RunContext};
use load::session::background::BackgroundLoad;
use load::spec::{Arrivals, LoadSpec, Shape};
use load::summary::Summary;
use load::validity::BrokenRule;

use super::record::phases;

/// Starts the background load: the same operations on the same server as `spec`, with another random seed.
pub fn start(spec: &LoadSpec, load: PlannedBackground, context: &RunContext) -> BackgroundLoad {
    let spec = spec
        .clone()
        .with_connections(load.connections)
        .with_shape(Shape::open(load.rate_per_s, Arrivals::Poisson))
        .with_seed(!spec.part.seed);
    BackgroundLoad::start(spec, context)
}

/// The background load as a phase; `start` is from the beginning of the trial. It is valid if the server received the
/// planned load: late sends do not matter, because its response times are not compared.
pub fn phase_of(outcome: &LoadOutcome, start: Duration) -> TrialPhase {
    let summary = Summary::of(outcome);
    let falls_short = |rule: &&BrokenRule| {
        matches!(
            rule.kind(),
            BrokenRule::NothingSucceeded
                | BrokenRule::Achieved { .. }
                | BrokenRule::Errors { .. }
                | BrokenRule::ClientLost { .. }
        )
    };
    let reasons: Vec<String> =
        summary.rules_broken.iter().filter(falls_short).map(ToString::to_string).collect();
    let phase = phases::phase(PhaseKind::Background, start, outcome, &summary, None);
    TrialPhase { valid: reasons.is_empty(), reasons, ..phase }
}
