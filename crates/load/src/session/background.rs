//! A load that runs beside another one, with workers of its own, until it is stopped: the background load of a plan, and the
//! operations of users outside their mix.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::engine;
use crate::outcome::{LoadOutcome, RunContext, RunError};
use crate::spec::LoadSpec;

/// Length of its intervals, which nothing uses.
const INTERVAL: Duration = Duration::from_secs(1);

/// A running background load.
pub struct BackgroundLoad {
    stop: Arc<AtomicBool>,
    run: JoinHandle<Result<LoadOutcome, RunError>>,
}

impl BackgroundLoad {
    /// Starts the load of `spec` on one worker. It has no warm-up and no end of its own.
    pub fn start(spec: LoadSpec, context: &RunContext) -> Self {
        let stop: Arc<AtomicBool> = Arc::default();
        let spec = spec
            .with_workers(1)
            .with_warmup(Duration::ZERO)
            .with_duration(None)
            .with_requests(None)
            .with_interval(INTERVAL);
        let context = RunContext { interrupted: stop.clone(), ..context.clone() };
        Self { stop, run: thread::spawn(move || engine::run(&spec, &context, &mut |_| {})) }
    }

    /// Stops it. Its outcome is that of an interrupted run.
    pub fn stop(self) -> Result<LoadOutcome, RunError> {
        self.stop.store(true, Ordering::Relaxed);
        self.run.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}
