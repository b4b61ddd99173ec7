//! Before the load: every key stored, and one reply of every operation held against what is expected, by the
//! same drivers that will make the load.

use std::thread::available_parallelism;
use std::time::Duration;

use load::drivers::ProtocolSpec;
use load::engine::{self, Outcome, RunContext};
use load::record::Errors;
use load::spec::LoadSpec;

use super::error::InstanceError;
use super::running::Instance;

/// Connections that store the keys; enough to hide the round trips.
const POPULATE_CONNECTIONS: u32 = 32;
const POPULATE_WORKERS: u32 = 4;
/// An index over a large table takes its time.
const POPULATE_TIMEOUT: Duration = Duration::from_mins(5);

impl Instance {
    /// Stores every key once, or makes the tables, where the workload has either. Each operation must succeed.
    pub fn populate(&self, context: &RunContext) -> Result<(), InstanceError> {
        let stages = self.protocol(None)?.populate();
        stages.into_iter().try_for_each(|(stage, operations)| self.populate_stage(stage, operations, context))
    }

    fn populate_stage(
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
            .with_connections(connections)
            .with_workers(threads.min(POPULATE_WORKERS).min(connections))
            .with_requests(operations)
            .with_timeout(POPULATE_TIMEOUT);
        let outcome = run(&spec, context)?;
        let errors = outcome.total.errors();
        let failed = operations.saturating_sub(outcome.total.succeeded());
        if failed > 0 {
            return Err(InstanceError::Populate {
                server: self.server.name.clone(),
                failed,
                operations,
                what: first_complaint(&errors),
                log: Box::new(self.log_tail()),
            });
        }
        Ok(())
    }

    /// Carries out every operation of the workload once. A reply that is not as it should be is an error that
    /// names the operation and what came instead; so is a ratio under its bound (a get of a populated store
    /// that misses), and a counter that the server does not have.
    ///
    /// A runner has checked itself before it said that it is ready: one of its operations may be a whole build.
    pub fn check(&mut self, context: &RunContext) -> Result<(), InstanceError> {
        if self.workload.load.is_runner() {
            return self.check_counters();
        }
        for operation in &self.workload.load.names {
            let spec = self.load_spec(Some(operation))?.with_connections(1).with_requests(1);
            let outcome = run(&spec, context)?;
            let what = if outcome.total.succeeded() == 0 {
                Some(first_complaint(&outcome.total.errors()))
            } else {
                let counters =
                    outcome.counters.iter().cloned().zip(outcome.total.counters.iter().copied()).collect();
                self.workload.metrics.ratios.iter().find_map(|ratio| ratio.complaint(&counters))
            };
            if let Some(what) = what {
                return Err(InstanceError::Check {
                    server: self.server.name.clone(),
                    operation: operation.clone(),
                    what,
                    log: Box::new(self.log_tail()),
                });
            }
        }
        self.check_counters()
    }
}

fn run(spec: &LoadSpec, context: &RunContext) -> Result<Outcome, InstanceError> {
    let outcome = engine::run(spec, context, &mut |_| {});
    match outcome {
        Ok(outcome) if outcome.interrupted => Err(InstanceError::Interrupted),
        Err(engine::RunError::Interrupted) => Err(InstanceError::Interrupted),
        other => Ok(other?),
    }
}

fn first_complaint(errors: &Errors) -> String {
    errors.examples.values().next().cloned().unwrap_or_else(|| "there is no reply".to_owned())
}
