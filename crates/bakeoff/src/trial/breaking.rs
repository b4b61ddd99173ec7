//! The measurement of a server whose breaking point is the value of its trial: by what the run has been given for it.

use archive::model::{Concurrency, MeasuredValue};

use super::measurement::TrialMeasurement;
use super::setup::TrialError;
use crate::run::event::Observer;
use crate::study::breaking_point::{BreakingPoint, BreakingServer};
use crate::verdict::measure_names::wording;

/// Breaks the server; returns what was measured, and the steps.
pub fn measure_break(
    breaking_point: Option<&dyn BreakingPoint>,
    server: &BreakingServer<'_>,
    observe: &mut Observer<'_>,
) -> Result<(TrialMeasurement, Option<Concurrency>), TrialError> {
    let Some(breaking_point) = breaking_point else { return Err(TrialError::NoBreakingPoint) };
    let found = breaking_point.find(server, observe)?;
    let wording = wording(&server.plan.measure);
    let mut result = TrialMeasurement::without_warm_up();
    result.measured = found.value.map(|value| MeasuredValue {
        metric: wording.what,
        value,
        unit: wording.unit.to_owned(),
        higher_is_better: wording.higher_is_better,
    });
    result.client_reasons = found.client_reasons;
    result.reasons = found.reasons;
    let cores = found.record.steps.iter().map(|step| step.client_cpu_cores).fold(0.0, f64::max);
    result.client_utilisation = cores / server.client_cpus.max(1) as f64;
    Ok((result, Some(found.record)))
}
