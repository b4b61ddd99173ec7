//! Breaking points as the values of trials: the steps of a comparison's plan, on the server of each trial.

use std::sync::OnceLock;
use std::time::Duration;

use archive::model::{Concurrency, Plan, PlannedConcurrency};
use bakeoff::event::Observer;
use bakeoff::{BreakingPoint, BreakingPointError, BreakingServer, FoundBreak};
use load::transfers::{TransferSpec, Transfers};
use workload::{ServerVariant, Workload};

use crate::error::ConcurrencyError;
use crate::ladder;
use crate::limits::Ends;
use crate::plan::check_steps;
use crate::preflight::Preflight;
use crate::step::{Climb, PROBES_PER_S};
use crate::steps::{Described, Steps, baseline};
use crate::target::{check_file, fit, for_steps, knobs};
use crate::view::View;

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
    let missing = || ConcurrencyError::Request("the plan has no [concurrency]".to_owned());
    let steps = plan.concurrency.as_ref().ok_or_else(missing)?;
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
        if self.preflight.get().is_none() {
            let _ = self.preflight.set(Preflight::of(steps, Ends::Loopback)?);
        }
        let settings = self.preflight.get().map(|preflight| knobs(&preflight.settings));
        fit(workload, variant, steps, server_cpus, settings.unwrap_or_default())?;
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
        if let Some(late) = found.record.steps.iter().find(|step| ladder::is_of_client(step)) {
            found.client_reasons.push(crate::words::client_was_the_limit(late));
        } else if found.record.breaking_point.is_none() && most.is_some() {
            let held = archive::model::thousands(most.unwrap_or_default().into());
            found
                .client_reasons
                .push(format!("{name} did not break with {held} downloads at once: {}", found.record.ended));
        } else if most.is_none() {
            found.reasons.push(found.record.ended.clone());
        }
        Ok(found)
    }
}

impl BreakingPoints {
    fn climb(
        &self,
        server: &BreakingServer<'_>,
        observe: &mut Observer<'_>,
    ) -> Result<Concurrency, ConcurrencyError> {
        let planned = steps_of(server.plan)?;
        let checked = self.preflight.get().cloned();
        let preflight = match checked {
            Some(preflight) => preflight,
            None => Preflight::of(planned, Ends::Loopback)?,
        };
        let spec = TransferSpec::of(&server.load, None, planned.pace_bytes_per_s)?;
        check_file(planned, spec.expect.bytes)?;
        let spec = for_steps(spec, planned);
        let view = &View {
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
        let all = Steps { plan, preflight: &preflight, longest_recovery: LONGEST_RECOVERY };
        let mut found = all.begin(described, &spec, &transfers);
        let interval = spec.interval();
        let context = server.context;
        let mut climb = Climb { plan, view, interval, transfers: &mut transfers, context, observe, baseline };
        all.climb(&mut climb, &mut found, &mut |_| Ok(()))?;
        Ok(found)
    }
}
