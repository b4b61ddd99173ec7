//! The JSON of `showdown load --scenario … --find-capacity … --format json`, described in `docs/FORMATS.md`.

use serde::Serialize;

use super::LoadOutput;
use crate::capacity::population::{Population, PopulationCapacity, PopulationStep};
use crate::inputs::slo::Slo;

/// A search for a population.
#[derive(Debug, Serialize)]
pub struct PopulationOutput<'a> {
    slo: String,
    carried: Option<PopulationSize>,
    missed: Option<PopulationSize>,
    valid: bool,
    reasons: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    other_measurement: Option<&'a str>,
    steps: Vec<StepOutput<'a>>,
}

/// Users who stay, or visits a second.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum PopulationSize {
    Users(u32),
    VisitsPerS(f64),
}

#[derive(Debug, Serialize)]
struct StepOutput<'a> {
    #[serde(flatten)]
    population: PopulationSize,
    /// What was spent of the objective's budget, as a multiple of it.
    burn_rate: Option<f64>,
    late_share: Option<f64>,
    is_carried: bool,
    missed: &'a [String],
    client_reasons: &'a [String],
    summary: LoadOutput<'a>,
}

impl From<Population> for PopulationSize {
    fn from(population: Population) -> Self {
        match population {
            Population::Users(users) => Self::Users(users),
            Population::Visits(per_s) => Self::VisitsPerS(per_s),
        }
    }
}

impl<'a> From<&'a PopulationCapacity> for PopulationOutput<'a> {
    fn from(found: &'a PopulationCapacity) -> Self {
        Self {
            slo: found.slo.to_string(),
            carried: found.carried.map(Into::into),
            missed: found.missed.map(Into::into),
            valid: found.valid,
            reasons: &found.reasons,
            other_measurement: None,
            steps: found.steps.iter().map(|step| StepOutput::of(&found.slo, step)).collect(),
        }
    }
}

impl<'a> PopulationOutput<'a> {
    /// Adds that another program measured on this machine at the same time.
    #[must_use]
    pub fn with_other_measurement(self, other: Option<&'a str>) -> Self {
        Self { other_measurement: other, ..self }
    }
}

impl<'a> StepOutput<'a> {
    fn of(slo: &Slo, step: &'a PopulationStep) -> Self {
        Self {
            population: step.population.into(),
            burn_rate: step.spent.burn_rate(),
            late_share: step.spent.late_share(slo),
            is_carried: step.is_carried(),
            missed: &step.missed,
            client_reasons: &step.client_reasons,
            summary: LoadOutput::of(&step.summary, &step.spans),
        }
    }
}
