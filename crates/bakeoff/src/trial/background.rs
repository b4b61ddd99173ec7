//! The fixed load that runs beside the one that is measured, from before its first phase until after its last.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use archive::model::{Background, Phase, PhaseKind};
use load::engine::{self, Outcome, RunContext, RunError};
use load::record::PackError;
use load::spec::{Arrivals, LoadSpec, Shape};
use load::summary::Summary;
use load::validity::Reason;

use super::phases;

/// It has no end of its own, and its intervals are seen by nobody.
const INTERVAL: Duration = Duration::from_secs(1);

/// A load under way, by workers of its own.
pub struct BackgroundLoad {
    stop: Arc<AtomicBool>,
    run: JoinHandle<Result<Outcome, RunError>>,
}

impl BackgroundLoad {
    /// Starts it: the same operations on the same server as the load of `spec`, drawn otherwise.
    pub fn start(spec: &LoadSpec, load: Background, context: &RunContext) -> Self {
        let stop: Arc<AtomicBool> = Arc::default();
        let spec = spec
            .clone()
            .with_connections(load.connections)
            .with_workers(1)
            .with_shape(Shape::open(load.rate_per_s, Arrivals::Poisson))
            .with_warmup(Duration::ZERO)
            .with_duration(None)
            .with_interval(INTERVAL)
            .with_seed(!spec.seed);
        let context = RunContext { interrupted: stop.clone(), ..context.clone() };
        Self { stop, run: thread::spawn(move || engine::run(&spec, &context, &mut |_| {})) }
    }

    /// Ends it. What it measured is that of a run that was interrupted, because it has no end of its own.
    pub fn stop(self) -> Result<Outcome, RunError> {
        self.stop.store(true, Ordering::Relaxed);
        self.run.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// The record of what it measured, from `start` after the trial's beginning. It is valid if the server had to do what
/// was asked: how late a single send was, and whose times are longer for it, matters to a load whose times are compared.
pub fn record(outcome: &Outcome, start: Duration) -> Result<Phase, PackError> {
    let summary = Summary::of(outcome)?;
    let falls_short = |rule: &&Reason| {
        matches!(rule, Reason::NothingSucceeded | Reason::Achieved { .. } | Reason::Errors { .. })
    };
    let reasons: Vec<String> =
        summary.rules_broken.iter().filter(falls_short).map(ToString::to_string).collect();
    let phase = phases::phase(PhaseKind::Background, start, outcome, &summary, None);
    Ok(Phase { valid: reasons.is_empty(), reasons, ..phase })
}
