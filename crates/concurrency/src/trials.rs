//! Breaking points as the values of trials: the steps of a comparison's plan, on the server of each trial.

use std::sync::OnceLock;
use std::time::Duration;

use archive::model::{Concurrency, Plan, PlannedConcurrency, thousands};
use bakeoff::event::Observer;
use bakeoff::{BreakingPoint, BreakingPointError, BreakingServer, FoundBreak, PlanError};
use load::transfers::{TransferSpec, Transfers};
use workload::{ServerVariant, Workload};

use crate::client::client_was_the_limit;
use crate::error::ConcurrencyError;
use crate::ladder;
use crate::limits::Ends;
use crate::observed_server::ObservedServer;
use crate::plan::check_steps;
use crate::preflight::Preflight;
use crate::step::{Climb, PROBES_PER_S};
use crate::steps::{Described, Steps, baseline};
use crate::target::{check_file, fit, for_steps, knobs};

/// The recovery is the question of another run: the next step only waits for it.
const LONGEST_RECOVERY: Duration = Duration::from_secs(20);

/// A trial begins this much below the break of an earlier one.
const BELOW: f64 = 4.0;

/// Finds breaking points by steps of downloads in progress.
#[derive(Debug, Default)]
pub struct BreakingPoints {
    /// What was checked before the first server was started.
    preflight: OnceLock<Preflight>,
}

impl From<ConcurrencyError> for BreakingPointError {
    fn from(error: ConcurrencyError) -> Self {
        Self(Box::new(error))
    }
}

fn steps_of(plan: &Plan) -> Result<&PlannedConcurrency, ConcurrencyError> {
    let steps = plan.concurrency.as_ref().ok_or(PlanError::NoSteps)?;
    check_steps(steps)?;
    Ok(steps)
}

impl BreakingPoint for BreakingPoints {
    fn fit(
        &self,
        plan: &Plan,
        workload: &Workload,
        variant: &mut ServerVariant,
        server_cpus: usize,
    ) -> Result<(), BreakingPointError> {
        let steps = steps_of(plan)?;
        let settings = knobs(&self.preflight(steps)?.settings);
        fit(workload, variant, steps, server_cpus, settings)?;
        Ok(())
    }

    fn find(
        &self,
        server: &BreakingServer<'_>,
        observe: &mut Observer<'_>,
    ) -> Result<FoundBreak, BreakingPointError> {
        let record = self.climb(server, observe)?;
        let steps = steps_of(server.plan)?;
        let name = server.name;
        let mut found = FoundBreak { value: None, client_reasons: Vec::new(), reasons: Vec::new(), record };
        let most = found.record.steps.iter().map(|step| step.transfers).max();
        found.value = ladder::crossing(steps, &found.record.steps).or(most.map(f64::from));
        let of_client = found.record.steps.iter().find_map(client_was_the_limit);
        match (most, of_client) {
            (None, _) => found.reasons.push(found.record.ended.clone()),
            (Some(_), Some(why)) => found.client_reasons.push(why),
            (Some(most), None) if found.record.breaking_point.is_none() => {
                let (most, ended) = (thousands(most.into()), &found.record.ended);
                let why = format!("{name} did not break with {most} downloads at once: {ended}");
                found.client_reasons.push(why);
            }
            (Some(_), None) => {}
        }
        Ok(found)
    }
}

impl BreakingPoints {
    /// What this machine can carry, checked once: while a server runs, less memory is available.
    fn preflight(&self, steps: &PlannedConcurrency) -> Result<&Preflight, ConcurrencyError> {
        if let Some(checked) = self.preflight.get() {
            return Ok(checked);
        }
        let checked = Preflight::of(steps, Ends::Loopback)?;
        Ok(self.preflight.get_or_init(|| checked))
    }

    fn climb(
        &self,
        server: &BreakingServer<'_>,
        observe: &mut Observer<'_>,
    ) -> Result<Concurrency, ConcurrencyError> {
        let planned = steps_of(server.plan)?;
        let spec = TransferSpec::of(&server.load, None, planned.pace_bytes_per_s)?;
        check_file(planned, spec.expect.bytes)?;
        let spec = for_steps(spec, planned);
        let view = &ObservedServer {
            machine: server.machine,
            sut: Some(server.sut),
            trial: server.trial,
            server_cpus: Some(server.server_cpus),
            shares_cpus: server.plan.cpus.server == server.plan.cpus.client,
        };
        let near = server.hint.map_or(0.0, |hint| hint / BELOW) as u32;
        let plan = &PlannedConcurrency { from: near.clamp(planned.from, planned.to), ..planned.clone() };
        let baseline = baseline(view)?;
        let mut transfers = Transfers::start(&spec, plan.to, server.context)?;
        transfers.probe(PROBES_PER_S);
        let described = Described {
            variant: server.name,
            download: server.plan.on_op.as_deref().unwrap_or("the file of the workload"),
            file_bytes: spec.expect.bytes,
            chosen: std::collections::BTreeMap::default(),
        };
        let all = Steps { plan, preflight: self.preflight(planned)?, longest_recovery: LONGEST_RECOVERY };
        let mut found = all.begin(described, &spec, &transfers);
        let interval = spec.interval();
        let context = server.context;
        let mut climb = Climb { plan, view, interval, transfers: &mut transfers, context, observe, baseline };
        all.climb(&mut climb, &mut found, &mut |_| Ok(()))?;
        Ok(found)
    }
}
