//! The costs of the variants of runs, and how they compare.

use archive::Run;
use serde::Serialize;
use stats::quantity::{GramsPerKilowattHour, MoneyPerKilowattHour, PowerUsageEffectiveness, YEAR};

use super::comparison::{CostComparison, compare};
use super::over_load::{CheaperOverLoad, over_load};
use super::variant::{Priced, VariantCost, VariantCosting};
use crate::measured::{MeasuredRun, RunError};
use crate::notes;
use crate::targets::{NoTarget, Targets};

/// Why there is no cost.
#[derive(Debug, thiserror::Error)]
pub enum CostError {
    /// Of a run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Of the targets.
    #[error(transparent)]
    Target(#[from] NoTarget),
}

/// What `showdown cost` prints.
#[derive(Debug, Clone, Serialize)]
pub struct CostReport {
    /// Currency of all money.
    pub currency: String,
    /// Life of a server, years.
    pub life_years: Option<f64>,
    /// Hours a day at load.
    pub hours_at_load_a_day: f64,
    /// Power usage effectiveness of the site.
    pub pue: Option<f64>,
    /// Price of energy.
    pub price_per_kwh: Option<f64>,
    /// Carbon of energy, g/kWh.
    pub grid_intensity_g_per_kwh: Option<f64>,
    /// The variants, in the order of the runs and plans.
    pub variants: Vec<VariantCost>,
    /// Pairs of them.
    pub comparisons: Vec<CostComparison>,
    /// Pairs of one run: which is cheaper, and from which load on.
    pub over_load: Vec<CheaperOverLoad>,
    /// What limits these figures.
    pub notes: Vec<String>,
}

/// Computes what the variants of runs cost.
pub fn cost(runs: &[Run], targets: &Targets) -> Result<CostReport, CostError> {
    let runs = MeasuredRun::all(runs)?;
    let mut variants = Vec::new();
    for run in &runs {
        for variant in &run.variants {
            let target = targets.of(run.id, &variant.summary.name)?;
            variants.push(VariantCosting { run, variant, target, targets }.price());
        }
    }
    let (comparisons, not_compared) = compare(&variants);
    let is_estimate =
        |priced: &Priced<'_>| priced.cost.power_at_load.as_ref().is_some_and(|power| power.is_estimate);
    let over_load = over_load(&variants, targets.currency.code());
    let mut notes = notes::of_runs(&runs, variants.iter().any(is_estimate));
    notes.extend(not_compared);
    Ok(CostReport {
        currency: targets.currency.code().to_owned(),
        life_years: targets.life.map(|life| life / YEAR),
        hours_at_load_a_day: targets.cycle.of_a_day().value(),
        pue: targets.pue.map(PowerUsageEffectiveness::value),
        price_per_kwh: targets.price_per_kwh.map(MoneyPerKilowattHour::value),
        grid_intensity_g_per_kwh: targets.grid_intensity.map(GramsPerKilowattHour::value),
        variants: variants.into_iter().map(|priced| priced.cost).collect(),
        comparisons,
        over_load,
        notes,
    })
}

#[cfg(test)]
mod tests;
