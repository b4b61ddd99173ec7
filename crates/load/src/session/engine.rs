//! One run of the engine: a [session](crate::session) with one part.

use crate::session::LoadSession;
use crate::spec::LoadSpec;

pub use crate::outcome::{LoadEvent, LoadObserver, LoadOutcome, RunContext, RunError, WorkerFailure};

/// Runs the load. Calls `observe` during the run, one event after the other, from a thread with a lower priority than
/// the workers.
pub fn run(
    spec: &LoadSpec,
    context: &RunContext,
    observe: &mut LoadObserver<'_>,
) -> Result<LoadOutcome, RunError> {
    LoadSession::open(spec, context)?.run(&spec.part, context, observe)
}
