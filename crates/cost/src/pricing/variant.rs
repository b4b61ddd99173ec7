//! What one variant costs on its machine: each figure with its interval, or the reason why it is missing.

use serde::Serialize;
use stats::cost::{
    LifeCost, carbon_of_a_million, operations_per_joule, operations_per_joule_of_cpu_time, swap,
};
use stats::quantity::{Grams, KilowattHours, Money, OperationsPerSecond, YEAR};

use super::target::{Found, Missing, TargetCosting, keep};
use super::watts::VariantPower;
use crate::figure::Figure;
use crate::measured::{MeasuredRun, MeasuredVariant, Performance};
use crate::metered::{TrialValue, median};
use crate::power::{Boundary, MachinePower};
use crate::targets::{Target, Targets};

/// What one variant costs.
#[derive(Debug, Clone, Serialize)]
pub struct VariantCost {
    /// The run.
    pub run: String,
    /// The variant, in a sweep with its point.
    pub variant: String,
    /// Its machine in the file of targets.
    pub target: String,
    /// The metric of the run.
    pub metric: String,
    /// The unit of the performance.
    pub unit: String,
    /// Median of the valid trials.
    pub performance: Option<Figure>,
    /// Power at load.
    pub power_at_load: Option<Power>,
    /// Power when idle.
    pub power_idle: Option<Power>,
    /// Operations for each joule.
    pub operations_per_joule: Option<Figure>,
    /// Performance over (rack units × watts).
    pub swap: Option<Figure>,
    /// Energy of a year with the site's share.
    pub energy_kwh_a_year: Option<f64>,
    /// Its cost.
    pub energy_cost_a_year: Option<f64>,
    /// Price or rent, and energy, over the life.
    pub total_cost: Option<f64>,
    /// Cost of a million operations.
    pub cost_of_a_million: Option<Figure>,
    /// Carbon of a year, kg.
    pub carbon_kg_a_year: Option<f64>,
    /// Carbon of a million operations, g.
    pub carbon_g_of_a_million: Option<Figure>,
    /// The figures that cannot be computed.
    pub missing: Vec<Missing>,
}

/// Power with what it includes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Power {
    /// How much.
    pub watts: f64,
    /// What it includes.
    pub boundary: Boundary,
    /// Where it is from.
    pub source: String,
    /// Whether no meter recorded it beside the load.
    pub is_estimate: bool,
}

impl From<&MachinePower> for Power {
    fn from(power: &MachinePower) -> Self {
        Self {
            watts: power.watts.value(),
            boundary: power.boundary,
            source: power.source.clone(),
            is_estimate: !power.is_measured,
        }
    }
}

/// A variant with its cost.
pub(crate) struct Priced<'r> {
    pub run: &'r MeasuredRun<'r>,
    pub variant: &'r MeasuredVariant<'r>,
    pub cost: VariantCost,
    /// What a server costs over its life.
    pub life_cost: Option<LifeCost>,
    /// The figures of each trial, where a meter measured its watts.
    pub by_trial: TrialFigures,
}

/// Figures of trials.
#[derive(Debug, Clone, Default)]
pub(crate) struct TrialFigures {
    pub operations_per_joule: Vec<TrialValue>,
    pub cost_of_a_million: Vec<TrialValue>,
}

/// Computes the figures of one variant.
pub(super) struct VariantCosting<'v> {
    pub run: &'v MeasuredRun<'v>,
    pub variant: &'v MeasuredVariant<'v>,
    pub target: &'v Target,
    pub targets: &'v Targets,
}

impl<'v> VariantCosting<'v> {
    pub(super) fn price(&self) -> Priced<'v> {
        let power = VariantPower::of(self.run, self.variant);
        let costing = TargetCosting {
            target: self.target,
            targets: self.targets,
            measured: power.as_ref().map(|power| &power.median),
        };
        let mut missing = Vec::new();
        let energy = keep("energy a year", costing.energy(), &mut missing);
        let energy_cost = keep("energy cost a year", costing.energy_cost(), &mut missing);
        let (life_cost, carbon) = (costing.life_cost(), costing.carbon_a_year());
        let million = life_cost.clone().and_then(|cost| self.of_a_million(cost));
        let carbon_of_million = carbon.clone().and_then(|carbon| self.carbon(carbon));
        let life_cost = keep("total cost", life_cost, &mut missing);
        let carbon = keep("carbon", carbon, &mut missing);
        // The watts of a trial vary as its performance does, so these figures are those of its trials.
        let by_trial = power.as_ref().map(|power| self.by_trial(power)).unwrap_or_default();
        let of_trials =
            |values: &[TrialValue]| median(&values.iter().map(|one| one.value).collect::<Vec<_>>());
        let joule = of_trials(&by_trial.operations_per_joule)
            .or_else(|| keep("operations a joule", self.operations_per_joule(&costing), &mut missing));
        let swap = keep("SWaP", self.swap(&costing), &mut missing);
        let million = of_trials(&by_trial.cost_of_a_million)
            .or_else(|| keep("cost of a million", million, &mut missing));
        let carbon_of_million = keep("carbon of a million", carbon_of_million, &mut missing);
        let cost = VariantCost {
            run: self.run.id.to_owned(),
            variant: self.variant.label(),
            target: self.target.name.clone(),
            metric: self.run.verdict.metric.clone(),
            unit: self.run.verdict.unit.clone(),
            performance: self.variant.performance.figure(),
            power_at_load: costing.at_load().ok().map(Power::from),
            power_idle: costing.idle().map(Power::from),
            operations_per_joule: joule,
            swap,
            energy_kwh_a_year: energy.map(KilowattHours::value),
            energy_cost_a_year: energy_cost.map(Money::value),
            total_cost: life_cost.map(|cost| cost.total().value()),
            cost_of_a_million: million,
            carbon_kg_a_year: carbon.map(|carbon| carbon.value() / 1e3),
            carbon_g_of_a_million: carbon_of_million,
            missing,
        };
        Priced { run: self.run, variant: self.variant, cost, life_cost, by_trial }
    }

    /// The figures of each trial, from its own performance and watts.
    fn by_trial(&self, power: &VariantPower<'_>) -> TrialFigures {
        let mut figures = TrialFigures::default();
        for (trial, watts) in power.by_trial() {
            let value = |value| TrialValue { place: trial.place.clone(), value };
            figures.operations_per_joule.push(value(trial.watts.per_joule()));
            let costing =
                TargetCosting { target: self.target, targets: self.targets, measured: Some(&watts) };
            let cost = if costing.bills_measured_watts() { costing.life_cost().ok() } else { None };
            let (Some(cost), Ok((_, scale)), Some(life)) = (cost, self.rate(), self.targets.life) else {
                continue;
            };
            let operations = Performance::per_s(trial.value, scale) * self.targets.cycle.at_load(life);
            figures.cost_of_a_million.push(value(cost.of_a_million(operations).value()));
        }
        figures
    }

    /// The performance and what makes it operations a second.
    fn rate(&self) -> Found<(Figure, f64)> {
        match &self.variant.performance {
            Performance::Rate { figure, scale } => Ok((*figure, *scale)),
            Performance::CpuTime { .. } => {
                Err("the run measured CPU time an operation, which is no capacity: measure a capacity"
                    .to_owned())
            }
            Performance::None { why } => Err(why.clone()),
        }
    }

    /// A figure that follows from operations a second.
    fn of_rate(&self, formula: impl Fn(OperationsPerSecond) -> f64) -> Found<Figure> {
        let (figure, scale) = self.rate()?;
        Ok(figure.through(|value| formula(Performance::per_s(value, scale))))
    }

    fn operations_per_joule(&self, costing: &TargetCosting<'_>) -> Found<Figure> {
        let power = costing.at_load()?.watts;
        if let Performance::CpuTime { figure } = &self.variant.performance {
            let cpus = self.target.cpus.ok_or_else(|| costing.lacks("cpus"))?;
            return Ok(figure.through(|us| operations_per_joule_of_cpu_time(us, cpus, power)));
        }
        self.of_rate(|rate| operations_per_joule(rate, power))
    }

    fn swap(&self, costing: &TargetCosting<'_>) -> Found<Figure> {
        let power = costing.at_load()?.watts;
        let space = self.target.rack_units.ok_or_else(|| costing.lacks("rack_units"))?;
        self.of_rate(|rate| swap(rate, space, power))
    }

    fn of_a_million(&self, cost: LifeCost) -> Found<Figure> {
        let life = self.targets.life.ok_or("the file of targets has no life")?;
        let at_load = self.targets.cycle.at_load(life);
        self.of_rate(|rate| cost.of_a_million(rate * at_load).value())
    }

    /// Carbon of a million operations, from that of a year: energy and embodied carbon are both in it.
    fn carbon(&self, of_a_year: Grams) -> Found<Figure> {
        let at_load = self.targets.cycle.at_load(YEAR);
        let no_energy = KilowattHours::new(0.0);
        let intensity = self.targets.grid_intensity.ok_or("the file of targets has no grid_intensity")?;
        self.of_rate(|rate| carbon_of_a_million(no_energy, intensity, of_a_year, rate * at_load).value())
    }
}
