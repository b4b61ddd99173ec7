//! The background load: a fixed load that runs beside the measured one, from before its first phase until after its
//! last.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use archive::model::{PhaseKind, PlannedBackground, TrialPhase};
use load::engine::{self, LoadOutcome, RunContext, RunError};
use load::spec::{Arrivals, LoadSpec, Shape};
use load::summary::Summary;
use load::validity::BrokenRule;

use super::record::phases;

/// Length of its intervals, which nothing uses.
const INTERVAL: Duration = Duration::from_secs(1);

/// A running background load, with its own workers.
pub struct BackgroundLoad {
    stop: Arc<AtomicBool>,
    run: JoinHandle<Result<LoadOutcome, RunError>>,
}

impl BackgroundLoad {
    /// Starts it: the same operations on the same server as `spec`, with another random seed.
    pub fn start(spec: &LoadSpec, load: PlannedBackground, context: &RunContext) -> Self {
        let stop: Arc<AtomicBool> = Arc::default();
        let spec = spec
            .clone()
            .with_connections(load.connections)
            .with_workers(1)
            .with_shape(Shape::open(load.rate_per_s, Arrivals::Poisson))
            .with_warmup(Duration::ZERO)
            .with_duration(None)
            .with_interval(INTERVAL)
            .with_seed(!spec.part.seed);
        let context = RunContext { interrupted: stop.clone(), ..context.clone() };
        Self { stop, run: thread::spawn(move || engine::run(&spec, &context, &mut |_| {})) }
    }

    /// Stops it. Its outcome is that of an interrupted run, because the load has no end of its own.
    pub fn stop(self) -> Result<LoadOutcome, RunError> {
        self.stop.store(true, Ordering::Relaxed);
        self.run.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
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
