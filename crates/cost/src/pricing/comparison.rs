//! Which variant costs less, by how much, and how sure that is.

use serde::Serialize;
use stats::bootstrap;

use super::variant::{Priced, VariantCost};
use crate::figure::Figure;
use crate::measured::{Performance, ratio_of_means};
use crate::metered::paired_ratio;

/// Most pairs of variants of different runs: beyond it, nobody reads them.
const MOST_PAIRS: usize = 30;

/// Two variants and the ratio of one of their figures.
#[derive(Debug, Clone, Serialize)]
pub struct CostComparison {
    /// The numerator: run and variant.
    pub a: VariantOfRun,
    /// The denominator.
    pub b: VariantOfRun,
    /// What is compared.
    pub figure: ComparedFigure,
    /// The ratio of a to b.
    pub ratio: Figure,
    /// Whether both are of one run, so that the ratio is within blocks.
    pub is_paired: bool,
    /// In words.
    pub sentence: String,
}

/// A variant of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VariantOfRun {
    /// The run.
    pub run: String,
    /// The variant.
    pub variant: String,
}

/// The figure that a comparison is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ComparedFigure {
    /// Cost of a million operations.
    CostOfAMillion,
    /// Operations for each joule.
    OperationsPerJoule,
}

/// Compares all pairs that can be compared; returns notes on the others.
pub(crate) fn compare(all: &[Priced<'_>]) -> (Vec<CostComparison>, Vec<String>) {
    let mut comparisons = Vec::new();
    let mut notes = Vec::new();
    let (mut of_runs, mut left_out) = (0, 0);
    for (number, a) in all.iter().enumerate() {
        for b in &all[number + 1..] {
            if a.run.id != b.run.id {
                if of_runs >= MOST_PAIRS {
                    left_out += 1;
                    continue;
                }
                of_runs += 1;
            }
            match ratio_of_performance(a, b) {
                Ok(Some(ratio)) => {
                    let figures = [ComparedFigure::CostOfAMillion, ComparedFigure::OperationsPerJoule];
                    comparisons.extend(figures.into_iter().filter_map(|figure| of(figure, a, b, ratio)));
                    if let Some(note) = different_boundaries(&a.cost, &b.cost) {
                        notes.push(note);
                    }
                }
                Ok(None) => {}
                Err(note) => notes.push(note),
            }
        }
    }
    notes.dedup();
    if left_out > 0 {
        notes.push(format!("{left_out} more pairs of variants of different runs are not compared"));
    }
    (comparisons, notes)
}

/// The ratio of the performances in their unit. `None` where the verdict has none; an error says why runs are not compared.
fn ratio_of_performance(a: &Priced<'_>, b: &Priced<'_>) -> Result<Option<Figure>, String> {
    if a.run.id == b.run.id {
        return Ok(a.run.ratio(a.variant.summary, b.variant.summary));
    }
    if a.cost.metric != b.cost.metric {
        return Err(format!(
            "{} and {} are not compared: {} measured {}, and {} {}",
            a.cost.variant, b.cost.variant, a.cost.run, a.cost.metric, b.cost.run, b.cost.metric
        ));
    }
    if let Some(what) = a.run.other_work(b.run) {
        return Err(format!(
            "{} and {} are not compared: their runs have different {what}",
            a.cost.variant, b.cost.variant
        ));
    }
    let too_few = || {
        format!(
            "{} of {} and {} of {} are not compared: that needs {} valid trials of each",
            a.cost.variant,
            a.cost.run,
            b.cost.variant,
            b.cost.run,
            bootstrap::FEWEST_BLOCKS
        )
    };
    a.variant.ratio_to(b.variant).ok_or_else(too_few).map(Some)
}

/// The ratio of a figure that is a constant times the performance, or divided by it.
fn of(figure: ComparedFigure, a: &Priced<'_>, b: &Priced<'_>, performance: Figure) -> Option<CostComparison> {
    let value = |priced: &Priced<'_>| match figure {
        ComparedFigure::CostOfAMillion => priced.cost.cost_of_a_million,
        ComparedFigure::OperationsPerJoule => priced.cost.operations_per_joule,
    };
    if figure == ComparedFigure::OperationsPerJoule && different_boundaries(&a.cost, &b.cost).is_some() {
        return None;
    }
    let is_rate = matches!(a.variant.performance, Performance::Rate { .. });
    let falls = (figure == ComparedFigure::CostOfAMillion) == is_rate;
    let constant = |priced: &Priced<'_>| {
        let performance = priced.cost.performance?.value;
        Some(value(priced)?.value * if falls { performance } else { 1.0 / performance })
    };
    let constants = constant(a)? / constant(b)?;
    let is_paired = a.run.id == b.run.id;
    let of_trials = of_trials(figure, a, b, is_paired);
    if of_trials.is_none() && !constants.is_finite() {
        return None;
    }
    let ratio = of_trials
        .unwrap_or_else(|| performance.through(|ratio| constants * if falls { 1.0 / ratio } else { ratio }));
    let watts = [a, b].map(|priced| priced.cost.power_at_load.as_ref());
    let is_estimate = watts.iter().flatten().any(|power| power.is_estimate);
    let name = |priced: &Priced<'_>| {
        let run = if is_paired { String::new() } else { format!(" of {}", priced.cost.run) };
        format!("{}{run}", priced.cost.variant)
    };
    Some(CostComparison {
        a: VariantOfRun { run: a.cost.run.clone(), variant: a.cost.variant.clone() },
        b: VariantOfRun { run: b.cost.run.clone(), variant: b.cost.variant.clone() },
        figure,
        ratio,
        is_paired,
        sentence: sentence(figure, &name(a), &name(b), ratio, is_estimate),
    })
}

/// The ratio from the trials of both, where meters measured their watts: of blocks in one run, by resampling in two.
fn of_trials(figure: ComparedFigure, a: &Priced<'_>, b: &Priced<'_>, is_paired: bool) -> Option<Figure> {
    let values = |priced: &Priced<'_>| match figure {
        ComparedFigure::CostOfAMillion => priced.by_trial.cost_of_a_million.clone(),
        ComparedFigure::OperationsPerJoule => priced.by_trial.operations_per_joule.clone(),
    };
    let (of_a, of_b) = (values(a), values(b));
    if is_paired {
        return paired_ratio(&of_a, &of_b);
    }
    let [of_a, of_b] = [of_a, of_b].map(|of_one| of_one.iter().map(|one| one.value).collect::<Vec<_>>());
    ratio_of_means(&of_a, &of_b)
}

fn sentence(figure: ComparedFigure, a: &str, b: &str, ratio: Figure, is_estimate: bool) -> String {
    let (low, high) = (ratio.low.unwrap_or(0.0), ratio.high.unwrap_or(f64::INFINITY));
    let is_known = low > 1.0 || high < 1.0;
    // A narrow interval needs a third decimal: 0.36–0.36 says nothing.
    let decimals = if high - low < 0.05 { 3 } else { 2 };
    let interval = format!("95 % CI {low:.decimals$}–{high:.decimals$}");
    let value = format!("{:.decimals$}", ratio.value);
    match figure {
        _ if !is_known => {
            let what = match figure {
                ComparedFigure::CostOfAMillion => "cost",
                ComparedFigure::OperationsPerJoule => "operations a joule",
            };
            format!("no difference in {what} shown between {a} and {b}: {value} × ({interval})")
        }
        ComparedFigure::CostOfAMillion => {
            let word = if ratio.value < 1.0 { "cheaper" } else { "dearer" };
            format!("{a} is {word} than {b}: a million operations cost {value} × ({interval})")
        }
        ComparedFigure::OperationsPerJoule => {
            let estimate = if is_estimate { "; estimate" } else { "" };
            format!("{a} does {value} × the operations of {b} for each joule ({interval}{estimate})")
        }
    }
}

fn different_boundaries(a: &VariantCost, b: &VariantCost) -> Option<String> {
    let (one, other) = (a.power_at_load.as_ref()?, b.power_at_load.as_ref()?);
    (one.boundary != other.boundary).then(|| {
        format!(
            "Operations a joule of {} and {} are not compared: their watts have the boundaries {} and {}",
            a.variant,
            b.variant,
            one.boundary.name(),
            other.boundary.name()
        )
    })
}
