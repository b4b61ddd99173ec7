//! Before the load: stores every key, and checks one reply of every operation. Both use the drivers that generate the
//! load.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, available_parallelism};
use std::time::Duration;

use load::drivers::{POPULATE_TIMEOUT, ProtocolSpec};
use load::engine::{self, LoadOutcome, RunContext, RunError};
use load::outside_load::{self, OutsideError};
use load::spec::{LoadSpec, Shape};
use load::users::UserPlan;

use super::error::InstanceError;
use super::running::Instance;

/// The connections that store the keys: enough to hide the round trips.
const POPULATE_CONNECTIONS: u32 = 32;
const POPULATE_WORKERS: u32 = 4;
/// Operations of the user who tries a scenario, for each of its kinds: enough to come to those that are rare.
const OPERATIONS_OF_WALK: u64 = 20;
/// How often it is looked whether the server still runs.
const WATCH_PERIOD: Duration = Duration::from_millis(100);

impl Instance {
    /// Stores every key once, or creates the tables, where the workload has keys or tables. Every operation must succeed.
    pub fn populate(&self, context: &RunContext) -> Result<(), InstanceError> {
        let steps = self.protocol(None)?.populate();
        steps.into_iter().try_for_each(|(step, operations)| self.populate_step(step, operations, context))
    }

    fn populate_step(
        &self,
        protocol: ProtocolSpec,
        operations: u64,
        context: &RunContext,
    ) -> Result<(), InstanceError> {
        let threads = available_parallelism().map_or(1, |count| count.get() as u32);
        let connections =
            u32::try_from(operations).map_or(POPULATE_CONNECTIONS, |o| o.min(POPULATE_CONNECTIONS));
        let spec = self
            .load_spec(None)?
            .with_protocol(protocol)
            .with_users(None)
            .with_connections(connections)
            .with_workers(threads.min(POPULATE_WORKERS).min(connections))
            .with_requests(operations)
            .with_timeout(POPULATE_TIMEOUT);
        let outcome = self.run_while_alive(&spec, context)?;
        let errors = outcome.total.errors();
        let failed = operations.saturating_sub(outcome.total.succeeded());
        if failed > 0 {
            return Err(InstanceError::Populate {
                server: self.server.name.clone(),
                failed,
                operations,
                error: errors.example(),
                log: Box::new(self.log_tail()),
            });
        }
        Ok(())
    }

    /// Runs a load that ends with its last operation, or with the server: each operation that it does not answer any more would
    /// fail alone, one after the other.
    fn run_while_alive(&self, spec: &LoadSpec, context: &RunContext) -> Result<LoadOutcome, InstanceError> {
        let own = RunContext { interrupted: Arc::default(), ..context.clone() };
        let is_interrupted = || context.interrupted.load(Ordering::Relaxed);
        let outcome = thread::scope(|scope| {
            let (running, has_ended) = mpsc::channel::<()>();
            let interrupted = Arc::clone(&own.interrupted);
            scope.spawn(move || {
                while has_ended.recv_timeout(WATCH_PERIOD) == Err(RecvTimeoutError::Timeout) {
                    if is_interrupted() || self.check_alive().is_err() {
                        interrupted.store(true, Ordering::Relaxed);
                    }
                }
            });
            let outcome = run(spec, &own);
            drop(running);
            outcome
        });
        if matches!(outcome, Err(InstanceError::Interrupted)) && !is_interrupted() {
            self.check_alive()?;
        }
        outcome
    }

    /// Runs every operation of the workload once. It is an error if a reply differs from what the operation expects, if a
    /// ratio is below its bound (a get that misses in a populated store), or if the server lacks a counter.
    ///
    /// A runner checks itself before it reports that it is ready, because one of its operations may be a whole build.
    pub fn check(&mut self, context: &RunContext) -> Result<(), InstanceError> {
        if self.workload.load.is_runner() {
            return self.check_counters();
        }
        if let Some(users) = &self.workload.load.users {
            self.check_walk(users, context)?;
            return self.check_counters();
        }
        for operation in &self.workload.load.names {
            let spec = self.load_spec(Some(operation))?.with_connections(1).with_requests(1);
            let outcome = run(&spec, context)?;
            let error = if outcome.total.succeeded() == 0 {
                Some(outcome.total.errors().example())
            } else {
                let counters =
                    outcome.counters.iter().cloned().zip(outcome.total.counters.iter().copied()).collect();
                self.workload
                    .metrics
                    .ratios
                    .iter()
                    .find_map(|ratio| ratio.check(&counters).err())
                    .map(|error| error.to_string())
            };
            if let Some(error) = error {
                return Err(self.failed_check(operation, error));
            }
        }
        self.check_counters()
    }

    /// What is due before the load is done, what goes on beside it is tried, and one user walks without delays. Its operations cannot be tried alone: one uses what another has captured.
    fn check_walk(&self, users: &UserPlan, context: &RunContext) -> Result<(), InstanceError> {
        let operations = OPERATIONS_OF_WALK * users.operations() as u64;
        let spec = self.load_spec(None)?.with_users(Some(users.without_delays())).with_shape(Shape::closed());
        outside_load::try_out(&spec, context).map_err(|error| match error {
            OutsideError::Run(RunError::Interrupted) => InstanceError::Interrupted,
            OutsideError::Run(error) => error.into(),
            OutsideError::Failed { operation, why } => self.failed_check(&operation, why),
        })?;
        let outcome = run(&spec.with_connections(1).with_requests(operations), context)?;
        let by_name = outcome.operations.iter().zip(&outcome.total.operations);
        match by_name.into_iter().find(|(_, stats)| stats.errors.total() > 0) {
            None => Ok(()),
            Some((operation, stats)) => Err(self.failed_check(operation, stats.errors.example())),
        }
    }

    fn failed_check(&self, operation: &str, error: String) -> InstanceError {
        InstanceError::Check {
            server: self.server.name.clone(),
            operation: operation.to_owned(),
            error,
            log: Box::new(self.log_tail()),
        }
    }
}

fn run(spec: &LoadSpec, context: &RunContext) -> Result<LoadOutcome, InstanceError> {
    let outcome = engine::run(spec, context, &mut |_| {});
    match outcome {
        Ok(outcome) if outcome.interrupted => Err(InstanceError::Interrupted),
        Err(RunError::Interrupted) => Err(InstanceError::Interrupted),
        other => Ok(other?),
    }
}
