//! Carries out what is outside the mix of users: once before their load, beside it, and once after it. Which operations these
//! are is left to [`outside`](crate::users::outside).

use std::time::Duration;

use super::background::BackgroundLoad;
use super::engine;
use crate::outcome::user_summary::{OutsideOperation, outside_operations};
use crate::outcome::{LoadOutcome, RunContext, RunError};
use crate::spec::{LoadSpec, Shape};
use crate::users::outside_spec::{Outside, OutsideSpec};

/// Why what is outside a mix cannot be done, so that the load does not begin.
#[derive(Debug, thiserror::Error)]
pub enum OutsideError {
    /// The engine could not run it.
    #[error(transparent)]
    Run(#[from] RunError),
    /// An operation failed.
    #[error("{operation}, outside the mix: {why}")]
    Failed {
        /// The operation.
        operation: String,
        /// What its reply was.
        why: String,
    },
}

/// Carries out what is due once before the load of `spec`. An operation that fails is an error.
pub fn before(spec: &LoadSpec, context: &RunContext) -> Result<Vec<OutsideOperation>, OutsideError> {
    let Some(outside) = &spec.outside.before else { return Ok(Vec::new()) };
    let outcome = each_succeeds(outside, spec, context)?;
    Ok(outside_operations(outside, &outcome, Some("before")))
}

/// Carries out what is due once before the load, and once what goes on beside it. An operation that fails is an error.
pub fn try_out(spec: &LoadSpec, context: &RunContext) -> Result<(), OutsideError> {
    for outside in spec.outside.before.iter().chain(&spec.outside.beside) {
        each_succeeds(outside, spec, context)?;
    }
    Ok(())
}

fn each_succeeds(
    outside: &OutsideSpec,
    spec: &LoadSpec,
    context: &RunContext,
) -> Result<LoadOutcome, OutsideError> {
    let outcome = once(outside, spec, context)?;
    if outcome.interrupted {
        return Err(RunError::Interrupted.into());
    }
    for (name, operation) in outcome.operations.iter().zip(&outcome.total.operations) {
        if operation.succeeded() == 0 || operation.errors.total() > 0 {
            let mut errors = operation.errors.clone();
            errors.merge(&outcome.total.connections.errors);
            return Err(OutsideError::Failed { operation: name.clone(), why: errors.example() });
        }
    }
    Ok(outcome)
}

/// Carries out what is due once after the load of `spec`, unless the user interrupts.
pub fn after(spec: &LoadSpec, context: &RunContext) -> Result<Vec<OutsideOperation>, RunError> {
    let Some(outside) = &spec.outside.after else { return Ok(Vec::new()) };
    let outcome = unless_interrupted(once(outside, spec, context))?;
    Ok(outcome.map_or_else(Vec::new, |outcome| outside_operations(outside, &outcome, Some("after"))))
}

/// What a load measured; none if it was interrupted before it began, which loses nothing.
fn unless_interrupted(outcome: Result<LoadOutcome, RunError>) -> Result<Option<LoadOutcome>, RunError> {
    match outcome {
        Err(RunError::Interrupted) => Ok(None),
        other => other.map(Some),
    }
}

/// What goes on beside a load of users.
pub struct OutsideLoads<'s>(Vec<(&'s OutsideSpec, BackgroundLoad)>);

/// What went on beside a load.
pub struct OutsideEnd {
    /// The operations.
    pub operations: Vec<OutsideOperation>,
    /// The outcome of each load.
    pub outcomes: Vec<LoadOutcome>,
}

impl<'s> OutsideLoads<'s> {
    /// Starts what goes on beside the load of `spec`.
    pub fn start(spec: &'s LoadSpec, context: &RunContext) -> Self {
        let context = of_one_client(context);
        let mut loads = Vec::new();
        for outside in &spec.outside.beside {
            let load = outside.load(spec, OutsideSeed::Beside);
            loads.push((outside, BackgroundLoad::start(load, &context)));
        }
        Self(loads)
    }

    /// Stops it.
    pub fn stop(self) -> Result<OutsideEnd, RunError> {
        let mut end = OutsideEnd { operations: Vec::new(), outcomes: Vec::new() };
        // All are stopped before an error of one is returned.
        let stopped: Vec<_> = self.0.into_iter().map(|(outside, load)| (outside, load.stop())).collect();
        for (outside, outcome) in stopped {
            if let Some(outcome) = unless_interrupted(outcome)? {
                end.operations.extend(outside_operations(outside, &outcome, None));
                end.outcomes.push(outcome);
            }
        }
        Ok(end)
    }
}

/// What tells the random numbers of loads of one seed apart.
#[derive(Clone, Copy)]
enum OutsideSeed {
    Beside = 0x6265,
    Once = 0x6f6e,
}

impl OutsideSpec {
    /// Its load, beside or around that of `of`.
    fn load(&self, of: &LoadSpec, seed: OutsideSeed) -> LoadSpec {
        let spec = of
            .clone()
            .with_protocol(self.protocol.clone())
            .with_users(Some(self.users.clone()))
            .with_outside(Outside::default())
            .with_connections(1)
            .with_workers(1)
            .with_shape(Shape::closed())
            .with_warmup(Duration::ZERO)
            .with_duration(None)
            .with_seed(of.part.seed ^ seed as u64);
        let addresses = spec.addresses.iter().take(1).copied().collect();
        let sockets = spec.sockets.iter().take(1).cloned().collect();
        spec.with_addresses(addresses).with_sockets(sockets)
    }
}

/// Each operation once, in their order.
fn once(outside: &OutsideSpec, spec: &LoadSpec, context: &RunContext) -> Result<LoadOutcome, RunError> {
    let requests = outside.users.operations() as u64;
    let load = outside.load(spec, OutsideSeed::Once).with_requests(requests);
    engine::run(&load, &of_one_client(context), &mut |_| {})
}

/// The user is on one machine.
fn of_one_client(context: &RunContext) -> RunContext {
    RunContext { clients: context.clients.iter().take(1).cloned().collect(), ..context.clone() }
}
